/* SPDX-License-Identifier: Apache-2.0 */
/* Trace of a phase "kvcache": what all ranks would ask of their tiers, on a virtual clock, written
 * as one file in the order of time. No store is opened and no byte is moved, so a trace depends
 * only on the options, the seed and the number of ranks.
 *
 * The ranks go through windows of virtual time together. After each, rank 0 gets the rows of the
 * others, and writes all of them in the order of their times. So memory is bounded by the rows of a
 * window. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/decimal.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/kvcache/run.h"
#include "workloads/kvcache/tiers/entries.h"
#include "workloads/kvcache/trace/virtual_run.h"

enum {
	TRACED_ROOM = 1 << 12,
	TRACED_MESSAGE_ROWS = 512,
	TRACED_STORE = 2,
	TRACED_KEY_BYTES = KV_KEY_BYTES + 16 /* with "rank_4294967295/" */
};
static const uint64_t window_ns = 100 * NS_PER_MS;

struct traced_row {
	struct trace_row row; /* its key is set where it is written */
	char key[TRACED_KEY_BYTES];
};

struct traced {
	struct traced_row *rows;
	uint64_t count, room;
	bool failed;   /* there was no memory */
	uint32_t rank; /* or the number of the tensor group */
	bool several;  /* ranks, or groups */
	bool all;      /* a row for each rank of the group */
	const struct model *model;
	uint64_t tensor;
	uint32_t tier[KV_TIERS_MAX]; /* as a trace numbers them: 0 gpu, 1 cpu, from 2 on stores */
	struct trace_writer writer;  /* rank 0 */
};

static bool traced_reserve(struct traced *t, uint64_t count)
{
	struct traced_row *rows;
	uint64_t room = t->room ? t->room : TRACED_ROOM;

	while (room < count)
		room *= 2;
	if (room == t->room)
		return true;
	rows = realloc(t->rows, room * sizeof(*rows));
	if (!rows) {
		t->failed = true;
		return false;
	}
	t->rows = rows;
	t->room = room;
	return true;
}

/* Each rank has a cache of its own, whose keys may be those of others, too. Where there are
 * several, "rank_3/" tells them apart, as the folders of MLPerf's benchmark do. */
static size_t traced_key(const struct traced *t, const struct trace_row *row, uint32_t rank,
			 char *key)
{
	char *at = key;

	if (t->several) {
		at = stpcpy(at, "rank_");
		at = decimal_put(at, rank, 1);
		*at++ = '/';
	}
	memcpy(at, row->key, row->key_length + 1);
	return (size_t)(at - key) + row->key_length;
}

/* A row of a rank, with the key of the rank that has written the object. */
static void traced_put(struct traced *t, const struct trace_row *row, uint32_t rank,
		       uint32_t writer, uint64_t bytes)
{
	struct traced_row *to;

	if (!traced_reserve(t, t->count + 1))
		return;
	to = &t->rows[t->count++];
	to->row = *row;
	to->row.bytes = bytes;
	to->row.tier = t->tier[row->tier];
	to->row.origin.rank = rank;
	to->row.key_length = traced_key(t, row, writer, to->key);
}

/* A row of a rank, or the rows of all ranks of a group. Each of them has its shard; what several
 * ranks hold is in a store once, and in each of their memories. */
static void traced_add(void *traced, const struct trace_row *row)
{
	struct traced *t = traced;
	uint32_t first = t->rank * (uint32_t)t->tensor;
	bool store = t->tier[row->tier] >= TRACED_STORE;

	if (!t->all)
		traced_put(t, row, t->rank, t->rank, row->bytes);
	for (uint32_t shard = 0; t->all && shard < t->tensor; shard++) {
		uint32_t writer =
			store ? (uint32_t)kv_model_shard_writer(t->model, t->tensor, shard) : shard;

		if (writer == shard || row->operation == TRACE_READ)
			traced_put(t, row, first + shard, first + writer,
				   kv_model_shard_of(t->model, row->bytes, 1, t->tensor, shard));
	}
}

static int traced_tiers(struct traced *t, const struct kv_run *r, struct err *err)
{
	uint32_t stores = 0;

	for (uint32_t k = 0; k < r->setup.tier_count; k++) {
		enum kv_tier_kind kind = r->setup.tiers[k].kind;

		t->tier[k] = kind == KV_TIER_GPU   ? 0
			     : kind == KV_TIER_CPU ? 1
						   : TRACED_STORE + stores++;
		if (t->tier[k] >= TRACE_TIERS)
			return err_set(err, -EINVAL, "%s/tiers: a trace has at most %d stores",
				       r->ctx->phase->path, TRACE_TIERS - TRACED_STORE);
	}
	return 0;
}

