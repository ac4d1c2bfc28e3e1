#include "workloads/io/io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/fill.h"
#include "core/units.h"
#include "workloads/common/shared_object.h"
#include "workloads/io/cold.h"
#include "workloads/io/measures.h"

static const uint64_t pattern_stream = 0x7061747465726e; /* "pattern" */
/* From when all know that all are there until work begins. */
#define BEGIN_NS UINT64_C(20000000)

struct run {
	struct phase_context *ctx;
	const struct io_options *options;
	struct store store;
	struct queue side; /* for what is not the phase's own work: descriptions, folders */
	struct crew crew;
	struct io_set set;
	struct io_work work;
	struct cold cold;
	struct shared_object shared;
	bool dropped;   /* it was not written to its end */
	uint64_t shift; /* ranks */
};

static int open_all(struct run *r, struct err *err);
static int choose_shift(struct run *r);
static int open_threads(struct run *r, struct err *err);
static void close_all(struct run *r);
static int make_cold(struct run *r, struct err *err);
static int begin(struct run *r);
static int begin_shared(struct run *r, struct err *err);
static int go_on(struct run *r, enum stop_reason *stopped, struct err *err);
static int settle(struct run *r, bool failed, struct err *err);

static int run_all(struct run *r, enum stop_reason *stopped, struct err *err)
{
	struct phase_context *ctx = r->ctx;
	int rc, ended;

	rc = io_set_begin(&r->set, r->options, &r->side, ctx->group, err);
	if (rc == 0)
		rc = choose_shift(r);
	if (rc == 0)
		rc = open_threads(r, err);
	if (rc == 0)
		rc = make_cold(r, err);
	if (rc == 0)
		rc = begin(r);
	if (rc == 0)
		rc = begin_shared(r, err);
	if (rc < 0)
		return rc;
	rc = crew_run(&r->crew, io_thread_run, stopped, err);
	if (rc == 0 && *stopped == STOP_NONE && r->options->seconds_ns)
		rc = go_on(r, stopped, err);
	ended = settle(r, rc < 0 || *stopped > STOP_LIMIT, rc < 0 ? NULL : err);
	return rc < 0 ? rc : ended;
}

/* Threads that could not be made have not waited for the start. */
static uint64_t since_start(const struct run *r)
{
	uint64_t now_ns = clock_now(r->ctx->clock);

	return now_ns > r->work.start_ns ? now_ns - r->work.start_ns : 0;
}

static int io_run(struct phase_context *ctx, enum stop_reason *stopped, struct err *err)
{
	uint64_t start_ns = clock_now(ctx->clock);
	struct run *r = calloc(1, sizeof(*r));
	int rc;

	*stopped = STOP_NONE;
	timeline_init(ctx->tally->timeline, start_ns);
	rc = group_agree(ctx->group, r ? 0 : err_set(err, -ENOMEM, "no memory for the phase"), err);
	if (rc < 0 || !r) {
		free(r);
		*stopped = STOP_ERROR;
		return rc;
	}
	r->ctx = ctx;
	r->options = ctx->phase->options;
	r->work.start_ns = start_ns;
	rc = open_all(r, err);
	if (rc == 0)
		rc = run_all(r, stopped, err);
	if (rc < 0)
		*stopped = STOP_ERROR;
	if (!ctx->tally->rank_row[TALLY_WALL_NS])
		ctx->tally->rank_row[TALLY_WALL_NS] = since_start(r);
	close_all(r);
	free(r);
	return rc;
}

/* Blocks in place cannot be padded to whole ones of the device: what stands behind would go. */
static int check_direct(const struct run *r, struct err *err)
{
	uint64_t align = r->store.alignment;

	if (!io_writes(r->options) || align <= 1)
		return 0;
	if (r->options->block % align == 0 && r->options->size % align == 0)
		return 0;
	if (r->options->block % align == 0)
		return err_set(
			err, -EINVAL,
			"%s/size: direct writes go by whole blocks of %llu bytes; %llu is no "
			"multiple",
			r->ctx->phase->path, (unsigned long long)align,
			(unsigned long long)r->options->size);
	return err_set(
		err, -EINVAL,
		"%s/block: direct writes go by whole blocks of %llu bytes; %llu is no multiple",
		r->ctx->phase->path, (unsigned long long)align,
		(unsigned long long)r->options->block);
}

