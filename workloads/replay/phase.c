/* SPDX-License-Identifier: Apache-2.0 */
/* The workload "replay": see replay.h. */
#include "workloads/replay/work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/content/random.h"
#include "core/numbers.h"
#include "workloads/common/clean.h"
#include "workloads/common/description.h"
#include "workloads/replay/objects.h"

enum { TIER_NAME_BYTES = 16 };

static const struct meter_map maps[] = {
	{REQ_READ, METER_NONE, REPLAY_HIST_READ_REQUEST, METER_NONE, METER_NONE},
	{REQ_WRITE, METER_NONE, REPLAY_HIST_WRITE_REQUEST, METER_NONE, METER_NONE},
	{REQ_OPEN, REPLAY_OPENS, REPLAY_HIST_OPEN, METER_NONE, METER_NONE},
	{REQ_CLOSE, METER_NONE, REPLAY_HIST_CLOSE, METER_NONE, METER_NONE},
	{REQ_COMMIT, METER_NONE, REPLAY_HIST_CLOSE, METER_NONE, METER_NONE},
};
static const int own[] = {REPLAY_HIST_READ, REPLAY_HIST_WRITE, REPLAY_HIST_DELETE};

const struct meter_layout replay_meter = {
	METER_MAPS(replay_schema, maps),
	.late = REPLAY_LATE,
	.short_transfers = REPLAY_SHORT_TRANSFERS,
	.sync = REPLAY_HIST_SYNC,
	.publish = REPLAY_HIST_PUBLISH,
	.own = own,
	.own_count = COUNT(own),
	.counts_operations = true,
	.live_op = REQ_READ,
};

/* As in the trace: "Tier-2". NULL: there is no memory for a new row. */
static uint64_t *measure_tier(struct tally *t, uint32_t tier)
{
	char name[TIER_NAME_BYTES];

	snprintf(name, sizeof(name), "Tier-%u", tier);
	return table_named(&t->tables[REPLAY_TABLE_TIERS], name);
}

/* The rows of tables by texts, which must be there before threads add to them. */
static int replay_measure_begin(const struct replay_work *work, struct tally *t, struct err *err)
{
	uint32_t tiers = 0;

	for (uint32_t i = 0; i < work->rows->names.count; i++)
		tiers |= work->rows->keys[i].tiers;
	for (uint32_t k = 0; k < TRACE_TIERS; k++)
		if ((tiers >> k & 1) && !measure_tier(t, k))
			return err_set(err, -ENOMEM, "no memory for results");
	return 0;
}

static void measure_thread_tiers(const struct replay_thread *thread, struct tally *t)
{
	for (uint32_t k = 0; k < TRACE_TIERS; k++) {
		const uint64_t *count = thread->tiers[k].count, *bytes = thread->tiers[k].bytes;
		uint64_t *row;

		t->rank_row[REPLAY_OBJECT_READS] += count[TRACE_READ];
		t->rank_row[REPLAY_OBJECT_WRITES] += count[TRACE_WRITE];
		t->rank_row[REPLAY_OBJECT_DELETES] += count[TRACE_DELETE];
		if (!count[TRACE_READ] && !count[TRACE_WRITE] && !count[TRACE_DELETE])
			continue;
		row = measure_tier(t, k);
		if (!row)
			continue;
		row[REPLAY_TIER_READS] += count[TRACE_READ];
		row[REPLAY_TIER_READ_BYTES] += bytes[TRACE_READ];
		row[REPLAY_TIER_WRITES] += count[TRACE_WRITE];
		row[REPLAY_TIER_WRITTEN_BYTES] += bytes[TRACE_WRITE];
		row[REPLAY_TIER_DELETED] += count[TRACE_DELETE];
		row[REPLAY_TIER_DELETED_BYTES] += bytes[TRACE_DELETE];
	}
}

/* Adds what a thread has counted beside its meter: once it rests, or by itself. */
static void replay_count_thread(const struct crew_thread *w, struct tally *t)
{
	const struct replay_thread *thread = w->slots ? w->slots->owner : NULL;
	uint64_t *row = t->rank_row;

	if (!thread)
		return;
	measure_thread_tiers(thread, t);
	row[REPLAY_REQUESTS] += thread->done;
	row[REPLAY_LEFT] += thread->list->count - thread->next + thread->dropped;
	row[REPLAY_WAITED] += thread->waited;
	row[REPLAY_PAYLOAD_ERRORS] += thread->payload_errors;
	row[REPLAY_LATE_START_NS] = max_u64(row[REPLAY_LATE_START_NS], thread->slots.late_start_ns);
	for (uint32_t i = 0; i < thread->slots.depth; i++) {
		const struct replay_slot *slot = slots_at(&thread->slots, i);

		row[REPLAY_FILL_NS] += slot->content.fill_ns;
		row[REPLAY_VERIFY_NS] += slot->content.verify_ns;
	}
}