static int traced_send(const struct traced *t, struct group *g)
{
	int rc = group_send(g, 0, &t->count, sizeof(t->count));

	for (uint64_t at = 0; rc == 0 && at < t->count; at += TRACED_MESSAGE_ROWS) {
		uint64_t n = min_u64(t->count - at, TRACED_MESSAGE_ROWS);

		rc = group_send(g, 0, &t->rows[at], n * sizeof(*t->rows));
	}
	return rc;
}

/* Adds the rows of a rank to those of rank 0. Without memory for all of them, they are received and
 * dropped; there is room for those of one message. */
static int traced_receive(struct traced *t, struct group *g, uint32_t rank)
{
	uint64_t count = 0;
	int rc = group_receive(g, rank, &count, sizeof(count));

	for (uint64_t at = 0; rc == 0 && at < count; at += TRACED_MESSAGE_ROWS) {
		uint64_t n = min_u64(count - at, TRACED_MESSAGE_ROWS);

		if (!traced_reserve(t, t->count + n))
			t->count = 0;
		rc = group_receive(g, rank, &t->rows[t->count], n * sizeof(*t->rows));
		t->count += n;
	}
	return rc;
}

/* Rows of one time stay in the order of their ranks, and those of a rank in their own. */
static int traced_compare(const void *a, const void *b)
{
	const struct traced_row *one = *(const struct traced_row *const *)a;
	const struct traced_row *other = *(const struct traced_row *const *)b;

	if (one->row.ns != other->row.ns)
		return one->row.ns < other->row.ns ? -1 : 1;
	return one < other ? -1 : one > other;
}

static void traced_write(struct traced *t)
{
	struct traced_row **order = malloc((t->count + 1) * sizeof(*order));

	if (!order) {
		t->failed = true;
		return;
	}
	for (uint64_t i = 0; i < t->count; i++)
		order[i] = &t->rows[i];
	qsort(order, t->count, sizeof(*order), traced_compare);
	for (uint64_t i = 0; i < t->count; i++) {
		order[i]->row.key = order[i]->key;
		trace_write(&t->writer, &order[i]->row);
	}
	free(order);
}

/* The rows of a window go to the file. */
static int traced_flush(struct traced *t, struct group *g)
{
	int rc = 0;

	if (g->rank) {
		rc = traced_send(t, g);
	} else {
		for (uint32_t rank = 1; rc == 0 && rank < g->size; rank++)
			rc = traced_receive(t, g, rank);
		traced_write(t);
	}
	t->count = 0;
	return rc;
}

/* Why this rank wants the phase to end. */
static uint64_t traced_stop(const struct kv_run *r)
{
	const struct phase_context *ctx = r->ctx;
	uint64_t stop = ctx->stop ? stop_asked(ctx->stop) : STOP_NONE;

	if (ctx->deadline_ns && clock_now(ctx->clock) >= ctx->deadline_ns)
		stop = max_u64(stop, STOP_DEADLINE);
	return stop;
}

static int traced_windows(struct traced *t, struct kv_run *r, struct virtual_run *v,
			  enum stop_reason *stopped, struct err *err)
{
	const struct kvcache_options *o = r->setup.options;
	struct group *g = r->ctx->group;
	uint64_t at_ns = 0, stop = 0, goes_on = 1;
	bool leads = r->part.leads;
	int rc = leads ? virtual_run_fill(v, o->precondition, o->precondition_tokens) : 0;

	while (rc == 0 && at_ns < o->duration_ns && !stop && goes_on) {
		at_ns += min_u64(o->duration_ns - at_ns, window_ns);
		rc = leads ? virtual_run_until(v, at_ns) : 0;
		if (rc == 0 && t->failed)
			rc = -ENOMEM;
		if (rc < 0)
			err_set(err, rc, "no memory for the rows of a trace");
		rc = group_agree(g, rc, err);
		if (rc == 0)
			rc = traced_flush(t, g);
		if (rc == 0) {
			uint64_t words[] = {traced_stop(r), leads && !virtual_run_over(v)};

			rc = group_allreduce(g, MERGE_MAX, words, 2);
			stop = words[0];
			goes_on = words[1];
		}
	}
	*stopped = (enum stop_reason)stop;
	return rc;
}