static int open_all(struct run *r, struct err *err)
{
	struct phase_context *ctx = r->ctx;
	const struct io_options *o = r->options;
	const struct job_store *described;
	int rc = io_store(ctx->job, ctx->phase, &described, err);

	if (rc == 0)
		rc = workload_store_open(ctx, described, &r->store, err);
	if (rc < 0)
		r->store.ops = NULL;
	else
		rc = check_direct(r, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc < 0)
		return rc;
	io_set_of(&r->set, o, ctx->job->seed, ctx->group->size);
	r->work.content = store_can(&r->store, BACKEND_CONTENT);
	r->crew = (struct crew){
		.files = o->seconds_ns && !o->passes
				 ? 0
				 : io_items(o) * (o->passes ? o->passes : 1) * ctx->group->size,
		.once = true,
		.store = &r->store,
		.group = ctx->group,
		.stop = ctx->stop,
		.deadline_ns = ctx->deadline_ns,
		.layout = io_meter(o),
		.threads = (uint32_t)o->threads,
		.depth = (uint32_t)o->depth,
		.limit_ns = o->seconds_ns ? o->warmup_ns + o->seconds_ns : 0,
		.buffer_bytes = r->work.content && io_moves(o)
					? o->depth * io_buffer_bytes(o, &r->store)
					: 0,
		.progress = ctx->progress,
		.progress_argument = ctx->progress_argument,
		.kind = "io",
		.argument = &r->work,
	};
	rc = queue_open(&r->side, &r->store, 1, err);
	if (rc == 0)
		queue_unlogged(&r->side);
	if (rc == 0)
		rc = crew_open(&r->crew, err);
	return group_agree(ctx->group, rc, err);
}

static void close_all(struct run *r)
{
	for (uint32_t i = 0; r->work.threads && i < r->crew.threads; i++)
		io_thread_close(&r->work.threads[i]);
	free(r->work.threads);
	cold_close(&r->cold);
	crew_close(&r->crew);
	queue_close(&r->side);
	if (r->store.ops)
		store_close(&r->store);
}

/* How many ranks find their own node when they go so many further. */
static uint32_t at_home(const uint32_t *nodes, uint32_t ranks, uint32_t shift)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ranks; i++)
		n += nodes[i] == nodes[(i + shift) % ranks];
	return n;
}

/* Whose objects a reading rank takes. Ranks of a node may stand together or in turn: what brings more of
 * them to another node is taken. */
static int choose_shift(struct run *r)
{
	struct phase_context *ctx = r->ctx;
	uint32_t ranks = ctx->group->size, node = ctx->place->node, *nodes = NULL;
	uint32_t by_node =
		(ranks + ctx->place->nodes - 1) / (ctx->place->nodes ? ctx->place->nodes : 1);
	bool reads = r->options->operation == IO_DO_READ || r->options->operation == IO_DO_STAT ||
		     r->options->operation == IO_DO_LIST;
	int rc;

	r->shift = 0;
	if (!reads || r->options->shift == IO_SHIFT_NONE)
		return 0;
	if (r->options->shift == IO_SHIFT_RANK || ctx->place->nodes <= 1) {
		r->shift = r->options->shift == IO_SHIFT_RANK ? 1 : 0;
		return 0;
	}
	if (ctx->group->rank == 0)
		nodes = calloc(ranks, sizeof(*nodes));
	rc = group_agree(ctx->group, ctx->group->rank == 0 && !nodes ? -ENOMEM : 0, NULL);
	if (rc == 0)
		rc = group_gather(ctx->group, &node, sizeof(node), nodes);
	if (rc == 0 && nodes)
		r->shift = at_home(nodes, ranks, by_node) <= at_home(nodes, ranks, 1) ? by_node : 1;
	free(nodes);
	return rc < 0 ? rc : group_broadcast(ctx->group, &r->shift, sizeof(r->shift));
}

static uint64_t folder_hash(const char *text)
{
	uint64_t h = pattern_stream;

	for (; *text; text++)
		h = mix64(h ^ (unsigned char)*text);
	return h;
}

static void describe_work(struct run *r)
{
	const struct io_options *o = r->options;
	const struct io_set *set = &r->set;
	bool shared = set->layout != IO_OBJECTS;

	r->work.options = o;
	r->work.set = set;
	r->work.store = &r->store;
	r->work.strict = set->complete && store_can(&r->store, BACKEND_CONTENT) &&
			 store_can(&r->store, BACKEND_MISSING_IS_ERROR);
	r->work.in_place = store_can(&r->store, BACKEND_UPDATE);
	r->work.shared = shared && o->operation == IO_DO_WRITE && !r->work.in_place;
	r->work.objects = shared ? 0 : set->objects;
	pattern_init(&r->work.pattern, fill_key(set->seed, folder_hash(set->folder)),
		     shared ? set->size * set->ranks : set->size, set->compress, set->dedup,
		     set->dedup_distance);
}