/* What of the phase's measures no thread counts. work: struct replay_work. */
static void replay_measure_time(void *work, struct tally *t)
{
	const struct replay_work *w = work;
	uint64_t now_ns = clock_now(w->store->clock);

	t->rank_row[TALLY_WALL_NS] = now_ns > w->start_ns ? now_ns - w->start_ns : 0;
}

static const uint64_t content_stream = 0x6f626a656374; /* "object" */

struct replay_phase {
	struct place place;
	struct phase_context *ctx;
	const struct replay_options *options;
	struct store store;
	struct queue
		side; /* for what is not the phase's own work: the description, folders, removal */
	struct crew crew;
	struct snapshot snapshot;
	struct replay_rows rows;
	struct replay_objects objects;
	struct replay_work work;
	uint64_t rows_of_all; /* of all ranks */
	bool described;       /* there may be objects */
	bool begun;           /* what happens counts */
};

static int replay_open_store(struct replay_phase *p, struct err *err)
{
	const struct job_store *described;
	struct phase_context *ctx = p->ctx;
	int rc = phase_store_find(ctx->job, ctx->phase, &described, err);

	if (rc == 0)
		rc = workload_store_open(ctx, described, &p->store, err);
	if (rc == 0)
		rc = queue_open(&p->side, &p->store, 1, err);
	if (rc == 0)
		queue_unlogged(&p->side);
	return group_agree(ctx->group, rc, err);
}

/* Every rank reads the trace, and keeps the rows of its keys. */
static int replay_load_rows(struct replay_phase *p, struct err *err)
{
	const struct replay_options *o = p->options;
	const struct group *g = p->ctx->group;
	const struct replay_part part = {.speed = o->speed,
					 .size_scale = o->size_scale,
					 .tiers = replay_tiers(o->tiers),
					 .lenient = o->lenient,
					 .rank = g->rank,
					 .ranks = g->size,
					 .threads = (uint32_t)o->threads,
					 .through = replay_through_of(o, true)};
	struct trace_reader reader;
	int rc = trace_open(&reader, o->trace, o->lenient, err);

	if (rc == 0) {
		rc = replay_rows_load(&p->rows, &reader, &part, err);
		trace_close(&reader);
	}
	return rc < 0 ? err_wrap(err, rc, "%s/trace: %s", p->ctx->phase->path, o->trace) : 0;
}

/* What the ranks know together of the trace: its rows, the tiers that have objects, the largest of
 * them. */
static int replay_agree_rows(struct replay_phase *p, struct err *err)
{
	struct group *g = p->ctx->group;
	uint64_t most[1 + TRACE_TIERS] = {p->rows.bytes_most};
	int rc;

	p->rows_of_all = p->rows.rows;
	for (uint32_t i = 0; i < p->rows.names.count; i++)
		for (uint32_t k = 0; k < TRACE_TIERS; k++)
			most[1 + k] |= p->rows.keys[i].tiers >> k & 1;
	rc = group_allreduce(g, MERGE_SUM, &p->rows_of_all, 1);
	if (rc == 0)
		rc = group_allreduce(g, MERGE_MAX, most, 1 + TRACE_TIERS);
	if (rc < 0)
		return rc;
	p->rows.bytes_most = most[0];
	p->objects = (struct replay_objects){.version = OBJECTS_LAYOUT};
	for (uint32_t k = 0; k < TRACE_TIERS; k++)
		p->objects.tiers |= most[1 + k] << k;
	if (p->objects.tiers)
		return 0;
	return err_set(err, -EINVAL, "%s/tiers: no row of %s reaches the store",
		       p->ctx->phase->path, p->options->trace);
}