/* What the tiers have counted, as if each operation had been done. */
static void traced_measure_tier(const struct kv_run *r, uint32_t k)
{
	static const struct {
		enum kv_count from;
		enum kv_tier_measure to;
	} same[] = {
		{KV_COUNT_READ, KV_TIER_READS},
		{KV_COUNT_WRITE, KV_TIER_WRITES},
		{KV_COUNT_DEMOTED_OUT, KV_TIER_DEMOTED_OUT},
		{KV_COUNT_DEMOTED_IN, KV_TIER_DEMOTED_IN},
		{KV_COUNT_PROMOTED, KV_TIER_PROMOTED},
		{KV_COUNT_EVICTED, KV_TIER_DELETED},
		{KV_COUNT_DELETED, KV_TIER_DELETED},
	};
	const struct kv_tier_counts *c = &r->tiers.tier[k].counts;
	uint64_t *row = table_row(&r->ctx->tally->tables[KV_TABLE_TIERS], k);

	for (size_t i = 0; i < COUNT(same); i++) {
		row[same[i].to] += c->count[same[i].from];
		row[same[i].to + 1] += c->bytes[same[i].from];
	}
}

static void traced_measure(struct kv_run *r, const struct virtual_run *v)
{
	uint64_t *row = r->ctx->tally->rank_row;

	for (int i = 0; i < KV_CAUSES; i++) {
		row[KV_HITS] += v->hits[i];
		row[KV_MISSES] += v->misses[i];
		row[KV_HIT_PROMPT + i] += v->hits[i];
		row[KV_MISS_PROMPT + i] += v->misses[i];
	}
	row[KV_OFFERED] = row[KV_REQUESTS] = v->requests;
	row[KV_TOKENS] = v->tokens;
	for (uint32_t k = 0; k < r->setup.tier_count; k++)
		traced_measure_tier(r, k);
	kv_measure_own(r, r->ctx->tally);
	kv_measure_time(r, r->ctx->tally);
}

int kv_trace_run(struct kv_run *r, enum stop_reason *stopped, struct err *err)
{
	const struct kvcache_options *o = r->setup.options;
	struct group *g = r->ctx->group;
	bool all = o->trace_ranks == KV_TRACE_ALL;
	struct traced t = {.rank = r->part.number,
			   .several = r->part.count > 1 || (all && g->size > 1),
			   .all = all,
			   .model = &r->setup.model,
			   .tensor = r->setup.tensor};
	enum trace_format format = (enum trace_format)o->trace_format;
	struct trace_events events = {.row = traced_add,
				      .argument = &t,
				      .now_ns = o->trace_epoch_ns,
				      .deletes = trace_deletes(format),
				      .promotes_whole = o->policy.write == KV_WRITE_MOVE};
	struct virtual_run v = {.source = &r->source,
				.tiers = &r->tiers,
				.model = &r->setup.model,
				.tensor = r->setup.tensor,
				.shards = all,
				.requests_most = o->requests,
				.events = &events,
				.epoch_ns = o->trace_epoch_ns};
	int rc = traced_tiers(&t, r, err), closed = 0;

	if (rc == 0 && !traced_reserve(&t, TRACED_ROOM))
		rc = err_set(err, -ENOMEM, "no memory for the rows of a trace");
	r->tiers.event = trace_event;
	r->tiers.argument = &events;
	if (rc == 0 && g->rank == 0)
		rc = trace_create(&t.writer, r->trace, format, o->chunk, r->ctx->replaces, err);
	rc = group_agree(g, rc, err);
	if (rc == 0) {
		r->start_ns = workload_begin(r->ctx);
		account_start(&r->accounts, ACCOUNT_HAUL, r->start_ns);
		rc = traced_windows(&t, r, &v, stopped, err);
		traced_measure(r, &v);
	}
	if (g->rank == 0 && t.writer.text) {
		closed = trace_finish(&t.writer, r->trace, rc < 0 ? NULL : err);
		if (closed == 0 && t.failed)
			closed = err_set(err, -ENOMEM, "%s: no memory for its rows", r->trace);
	}
	free(t.rows);
	return group_agree(g, rc < 0 ? rc : closed, err);
}