static int open_threads(struct run *r, struct err *err)
{
	const struct io_options *o = r->options;
	uint64_t rank = (r->ctx->group->rank + r->shift) % r->ctx->group->size;
	int rc = 0;

	describe_work(r);
	r->work.threads = calloc(o->threads, sizeof(*r->work.threads));
	if (!r->work.threads)
		rc = err_set(err, -ENOMEM, "no memory for %u threads", r->crew.threads);
	for (uint32_t i = 0; rc == 0 && i < o->threads; i++) {
		struct io_thread *t = &r->work.threads[i];

		rc = io_thread_open(t, &r->work, &r->crew.members[i], err);
		io_share_init(&t->share, &r->set, o, rank, i);
		t->limit = io_limit(o, t->share.items);
		t->warm = o->warmup_ns == 0;
	}
	return group_agree(r->ctx->group, rc, err);
}

/* Before the work, in none of its times: memory taken, caches dropped. */
static int make_cold(struct run *r, struct err *err)
{
	struct phase_context *ctx = r->ctx;
	uint64_t from = (ctx->group->rank + r->shift) % ctx->group->size;
	int rc = cold_open(&r->cold, &r->options->cold, ctx, err);

	if (rc == 0)
		rc = io_cold_drop(&r->cold, &r->set, &r->store, from, ctx->tally->rank_row, err);
	return rc;
}

/* All start from here: the ranks of a node at one time of its clock, so far ahead that agreeing on it, which
 * takes milliseconds where they outnumber the cores, is no part of the work. One that gets a core later
 * has begun late. */
static int begin(struct run *r)
{
	const struct io_options *o = r->options;
	struct phase_context *ctx = r->ctx;
	uint64_t now_ns, ahead_ns;
	int rc = group_barrier(ctx->group);

	if (rc < 0)
		return rc;
	now_ns = clock_now(ctx->clock);
	ahead_ns = now_ns + BEGIN_NS;
	if (ctx->node && group_allreduce(ctx->node, MERGE_MAX, &ahead_ns, 1) == 0)
		now_ns = ahead_ns;
	if (ctx->measure_from)
		ctx->measure_from(ctx->measure_from_argument);
	r->work.start_ns = now_ns;
	r->work.origin_ns = now_ns + o->warmup_ns;
	r->work.until_ns = o->seconds_ns ? r->work.origin_ns + o->seconds_ns : 0;
	crew_start(&r->crew, now_ns);
	timeline_init(ctx->tally->timeline, now_ns);
	for (uint32_t i = 0; i < o->threads; i++) {
		io_pace_init(&r->work.threads[i].pace, o, ctx->job->seed,
			     ctx->group->rank * o->threads + i, ctx->group->size * o->threads,
			     now_ns);
	}
	return 0;
}

/* One version of the object of all, in parts of a block. It is part of the work, as opening files is. */
static int begin_shared(struct run *r, struct err *err)
{
	int rc;

	if (!r->work.shared)
		return 0;
	clock_sleep_until(r->ctx->clock, r->work.start_ns);
	io_set_key(&r->set, 0, 0, r->shared.object.key);
	rc = shared_object_begin(&r->shared, r->set.size * r->set.ranks, r->options->block,
				 &r->crew.members[0], r->ctx->group, err);
	for (uint32_t i = 0; rc == 0 && i < r->crew.threads; i++)
		io_data_share(&r->work.threads[i], &r->shared.object);
	return rc;
}

/* It stands where all threads of all ranks have written their parts, or not at all. The phase is done when
 * it does. */
static int end_shared(struct run *r, uint64_t *done, bool *all, struct err *err)
{
	struct io_thread *t = &r->work.threads[0];
	uint64_t now_ns;
	int rc;

	if (!r->work.shared)
		return 0;
	rc = shared_object_end(&r->shared, all, &r->crew.members[0], r->ctx->group, err);
	r->dropped = !*all;
	if (!*all)
		*done = 0;
	now_ns = r->crew.members[0].queue.now_ns;
	if (*all && now_ns > r->work.origin_ns + t->end_ns)
		t->end_ns = now_ns - r->work.origin_ns;
	return rc;
}