static int replay_open_threads(struct replay_phase *p, struct err *err)
{
	const struct replay_options *o = p->options;
	struct phase_context *ctx = p->ctx;
	uint32_t threads = (uint32_t)o->threads;
	int rc;

	p->crew = crew_of(ctx, &p->store, &replay_meter, o->threads, o->depth, "replay");
	p->crew.once = true;
	p->crew.files = p->rows_of_all;
	p->crew.limit_ns = o->seconds_ns;
	if (p->work.content)
		p->crew.buffer_bytes = o->depth * replay_buffer_bytes(o, &p->store);
	p->crew.items = "rows";
	p->crew.stall_limit_ns = ctx->job->stall_limit_ns;
	p->crew.waits = slots_waits;
	p->crew.count = replay_count_thread;
	p->crew.snapshot = &p->snapshot;
	p->crew.argument = &p->work;
	rc = snapshot_open(&p->snapshot, ctx,
			   (struct snapshot_hooks){.complete = replay_measure_time}, &p->work, err);
	if (rc == 0)
		rc = crew_open(&p->crew, err);
	if (rc < 0)
		return rc;
	p->work.threads = calloc(threads, sizeof(*p->work.threads));
	if (!p->work.threads)
		return err_set(err, -ENOMEM, "no memory for %u threads", threads);
	for (uint32_t i = 0; rc == 0 && i < threads; i++)
		rc = replay_thread_open(&p->work.threads[i], &p->work, &p->crew.members[i], err);
	return rc;
}

static int replay_open(void *run, struct phase_context *ctx, struct err *err)
{
	struct replay_phase *p = run;

	p->ctx = ctx;
	p->options = ctx->phase->options;
	/* Writing a trace needs no store. */
	return p->options->trace_out[0] ? 0 : replay_open_store(p, err);
}

static int replay_prepare(struct replay_phase *p, struct err *err)
{
	const struct replay_options *o = p->options;
	struct phase_context *ctx = p->ctx;
	struct group *g = ctx->group;
	uint64_t *row = ctx->tally->rank_row;
	bool first = g->rank == 0;
	struct description d;
	int rc = group_agree(g, replay_load_rows(p, err), err);

	if (rc == 0)
		rc = replay_agree_rows(p, err);
	if (rc < 0)
		return rc;
	p->work.options = o;
	p->work.rows = &p->rows;
	p->work.store = &p->store;
	p->work.seed = random_at(ctx->job->seed, content_stream, 0);
	p->work.content = store_can(&p->store, BACKEND_CONTENT);
	p->work.timed = o->speed > 0;
	pattern_init(&p->work.pattern, 0, p->rows.bytes_most, o->compress, o->dedup,
		     o->dedup_distance);
	/* What all ranks find in the trace alike, rank 0 counts. */
	row[REPLAY_ROWS] = p->rows.rows;
	row[REPLAY_OTHER_TIERS] = first ? p->rows.other_tiers : 0;
	row[REPLAY_PASSED] = first ? p->rows.passed : 0;
	row[REPLAY_MISSES] = first ? p->rows.misses : 0;
	row[REPLAY_WRONG] = (first ? p->rows.wrong : 0) + p->rows.beyond;
	row[REPLAY_KEYS] = p->rows.names.count;
	for (uint64_t i = 0; p->work.content && i < p->rows.made_count; i++) {
		row[REPLAY_MADE]++;
		row[REPLAY_MADE_BYTES] += p->rows.made[i].bytes;
	}
	d = replay_objects_description(o->folder);
	d.clean = p->ctx->clean;
	rc = description_wanted(&p->side) ? place_take(&p->place, &p->store, d.folder, g, err) : 0;
	if (rc == 0)
		rc = description_begin(&d, &p->objects, &p->side, g, err);
	p->described = rc == 0;
	return rc;
}

/* From here on what happens counts. */
static int replay_begin(struct replay_phase *p, struct err *err)
{
	struct phase_context *ctx = p->ctx;
	uint64_t start_ns = 0;
	int rc = group_agree(ctx->group, replay_measure_begin(&p->work, ctx->tally, err), err);

	if (rc == 0)
		rc = start_line(ctx, true, &start_ns);
	if (rc < 0)
		return rc;
	p->work.start_ns = start_ns;
	p->work.until_ns = p->options->seconds_ns ? start_ns + p->options->seconds_ns : 0;
	crew_start(&p->crew, start_ns);
	snapshot_start(&p->snapshot, start_ns);
	timeline_init(ctx->tally->timeline, start_ns);
	p->begun = true;
	return 0;
}

static int replay_run_rows(struct replay_phase *p, enum stop_reason *stopped, struct err *err)
{
	struct phase_context *ctx = p->ctx;
	uint64_t timed_out = 0; /* the time of a thread of any rank was over */
	int rc = replay_make(&p->work, ctx, stopped, err);

	if (rc < 0 || *stopped != STOP_NONE)
		return rc;
	rc = group_agree(ctx->group, replay_open_threads(p, err), err);
	if (rc == 0)
		rc = replay_begin(p, err);
	if (rc < 0)
		return rc;
	rc = crew_run(&p->crew, replay_thread_run, stopped, err);
	replay_measure_time(&p->work, ctx->tally);
	crew_merge(&p->crew, ctx->tally);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < p->crew.threads; i++)
		timed_out |= p->work.threads[i].slots.timed_out;
	rc = group_allreduce(ctx->group, MERGE_MAX, &timed_out, 1);
	if (rc == 0 && timed_out && *stopped == STOP_NONE)
		*stopped = STOP_LIMIT;
	return rc;
}

