/* SPDX-License-Identifier: Apache-2.0 */
/* From the main thread to the tally: see run.h. */
#include "core/measure/quantile.h"
#include "workloads/kvcache/run.h"
#include "workloads/kvcache/serving/server.h"

#include <errno.h>
#include <string.h>

static struct table *measure_table(const struct tally *t, unsigned which)
{
	return &t->tables[which];
}

/* Rows of a table by texts may move when one is added, so all of them are added first. */
int kv_measure_begin(struct kv_run *r, struct err *err)
{
	const struct kv_source_options *o = &r->setup.source;
	bool serves = r->setup.options->profile == KV_PROFILE_SERVING; /* it has no classes */
	uint32_t classes = serves ? 0 : o->class_count;
	struct table *tables = r->ctx->tally->tables;
	bool made = true;

	for (uint32_t k = 0; k < r->setup.tier_count; k++)
		made = made && table_named(&tables[KV_TABLE_TIERS], r->setup.tiers[k].name);
	for (uint32_t i = 0; i < classes; i++)
		made = made && table_named(&tables[KV_TABLE_QOS], o->classes[i].name);
	return made ? 0 : err_set(err, -ENOMEM, "no memory for results");
}

static void measure_count(const struct kv_run *r, uint32_t tier, enum kv_tier_measure what,
			  uint64_t bytes)
{
	uint64_t *row = table_row(measure_table(r->ctx->tally, KV_TABLE_TIERS), tier);

	if (what != KV_TIER_READS && !kv_part_puts(r, tier))
		return;
	row[what]++;
	row[what + 1] += bytes; /* the bytes of each count follow it */
}

/* The time of an operation: of a tier, and of all stores together. */
static void measure_time(struct kv_run *r, uint32_t tier, enum kv_tier_hist hist, bool store,
			 enum kv_hist all, const struct kv_times *times)
{
	const struct table *t = measure_table(r->ctx->tally, KV_TABLE_TIERS);
	uint64_t ns;

	if (!times)
		return;
	ns = times->end_ns - times->begin_ns;
	hist_record(table_hist(t->kind, table_row(t, tier), hist), ns);
	if (store)
		hist_record(&r->ctx->tally->hists[all], ns);
}

/* Its parts, where they are known. */
static void measure_parts(struct kv_run *r, bool store, enum kv_hist device, enum kv_hist host,
			  const struct kv_times *times)
{
	struct hist *hists = r->ctx->tally->hists;

	if (!times || !store || !times->device_ns)
		return;
	hist_record(&hists[device], times->device_ns);
	hist_record(&hists[host], times->end_ns - times->begin_ns - times->device_ns);
}

/* An entry read from stores, written to them, or moved between them. */
static void measure_done(struct kv_run *r, bool store, const struct kv_times *times)
{
	struct tally *t = r->ctx->tally;

	if (!store)
		return;
	t->rank_row[TALLY_OPERATIONS]++;
	timeline_add(t->timeline, times ? times->end_ns : clock_now(r->ctx->clock),
		     SECOND_OPERATIONS, 1);
}

void kv_measure_operation(struct kv_run *r, const struct kv_operation *op,
			  const struct kv_times *times)
{
	bool from = r->setup.tiers[op->from].kind == KV_TIER_STORE;
	bool to = r->setup.tiers[op->to].kind == KV_TIER_STORE, writes = r->part.writes;
	uint64_t *row = r->ctx->tally->rank_row;

	if (!r->begun)
		return;
	switch (op->kind) {
	case KV_OPERATION_READ:
		measure_count(r, op->from, KV_TIER_READS, op->bytes);
		row[KV_ENTRY_READS] += from;
		measure_done(r, from, times);
		row[KV_ENTRY_READ_BYTES] += from ? op->bytes : 0;
		measure_time(r, op->from, KV_TIER_HIST_READ, from, KV_HIST_READ, times);
		measure_parts(r, from, KV_HIST_READ_DEVICE, KV_HIST_READ_HOST, times);
		return;
	case KV_OPERATION_WRITE:
		to = to && writes;
		measure_count(r, op->to, op->promotes ? KV_TIER_PROMOTED : KV_TIER_WRITES,
			      op->bytes);
		row[KV_ENTRY_WRITES] += to;
		measure_done(r, to, times);
		row[KV_ENTRY_WRITTEN_BYTES] += to && !op->promotes ? op->bytes : 0;
		measure_time(r, op->to, KV_TIER_HIST_WRITE, to, KV_HIST_WRITE, times);
		measure_parts(r, to, KV_HIST_WRITE_DEVICE, KV_HIST_WRITE_HOST, times);
		return;
	case KV_OPERATION_MOVE:
		measure_count(r, op->from, KV_TIER_DEMOTED_OUT, op->bytes);
		measure_count(r, op->to, KV_TIER_DEMOTED_IN, op->bytes);
		row[KV_MOVES] += (from || to) && writes;
		measure_done(r, (from || to) && writes, times);
		measure_time(r, op->from, KV_TIER_HIST_DEMOTE, (from || to) && writes,
			     KV_HIST_DEMOTE, times);
		return;
	case KV_OPERATION_DELETE:
		if (!op->promotes)
			measure_count(r, op->from, KV_TIER_DELETED, op->bytes);
		return;
	case KV_OPERATION_LOOKUP:
		return;
	}
}