/* The time may be over: a normal end, or from there all go on to what the first of them has done. */
static int go_on(struct run *r, enum stop_reason *stopped, struct err *err)
{
	uint64_t words[2] = {0, 0}; /* most issued; whether any was stopped by its time */
	int rc;

	for (uint32_t i = 0; i < r->crew.threads; i++) {
		const struct io_thread *t = &r->work.threads[i];

		words[0] = t->issued > words[0] ? t->issued : words[0];
		words[1] = words[1] || t->timed_out;
	}
	rc = group_allreduce(r->ctx->group, MERGE_MAX, words, 2);
	if (rc < 0 || !words[1])
		return rc;
	if (!r->options->stonewall) {
		*stopped = STOP_LIMIT;
		return 0;
	}
	r->work.until_ns = 0;
	for (uint32_t i = 0; i < r->crew.threads; i++) {
		struct io_thread *t = &r->work.threads[i];

		t->timed_out = false;
		t->limit = words[0] < t->limit ? words[0] : t->limit;
	}
	return crew_run(&r->crew, io_thread_run, stopped, err);
}

/* What the least of the threads has done for sure, and whether it was all. */
static void least_done(const struct run *r, uint64_t *done, bool *all)
{
	*done = UINT64_MAX;
	*all = true;
	for (uint32_t i = 0; i < r->crew.threads; i++) {
		const struct io_thread *t = &r->work.threads[i];
		uint64_t sure = t->issued < t->first_failed ? t->issued : t->first_failed;

		*done = sure < *done ? sure : *done;
		*all = *all && sure >= t->share.items;
	}
}

static uint64_t first_mark(const struct run *r)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < r->crew.threads; i++) {
		const struct io_thread *t = &r->work.threads[i];

		if (t->issued && t->mark_ns < first)
			first = t->mark_ns;
	}
	return first;
}

static void say(struct run *r)
{
	const uint64_t *row = r->ctx->tally->rank_row;

	if (!r->set.complete && r->options->operation == IO_DO_READ)
		workload_say(
			r->ctx,
			"the objects were not written to their end; what all threads had written was read");
	if (r->dropped)
		workload_say(
			r->ctx,
			"the object was not written to its end, and was dropped: the store has it whole or not");
	if (r->options->discard)
		workload_say(r->ctx, "bytes read were dropped where they arrived: nobody saw them");
	if (r->options->warmup_ns && !row[IO_DONE])
		workload_say(r->ctx, "ended within its warm-up: nothing was counted");
	if (io_reads(r->options))
		cold_say(r->ctx, &r->options->cold, &r->store, row[IO_RESIDENT_SAMPLED_BYTES],
			 row[IO_RESIDENT_BYTES], row[TALLY_BYTES_READ]);
}

/* After the work, however it ended: counts, and what stands now. Collective. */
static int settle(struct run *r, bool failed, struct err *err)
{
	struct phase_context *ctx = r->ctx;
	uint64_t words[3], done;
	bool all;
	int rc = 0, ended, shared;

	/* Threads that were to go on and did not have left objects open. */
	for (uint32_t i = 0; i < r->crew.threads; i++) {
		struct io_thread *t = &r->work.threads[i];

		t->timed_out = false;
		if (t->handles && io_data_end(t) < 0)
			failed = true;
	}
	least_done(r, &done, &all);
	all = all && !failed;
	shared = end_shared(r, &done, &all, err);
	ctx->tally->rank_row[TALLY_WALL_NS] = since_start(r);
	words[0] = first_mark(r);
	words[1] = done;
	words[2] = all;
	rc = group_allreduce(ctx->group, MERGE_MIN, words, 3);
	if (rc < 0)
		return rc;
	io_measure(&r->crew, &r->work, words[0] == UINT64_MAX ? 0 : words[0], ctx->tally);
	ended = io_set_end(&r->set, r->options, words[1], words[2], &r->side, ctx->group,
			   shared < 0 ? NULL : err);
	say(r);
	return shared < 0 ? shared : ended;
}

const struct workload io_workload = {
	.section =
		{
			.name = "io",
			.help = "plain reads, writes and operations on names, as IOR, mdtest, elbencho and fio do them",
			.tables = {io_options_table, NULL},
			.targets = io_targets,
			.size = sizeof(struct io_options),
			.owner = &io_workload,
		},
	.schema = &io_schema,
	.stores = io_stores,
	.check = io_check,
	.size = io_size,
	.run = io_run,
};
