/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/common/repeat.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t gigabyte = 1000000000;

static const uint64_t pause_nap_ns = 10000000;

int repeat_open(struct repeat *p, struct err *err)
{
	int rc = snapshot_open(&p->snapshot, p->ctx,
			       (struct snapshot_hooks){.complete = repeat_measure}, p, err);

	p->crew->snapshot = &p->snapshot;
	if (rc == 0)
		rc = crew_open(p->crew, err);
	if (rc < 0)
		return rc;
	p->moved = calloc(p->crew->threads, sizeof(*p->moved));
	if (!p->moved)
		return err_set(err, -ENOMEM, "no memory for %u threads", p->crew->threads);
	for (uint32_t i = 0; i < p->crew->threads; i++) {
		done_series_clear(&p->moved[i]);
		meter_follow(&p->crew->members[i].meter, &p->moved[i], &p->start_ns);
	}
	return 0;
}

void repeat_close(struct repeat *p)
{
	if (p->crew)
		crew_close(p->crew);
	snapshot_close(&p->snapshot);
	free(p->moved);
	p->moved = NULL;
}

static int repeat_pause_thread(struct crew_thread *w, uint64_t thread)
{
	const uint64_t *pause_ns = w->crew->argument;
	struct clock *clock = w->crew->store->clock;
	uint64_t now_ns = clock_now(clock), until_ns = now_ns + *pause_ns;

	while (thread == 0 && now_ns < until_ns) {
		if (atomic_load(&w->crew->halt) || (w->crew->stop && stop_asked(w->crew->stop)))
			return -ECANCELED;
		now_ns = now_ns + pause_nap_ns < until_ns ? now_ns + pause_nap_ns : until_ns;
		clock_sleep_until(clock, now_ns);
		crew_look(w);
	}
	return 0;
}

int repeat_pause(struct repeat *p, uint64_t pause_ns, enum stop_reason *stopped, struct err *err)
{
	struct clock *clock = p->crew->store->clock;
	void *argument = p->crew->argument;
	int rc;

	if (!pause_ns)
		return 0;
	if (p->begun)
		account_switch(&p->accounts, ACCOUNT_HAUL, clock_now(clock));
	p->crew->argument = &pause_ns;
	rc = crew_run(p->crew, repeat_pause_thread, stopped, err);
	p->crew->argument = argument;
	if (p->begun)
		account_skip(&p->accounts, clock_now(clock));
	return rc;
}

int repeat_begin(struct repeat *p)
{
	int rc;

	/* What a snapshot still lacks is added while the threads rest, so that it has nothing of
	 * this time. */
	snapshot_poll(&p->snapshot);
	if (p->at_once) {
		rc = group_barrier(p->ctx->group);
		p->start_ns = clock_now(p->crew->store->clock);
	} else {
		rc = start_line(p->ctx, !p->begun, &p->start_ns);
	}
	if (rc < 0)
		return rc;
	if (!p->begun) {
		crew_start(p->crew, p->start_ns);
		timeline_init(p->ctx->tally->timeline, p->start_ns);
		snapshot_start(&p->snapshot, p->start_ns);
		account_start(&p->accounts, ACCOUNT_HAUL, p->start_ns);
		p->origin_ns = p->start_ns;
	}
	p->begun = p->working = true;
	account_switch(&p->accounts, ACCOUNT_HAUL, p->start_ns);
	crew_clear_counts(p->crew);
	for (uint32_t i = 0; i < p->crew->threads; i++) {
		p->crew->members[i].end_ns = 0;
		done_series_clear(&p->moved[i]);
	}
	return 0;
}

static const struct crew_thread *repeat_last(const struct repeat *p)
{
	const struct crew_thread *last = &p->crew->members[0];

	for (uint32_t i = 1; i < p->crew->threads; i++)
		if (p->crew->members[i].end_ns > last->end_ns)
			last = &p->crew->members[i];
	return last;
}

int repeat_took(struct repeat *p, uint64_t least_end_ns, struct repeat_took *took)
{
	uint64_t end_ns, words[2];
	int rc;

	took->last = repeat_last(p);
	end_ns = took->last->end_ns > least_end_ns ? took->last->end_ns : least_end_ns;
	took->end_ns = end_ns > p->start_ns ? end_ns : p->start_ns;
	took->own_ns = took->end_ns - p->start_ns;
	words[0] = took->own_ns;
	words[1] = took->own_ns ? UINT64_MAX - took->own_ns : 0;
	rc = group_allreduce(p->ctx->group, MERGE_MAX, words, 2);
	took->slowest_ns = words[0];
	took->first_ns = words[1] ? UINT64_MAX - words[1] : words[0];
	took->first_bytes = 0;
	for (uint32_t i = 0; i < p->crew->threads; i++)
		took->first_bytes += done_series_until(&p->moved[i], took->first_ns);
	return rc;
}