void kv_measure_at_once(struct kv_run *r, const struct kv_operation *op)
{
	const struct kv_times times = {.begin_ns = op->begins_ns, .end_ns = op->ends_ns};

	kv_measure_operation(r, op, op->ends_ns ? &times : NULL);
}

void kv_measure_found(struct kv_run *r, struct kv_served *s, bool hit)
{
	uint64_t *row = r->ctx->tally->rank_row;

	s->hit = hit;
	row[hit ? KV_HITS : KV_MISSES]++;
	row[(hit ? KV_HIT_PROMPT : KV_MISS_PROMPT) + s->step.cause]++;
}

void kv_measure_request(struct kv_run *r, const struct kv_served *s)
{
	const struct kv_class *class = &r->setup.source.classes[s->request.class];
	const struct table *t = measure_table(r->ctx->tally, KV_TABLE_QOS);
	uint64_t *row = r->ctx->tally->rank_row, *own = table_row(t, s->request.class);
	struct hist *hists = r->ctx->tally->hists;
	uint64_t due_ns = r->start_ns + s->request.due_ns, ns = r->now_ns - due_ns;

	row[KV_REQUESTS]++;
	row[KV_TOKENS] += s->request.generate;
	row[KV_STORAGE_NS] += s->storage_ns;
	row[KV_QUEUE_NS] += s->served_ns - due_ns;
	hist_record(&hists[KV_HIST_REQUEST], ns);
	hist_record(&hists[KV_HIST_REQUEST_STORAGE], s->storage_ns);
	hist_record(&hists[KV_HIST_REQUEST_QUEUE], s->served_ns - due_ns);
	own[KV_QOS_REQUESTS]++;
	own[KV_QOS_TOKENS] += s->request.generate;
	own[KV_QOS_WITHIN_P95] += ns <= class->p95_ns;
	own[KV_QOS_WITHIN_P99] += ns <= class->p99_ns;
	own[KV_QOS_WITHIN_P999] += ns <= class->p999_ns;
	own[KV_QOS_WITHIN_P9999] += ns <= class->p9999_ns;
	hist_record(table_hist(t->kind, own, KV_QOS_HIST_REQUEST), ns);
}

/* The capacity of a tier that this rank reports; 0: none, or another rank does. */
static uint64_t measure_capacity(const struct kv_run *r, uint32_t tier)
{
	const struct kv_tier_place *p = &r->setup.tiers[tier];
	bool reports = p->shared == KV_SHARED_NO || r->part.leads;

	if (p->shared >= KV_SHARED_NODE && !r->sharing.owns)
		reports = false;
	return reports && p->capacity != KV_UNLIMITED ? p->capacity : 0;
}

/* The rows of tiers. Returns the percentile of reads and writes in the rank's memory together, as
 * MLPerf counts them. */