/* Objects that could not be removed. */
static void replay_removed(void *argument, const struct request *req, uint64_t bytes)
{
	uint64_t *left = argument;

	(void)bytes;
	*left += request_failed(req);
}

/* Removes all objects of this rank's keys. Returns how many have stayed. */
static uint64_t replay_remove(struct replay_phase *p)
{
	struct batch_delete deletes;
	char key[OBJECT_KEY_BYTES];
	struct err ignored;
	uint64_t left = 0;

	if (!p->work.content)
		return 0;
	if (batch_delete_open(&deletes, &p->side, replay_removed, &left, &ignored) < 0)
		return 1;
	for (uint32_t i = 0; i < p->rows.names.count; i++) {
		for (uint32_t k = 0; k < TRACE_TIERS; k++) {
			if (!(p->rows.keys[i].tiers >> k & 1))
				continue;
			replay_object_key(p->options->folder, k,
					  trace_names_text(&p->rows.names, i), key);
			batch_delete_add(&deletes, key, 0);
		}
	}
	batch_delete_flush(&deletes);
	batch_delete_close(&deletes);
	return left;
}

/* Nothing of the phase stays, unless a store does not let it go. Collective. */
static int replay_clean_up(struct replay_phase *p)
{
	struct group *g = p->ctx->group;
	uint64_t left;
	int rc;

	if (!p->described)
		return 0;
	left = replay_remove(p);
	rc = group_allreduce(g, MERGE_SUM, &left, 1);
	if (rc < 0)
		return rc;
	if (left) {
		workload_say(p->ctx,
			     "%" PRIu64 " objects remain: `haul clean` with this job removes them",
			     left);
		return 0;
	}
	replay_objects_leave(&p->objects, &p->side, p->options->folder, g);
	rc = group_barrier(g);
	if (rc == 0 && g->rank == 0)
		replay_objects_end(&p->objects, &p->side, p->options->folder);
	return rc;
}

static void replay_close(void *run)
{
	struct replay_phase *p = run;

	for (uint32_t i = 0; p->work.threads && i < p->crew.threads; i++)
		slots_close(&p->work.threads[i].slots);
	free(p->work.threads);
	crew_close(&p->crew);
	snapshot_close(&p->snapshot);
	replay_rows_free(&p->rows);
	queue_close(&p->side);
	place_give(&p->place);
	store_close(&p->store);
}

/* Objects are removed however the phase has ended, also where it could not open all that it
 * needs. */
static int replay_work(void *run, enum stop_reason *stopped, struct err *err)
{
	struct replay_phase *p = run;
	struct cpu_time from;
	int rc, cleaned;

	if (p->options->trace_out[0])
		return replay_trace_out(p->ctx, stopped, err);
	rc = replay_prepare(p, err);
	/* Before anything is measured: it is another load than the log's. */
	if (rc == 0 && p->rows.bytes_differ && p->ctx->group->rank == 0)
		log_say(p->ctx->log, LOG_WARNING, "%s: %s", p->ctx->phase->path,
			p->rows.passed_text);
	if (rc == 0)
		rc = replay_run_rows(p, stopped, err);
	if (p->begun && p->rows.passed_text[0] && p->ctx->group->rank == 0)
		workload_say(p->ctx, "%s", p->rows.passed_text);
	if (p->begun && p->rows.skipped[0])
		workload_say(p->ctx, "%s", p->rows.skipped);
	if (p->begun && !p->work.timed)
		workload_say(p->ctx, "rows did not wait for their times");
	from = cpu_time_process();
	cleaned = replay_clean_up(p);
	workload_uncount(p->ctx, from);
	return rc < 0 ? rc : cleaned;
}

const struct workload replay_workload = {
	.section =
		SECTION_OF(replay, "the reads and writes of a recorded trace of a key-value cache",
			   replay_targets, replay_options_table),
	.schema = &replay_schema,
	.snapshots = true,
	.stores = replay_stores,
	.check = replay_check,
	.size = replay_size,
	.tell = replay_tell,
	.run_bytes = sizeof(struct replay_phase),
	.open = replay_open,
	.work = replay_work,
	.close = replay_close,
	.clean = replay_clean,
};