int repeat_run(struct repeat *p, int (*body)(struct crew_thread *w, uint64_t thread),
	       struct repeat_took *took, enum stop_reason *stopped, struct err *err)
{
	int rc = crew_run(p->crew, body, stopped, err), took_rc = repeat_took(p, 0, took);

	return rc < 0 ? rc : took_rc;
}

void repeat_count(const struct repeat_took *took, uint64_t bytes, uint64_t *block)
{
	unsigned __int128 own_ns;

	block[REPEAT_NS] += took->own_ns;
	block[REPEAT_SLOWEST_NS] += took->slowest_ns;
	block[REPEAT_FIRST_NS] += took->first_ns;
	block[REPEAT_DONE_BYTES] += bytes;
	block[REPEAT_FIRST_BYTES] += took->first_bytes < bytes ? took->first_bytes : bytes;
	own_ns = block[REPEAT_NS];
	if (block[REPEAT_DONE_BYTES])
		block[REPEAT_NS_PER_GB] = (uint64_t)(own_ns * gigabyte / block[REPEAT_DONE_BYTES]);
}

void repeat_account(struct repeat *p, const uint64_t blamed[ACCOUNTS], uint64_t end_ns)
{
	account_switch(&p->accounts, ACCOUNT_RANKS, end_ns);
	account_blame(&p->accounts, end_ns - p->start_ns, blamed);
	account_switch(&p->accounts, ACCOUNT_HAUL, clock_now(p->crew->store->clock));
	p->working = false;
}

void repeat_measure(void *repeat, struct tally *t)
{
	const struct repeat *p = repeat;
	uint64_t now_ns = clock_now(p->crew->store->clock), blamed[ACCOUNTS] = {0};
	struct accounts a = p->accounts;

	if (p->working) {
		account_switch(&a, ACCOUNT_HAUL, now_ns);
		blamed[ACCOUNT_TRANSFER] = now_ns > p->start_ns ? now_ns - p->start_ns : 0;
		account_blame(&a, blamed[ACCOUNT_TRANSFER], blamed);
	}
	memcpy(&t->rank_row[p->accounts_at], a.ns, sizeof(a.ns));
	t->rank_row[TALLY_WALL_NS] = account_wall(&a);
}

static int null_pass_store(struct null_pass *n, struct err *err)
{
	const struct backend_ops *ops = backend_find("null");
	struct cJSON *object = cJSON_CreateObject();
	void *options;
	int rc;

	if (!ops) {
		cJSON_Delete(object);
		return err_set(err, -ENOTSUP, "this haul was built without null://");
	}
	options = arena_alloc(&n->arena, ops->section.size);
	if (!options || !object || !cJSON_AddStringToObject(object, "uri", "null://null")) {
		cJSON_Delete(object);
		return err_set(err, -ENOMEM, "no memory for a null:// store");
	}
	rc = options_parse(ops->section.tables, options, object, "null://", &n->arena, err);
	cJSON_Delete(object);
	n->store = (struct job_store){.name = "null", .section = &ops->section, .options = options};
	return rc;
}

int null_pass_open(struct null_pass *n, const struct phase_context *ctx,
		   const struct tally_schema *schema, const uint32_t *rows_max, struct err *err)
{
	int rc;

	*n = (struct null_pass){.ctx = *ctx, .began_ns = clock_now(ctx->clock)};
	n->ctx.progress = NULL;
	n->ctx.measure_from = NULL;
	n->ctx.publish_every_ns = 0;
	n->ctx.op_log = NULL;
	n->ctx.stores = NULL;
	n->ctx.tally = &n->tally;
	rc = tally_init(&n->tally, schema, rows_max, err);
	if (rc == 0)
		rc = null_pass_store(n, err);
	return group_agree(ctx->group, rc, err);
}

void null_pass_close(struct null_pass *n)
{
	tally_free(&n->tally);
	arena_free(&n->arena);
	if (n->ctx.null_ns)
		*n->ctx.null_ns += clock_now(n->ctx.clock) - n->began_ns;
}