static uint64_t measure_tiers(const struct kv_run *r, struct tally *t)
{
	const struct table *tiers = measure_table(t, KV_TABLE_TIERS);
	struct hist memory = {.max_ns = 0};

	for (uint32_t k = 0; k < r->setup.tier_count; k++) {
		const struct kv_tier_counts c = kv_part_counts(r, k);
		uint64_t *row = table_row(tiers, k);

		row[KV_TIER_REJECTED] += c.count[KV_COUNT_REJECTED];
		row[KV_TIER_ENTRIES] += c.entries;
		row[KV_TIER_USED_BYTES] += c.used;
		row[KV_TIER_USED_MOST_BYTES] += c.used_most;
		row[KV_TIER_CAPACITY_BYTES] += measure_capacity(r, k);
		if (r->setup.tiers[k].kind != KV_TIER_CPU)
			continue;
		hist_merge(&memory, table_hist(tiers->kind, row, KV_TIER_HIST_READ));
		hist_merge(&memory, table_hist(tiers->kind, row, KV_TIER_HIST_WRITE));
	}
	return quantile_ns(&memory, QUANTILE_P95);
}

void kv_measure_own(void *run, struct tally *t)
{
	const struct kv_run *r = run;
	uint64_t *row = t->rank_row;

	if (r->part.leads)
		row[KV_USERS] += r->scaling.autoscale.users ? r->scaling.autoscale.users
							    : r->setup.source.users;
	if (r->part.leads)
		row[KV_CARRIED] += r->scaling.autoscale.carried;
	row[KV_LEFT] += row[KV_OFFERED] - row[KV_REQUESTS] - row[KV_TURNED_AWAY];
	row[KV_CUT] += r->source.cut.requests;
	row[KV_CUT_TOKENS] += r->source.cut.tokens;
	row[KV_CUT_GENERATE] += r->source.cut.generate;
	row[KV_WAITING_MOST] = r->waiting.most;
	if (r->server)
		kv_server_own(r, t);
	row[KV_PRESENT] += r->tiers.present;
	row[KV_REFUSED] += r->tiers.refused;
	row[KV_ASKED] += r->remote.count;
	row[KV_READ_P95_NS] = quantile_ns(&t->hists[KV_HIST_READ], QUANTILE_P95);
	row[KV_WRITE_P95_NS] = quantile_ns(&t->hists[KV_HIST_WRITE], QUANTILE_P95);
	row[KV_READ_DEVICE_P95_NS] = quantile_ns(&t->hists[KV_HIST_READ_DEVICE], QUANTILE_P95);
	row[KV_WRITE_DEVICE_P95_NS] = quantile_ns(&t->hists[KV_HIST_WRITE_DEVICE], QUANTILE_P95);
	row[KV_MEMORY_P95_NS] = measure_tiers(r, t);
	for (uint32_t i = 0; !r->server && i < r->setup.source.class_count; i++) {
		const struct kv_class *class = &r->setup.source.classes[i];
		uint64_t *own = table_row(measure_table(t, KV_TABLE_QOS), i);

		own[KV_QOS_P95_NS] = class->p95_ns;
		own[KV_QOS_P99_NS] = class->p99_ns;
		own[KV_QOS_P999_NS] = class->p999_ns;
		own[KV_QOS_P9999_NS] = class->p9999_ns;
	}
}

void kv_measure_time(void *run, struct tally *t)
{
	const struct kv_run *r = run;
	struct accounts a = r->accounts;

	account_switch(&a, ACCOUNT_HAUL, clock_now(r->ctx->clock));
	memcpy(&t->rank_row[KV_ACCOUNTS], a.ns, sizeof(a.ns));
	t->rank_row[TALLY_WALL_NS] = account_wall(&a);
	t->rank_row[KV_MLPERF_NS] = min_u64(r->setup.options->duration_ns, account_wall(&a));
}

void kv_measure_thread(const struct crew_thread *w, struct tally *t)
{
	uint64_t *row = t->rank_row;

	row[KV_PAYLOAD_ERRORS] += w->counts[KV_WORKER_PAYLOAD_ERRORS];
	row[KV_FILL_NS] += w->counts[KV_WORKER_FILL_NS];
	row[KV_VERIFY_NS] += w->counts[KV_WORKER_VERIFY_NS];
	row[KV_COPY_NS] += w->counts[KV_WORKER_COPY_NS];
	row[KV_RESIDENT_SAMPLED_BYTES] += w->counts[KV_WORKER_SAMPLED_BYTES];
	row[KV_RESIDENT_BYTES] += w->counts[KV_WORKER_RESIDENT_BYTES];
}
