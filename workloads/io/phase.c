/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/io/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/fill.h"
#include "core/numbers.h"
#include "workloads/common/writer.h"
#include "workloads/io/work.h"

static const uint64_t pattern_stream = 0x7061747465726e; /* "pattern" */

struct io_phase {
	struct phase_context *ctx;
	const struct io_options *options;
	struct store store;
	struct queue side; /* for what is not the phase's own work: descriptions, folders */
	struct crew crew;
	struct snapshot snapshot;
	struct io_set set;
	struct io_work work;
	struct cold cold;
	struct shared_object shared;
	bool dropped;  /* it was not written to its end */
	uint64_t rank; /* whose objects this one works on */
};

/* Threads that could not be made have not waited for the start. */
static uint64_t io_phase_wall_ns(const struct io_phase *p)
{
	uint64_t now_ns = clock_now(p->ctx->clock);

	return now_ns > p->work.start_ns ? now_ns - p->work.start_ns : 0;
}

/* A phase that failed before its end has not counted its time. */
static void io_phase_measure(void *run)
{
	struct io_phase *p = run;
	uint64_t *row = p->ctx->tally->rank_row;

	if (!row[TALLY_WALL_NS])
		row[TALLY_WALL_NS] = io_phase_wall_ns(p);
}

/* Blocks that are written in place cannot be padded to whole blocks of the device: what follows
 * them would be lost. */
static int io_phase_check_direct(const struct io_phase *p, struct err *err)
{
	uint64_t align = p->store.alignment, size = io_size_of(p->options);

	if (!io_writes(p->options) || align <= 1)
		return 0;
	/* The end of an object that is written whole can be. */
	if (p->options->block % align == 0 && (size % align == 0 || p->work.whole))
		return 0;
	if (p->options->block % align == 0)
		return err_set(
			err, -EINVAL,
			"%s/size: direct writes go by whole blocks of %llu bytes; %llu is not a "
			"multiple",
			p->ctx->phase->path, (unsigned long long)align, (unsigned long long)size);
	return err_set(
		err, -EINVAL,
		"%s/block: direct writes go by whole blocks of %llu bytes; %llu is not a multiple",
		p->ctx->phase->path, (unsigned long long)align,
		(unsigned long long)p->options->block);
}

static int io_phase_open(void *run, struct phase_context *ctx, struct err *err)
{
	struct io_phase *p = run;
	const struct io_options *o = ctx->phase->options;
	const struct job_store *described;
	int rc = phase_store_find(ctx->job, ctx->phase, &described, err);

	p->ctx = ctx;
	p->options = o;
	p->work.start_ns = clock_now(ctx->clock);
	if (rc == 0)
		rc = io_only_reads(o) ? workload_store_open_to_read(ctx, described, &p->store, err)
				      : workload_store_open(ctx, described, &p->store, err);
	if (rc == 0 && p->store.ops) {
		p->work.whole = io_whole(o, p->store.ops->capabilities);
		rc = io_phase_check_direct(p, err);
	}
	rc = group_agree(ctx->group, rc, err);
	if (rc < 0)
		return rc;
	io_set_of(&p->set, o, ctx->job->seed, ctx->group->size);
	p->work.content = store_can(&p->store, BACKEND_CONTENT);
	p->crew = crew_of(ctx, &p->store, io_meter(o), o->threads, o->depth, "io");
	p->crew.once = true;
	/* A rename goes there and back. */
	if (!o->limits.seconds_ns || o->passes || o->limits.count || o->limits.bytes)
		p->crew.files = (uint64_t)(io_operations(o, p->work.whole, ctx->group->size) *
						   ctx->group->size +
					   0.5) *
				(o->operation == IO_DO_RENAME ? 2 : 1);
	if (o->limits.seconds_ns)
		p->crew.limit_ns = o->limits.warmup_ns + o->limits.seconds_ns;
	if (p->work.content && io_moves(o))
		p->crew.buffer_bytes = o->depth * io_buffer_bytes(o, &p->store);
	p->crew.items = "operations";
	p->crew.stall_limit_ns = ctx->job->stall_limit_ns;
	p->crew.waits = slots_waits;
	p->crew.count = io_count_thread;
	p->crew.snapshot = &p->snapshot;
	p->crew.argument = &p->work;
	rc = queue_open(&p->side, &p->store, 1, err);
	if (rc == 0)
		queue_unlogged(&p->side);
	if (rc == 0)
		rc = snapshot_open(&p->snapshot, ctx,
				   (struct snapshot_hooks){.complete = io_measure_so_far}, &p->work,
				   err);
	if (rc == 0)
		rc = crew_open(&p->crew, err);
	return group_agree(ctx->group, rc, err);
}

static void io_phase_close(void *run)
{
	struct io_phase *p = run;

	for (uint32_t i = 0; p->work.threads && i < p->crew.threads; i++)
		io_thread_close(&p->work.threads[i]);
	free(p->work.threads);
	cold_close(&p->cold);
	crew_close(&p->crew);
	snapshot_close(&p->snapshot);
	queue_close(&p->side);
	store_close(&p->store);
}

static void io_phase_prepare(struct io_phase *p)
{
	const struct io_options *o = p->options;
	const struct io_set *set = &p->set;
	bool shared = set->layout != IO_OBJECTS;
	uint64_t hash = pattern_stream; /* of the folder */

	for (const char *c = set->folder; *c; c++)
		hash = mix64(hash ^ (unsigned char)*c);
	p->work.options = o;
	p->work.set = set;
	p->work.store = &p->store;
	p->work.strict = set->complete && store_can(&p->store, BACKEND_CONTENT) &&
			 store_can(&p->store, BACKEND_MISSING_IS_ERROR);
	p->work.in_place = store_can(&p->store, BACKEND_UPDATE);
	p->work.shared = shared && o->operation == IO_DO_WRITE && !p->work.in_place;
	p->work.objects = shared ? 0 : set->objects;
	p->work.first_ns = UINT64_MAX;
	pattern_init(&p->work.pattern, fill_key(set->seed, hash),
		     shared ? set->size * set->ranks : io_sizes_largest(&set->drawn), set->compress,
		     set->dedup, set->dedup_distance);
}

static int io_phase_threads(struct io_phase *p, struct err *err)
{
	const struct io_options *o = p->options;
	int rc = 0;

	io_phase_prepare(p);
	p->work.threads = calloc(o->threads, sizeof(*p->work.threads));
	if (!p->work.threads)
		rc = err_set(err, -ENOMEM, "no memory for %u threads", p->crew.threads);
	for (uint32_t i = 0; rc == 0 && i < o->threads; i++) {
		struct io_thread *t = &p->work.threads[i];

		rc = io_thread_open(t, &p->work, &p->crew.members[i], err);
		io_share_init(&t->share, &p->set, o, p->work.whole, p->rank, i);
		t->limit = t->share.items ? io_limit(o, t->share.items, p->work.whole) : 0;
		if (rc == 0 && p->work.whole && o->operation == IO_DO_MIXED &&
		    io_mix_open(&t->mix, o, t->share.items, t->key) < 0)
			rc = err_set(err, -ENOMEM, "no memory for a mix of operations");
	}
	return group_agree(p->ctx->group, rc, err);
}

/* All ranks start from here. */
static int io_phase_begin(struct io_phase *p)
{
	const struct io_options *o = p->options;
	struct phase_context *ctx = p->ctx;
	uint64_t now_ns;
	int rc = start_line(ctx, true, &now_ns);

	if (rc < 0)
		return rc;
	p->work.start_ns = now_ns;
	p->work.warmup.from = cpu_time_process();
	p->work.warmup.end_ns = now_ns + o->limits.warmup_ns;
	p->work.until_ns = o->limits.seconds_ns ? p->work.warmup.end_ns + o->limits.seconds_ns : 0;
	crew_start(&p->crew, now_ns);
	snapshot_start(&p->snapshot, p->work.warmup.end_ns);
	timeline_init(ctx->tally->timeline, now_ns);
	for (uint32_t i = 0; i < o->threads; i++) {
		pace_init(&p->work.threads[i].pace, &o->pace, io_operation_bytes(o, p->work.whole),
			  ctx->job->seed, ctx->group->rank * o->threads + i,
			  ctx->group->size * o->threads, now_ns);
	}
	return 0;
}

/* Starts the one version of the shared object; its part size is the block. It is part of the work,
 * as opening files is. */
static int io_phase_begin_shared(struct io_phase *p, struct err *err)
{
	int rc;

	if (!p->work.shared)
		return 0;
	clock_sleep_until(p->ctx->clock, p->work.start_ns);
	io_set_key(&p->set, 0, 0, p->shared.object.key);
	rc = shared_object_begin(&p->shared, p->set.size * p->set.ranks, p->options->block,
				 &p->crew.members[0], p->ctx->group, err);
	for (uint32_t i = 0; rc == 0 && i < p->crew.threads; i++)
		io_data_share(&p->work.threads[i], &p->shared.object);
	return rc;
}

/* The object of all exists once all threads of all ranks have written their parts, or not at all.
 * The phase is done when it exists. */
static int io_phase_end_shared(struct io_phase *p, uint64_t *done, bool *all, struct err *err)
{
	struct io_thread *t = &p->work.threads[0];
	uint64_t now_ns;
	int rc;

	if (!p->work.shared)
		return 0;
	rc = shared_object_end(&p->shared, all, &p->crew.members[0], p->ctx->group, err);
	p->dropped = !*all;
	if (!*all)
		*done = 0;
	now_ns = p->crew.members[0].queue.now_ns;
	if (*all && now_ns > p->work.warmup.end_ns + t->end_ns)
		t->end_ns = now_ns - p->work.warmup.end_ns;
	return rc;
}

/* The time may be over: that is a normal end, or all threads go on until they have done as much as
 * the first. */
static int io_phase_go_on(struct io_phase *p, enum stop_reason *stopped, struct err *err)
{
	uint64_t words[2] = {0, 0}; /* most issued; whether any was stopped by its time */
	int rc;

	for (uint32_t i = 0; i < p->crew.threads; i++) {
		const struct io_thread *t = &p->work.threads[i];

		words[0] = t->issued > words[0] ? t->issued : words[0];
		words[1] = words[1] || t->slots.timed_out;
	}
	rc = group_allreduce(p->ctx->group, MERGE_MAX, words, 2);
	if (rc < 0 || !words[1])
		return rc;
	if (!p->options->stonewall) {
		*stopped = STOP_LIMIT;
		return 0;
	}
	p->work.until_ns = 0;
	for (uint32_t i = 0; i < p->crew.threads; i++) {
		struct io_thread *t = &p->work.threads[i];

		t->limit = words[0] < t->limit ? words[0] : t->limit;
	}
	return crew_run(&p->crew, io_thread_run, stopped, err);
}

/* What ranks agree on after the work, by the least of each. */
struct io_outcome {
	uint64_t
		first_ns; /* when the first thread had done its part; UINT64_MAX: none had anything to do */
	uint64_t done;   /* what the slowest of the threads has done for sure */
	uint64_t all;    /* whether that was everything; after a mix, whether all objects exist */
	uint64_t cold;   /* the warm-up was over for none of them */
	uint64_t listed; /* all parts were listed as often as asked, and everything was counted */
};

static struct io_outcome io_phase_outcome(const struct io_phase *p)
{
	const struct io_options *o = p->options;
	struct io_outcome out = {UINT64_MAX, UINT64_MAX, true, true, true};

	out.listed = o->operation == IO_DO_LIST && o->parts > 1 && o->passes && p->work.strict &&
		     o->limits.warmup_ns == 0;
	for (uint32_t i = 0; i < p->crew.threads; i++) {
		const struct io_thread *t = &p->work.threads[i];
		uint64_t sure = min_u64(t->issued, t->first_failed);

		if (t->issued)
			out.first_ns = min_u64(out.first_ns, t->mark_ns);
		out.done = min_u64(out.done, sure);
		out.all &= t->mix.users ? io_mix_stands(&t->mix) : sure >= t->share.items;
		out.cold &= !t->slots.warm;
		out.listed &=
			t->first_failed == UINT64_MAX && t->issued == t->share.items * o->passes;
	}
	return out;
}

/* cold: the warm-up was over for no thread of any rank. */
static void io_phase_say(struct io_phase *p, bool cold)
{
	const uint64_t *row = p->ctx->tally->rank_row;

	if (!p->set.complete && p->options->operation == IO_DO_READ)
		workload_say(
			p->ctx,
			"the objects were not written to their end; what all threads had written was read");
	if (p->dropped)
		workload_say(
			p->ctx,
			"the object was not written to its end, and was dropped: the store has it whole or not");
	if (p->options->discard)
		workload_say(p->ctx, "bytes read were dropped where they arrived: nobody saw them");
	if (cold)
		workload_say(p->ctx, "ended within its warm-up: nothing was counted");
	if (io_reads(p->options))
		cold_say(p->ctx, &p->options->cold, &p->store, row[IO_RESIDENT_SAMPLED_BYTES],
			 row[IO_RESIDENT_BYTES], row[TALLY_BYTES_READ]);
}

/* All parts together have each object once. Collective. */
static int io_phase_check_parts(struct io_phase *p, struct err *err)
{
	uint64_t wanted = p->set.objects * p->set.ranks * p->options->passes, entries = 0;
	int rc;

	for (uint32_t i = 0; i < p->crew.threads; i++)
		entries += p->work.threads[i].entries;
	rc = group_allreduce(p->ctx->group, MERGE_SUM, &entries, 1);
	if (rc < 0 || entries == wanted)
		return rc;
	return err_set(err, -EIO,
		       "%s: the parts of the listing together have %" PRIu64
		       " objects, not %" PRIu64,
		       p->ctx->phase->path, entries, wanted);
}

/* After the work, however it ended: adds up the counts and records which objects exist now.
 * Collective. */
static int io_phase_end(struct io_phase *p, bool failed, struct err *err)
{
	struct phase_context *ctx = p->ctx;
	struct io_outcome out;
	int rc, ended, shared;
	bool all;

	/* Threads that were to go on and did not have left objects open. */
	for (uint32_t i = 0; i < p->crew.threads; i++) {
		struct io_thread *t = &p->work.threads[i];

		t->slots.timed_out = false;
		if (t->operations->end && t->operations->end(t) < 0)
			failed = true;
		if (!t->slots.warm)
			io_thread_drop(t);
	}
	ctx->uncounted = p->work.warmup.used;
	out = io_phase_outcome(p);
	all = out.all && (!failed || p->work.threads[0].mix.users);
	shared = io_phase_end_shared(p, &out.done, &all, err);
	out.all = all;
	ctx->tally->rank_row[TALLY_WALL_NS] = io_phase_wall_ns(p);
	rc = group_allreduce(ctx->group, MERGE_MIN, (uint64_t *)&out,
			     sizeof(out) / sizeof(uint64_t));
	if (rc < 0)
		return rc;
	if (out.listed)
		shared = io_phase_check_parts(p, err);
	io_measure(&p->crew, &p->work, out.first_ns == UINT64_MAX ? 0 : out.first_ns, ctx->tally);
	ended = io_set_end(&p->set, p->options, out.done, out.all, &p->side, ctx->group,
			   shared < 0 ? NULL : err);
	io_phase_say(p, out.cold);
	return shared < 0 ? shared : ended;
}

static int io_phase_work(void *run, enum stop_reason *stopped, struct err *err)
{
	struct io_phase *p = run;
	const struct io_options *o = p->options;
	struct phase_context *ctx = p->ctx;
	bool reads = o->operation == IO_DO_READ || o->operation == IO_DO_STAT ||
		     o->operation == IO_DO_LIST;
	int rc = io_set_begin(&p->set, o, &p->side, ctx->group, err), ended;

	if (rc == 0)
		rc = shift_rank(reads ? (enum shift)o->shift : SHIFT_NONE, ctx->place, ctx->group,
				&p->rank);
	if (rc == 0)
		rc = io_phase_threads(p, err);
	/* In none of the phase's times: memory taken, caches dropped. */
	if (rc == 0)
		rc = cold_open(&p->cold, &o->cold, ctx, err);
	if (rc == 0)
		rc = io_cold_drop(&p->cold, &p->set, &p->store, p->rank, ctx->tally->rank_row, err);
	if (rc == 0)
		rc = io_phase_begin(p);
	if (rc == 0)
		rc = io_phase_begin_shared(p, err);
	if (rc < 0)
		return rc;
	rc = crew_run(&p->crew, io_thread_run, stopped, err);
	if (rc == 0 && *stopped == STOP_NONE && o->limits.seconds_ns)
		rc = io_phase_go_on(p, stopped, err);
	ended = io_phase_end(p, rc < 0 || *stopped > STOP_LIMIT, rc < 0 ? NULL : err);
	return rc < 0 ? rc : ended;
}

static int io_phase_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			  struct err *err)
{
	int rc = io_check(job, phase, ranks, err);

	return rc < 0 ? rc : io_set_check_job(job, phase, ranks, err);
}

/* With arrivals, what a user waits for counts from when it was due. */
static uint32_t io_main_hist(const struct job_phase *phase)
{
	const struct io_options *o = phase->options;

	/* An object is created when it is there, by one request or by several. */
	if (o->operation == IO_DO_CREATE)
		return IO_HIST_OPERATION;
	return o->pace.arrivals == ARRIVALS_PACED ? IO_HIST_READ : IO_HIST_READ_RESPONSE;
}

static uint64_t io_hists_filled(const struct job_phase *phase, uint32_t *named)
{
	const uint64_t reads = HIST_BIT(IO_HIST_READ) | HIST_BIT(IO_HIST_READ_RESPONSE),
		       writes = HIST_BIT(IO_HIST_WRITE) | HIST_BIT(IO_HIST_WRITE_RESPONSE),
		       made = HIST_BIT(IO_HIST_CREATE) | HIST_BIT(IO_HIST_CLOSE);
	const uint64_t of[] = {
		[IO_DO_READ] = reads | HIST_BIT(IO_HIST_OPEN) | HIST_BIT(IO_HIST_CLOSE),
		[IO_DO_WRITE] = writes | made,
		[IO_DO_MIXED] = reads | writes | made,
		[IO_DO_STAT] = HIST_BIT(IO_HIST_STAT) | HIST_BIT(IO_HIST_STAT_RESPONSE),
		[IO_DO_CREATE] = made,
		[IO_DO_RENAME] = HIST_BIT(IO_HIST_RENAME) | HIST_BIT(IO_HIST_RENAME_RESPONSE),
		[IO_DO_LIST] = HIST_BIT(IO_HIST_LIST) | HIST_BIT(IO_HIST_LIST_RESPONSE),
		[IO_DO_DELETE] = HIST_BIT(IO_HIST_DELETE) | HIST_BIT(IO_HIST_DELETE_RESPONSE),
	};
	const struct io_options *o = phase->options;

	(void)named;
	return of[o->operation] | HIST_BIT(IO_HIST_OPERATION);
}

static bool io_leaves(const struct job_phase *phase)
{
	const struct io_options *o = phase->options;

	return o->operation == IO_DO_READ || o->operation == IO_DO_STAT ||
	       o->operation == IO_DO_LIST;
}

const struct workload io_workload = {
	.section = SECTION_DECIDED(
		io,
		"plain reads, writes and operations on names, as IOR, mdtest, elbencho and fio do them",
		io_targets, io_complete, io_options_table),
	.schema = &io_schema,
	.main_hist = io_main_hist,
	.hists = io_hists_filled,
	.leaves = io_leaves,
	.snapshots = true,
	.stores = io_stores,
	.check = io_phase_check,
	.size = io_size,
	.run_bytes = sizeof(struct io_phase),
	.open = io_phase_open,
	.work = io_phase_work,
	.measure = io_phase_measure,
	.close = io_phase_close,
	.clean = io_clean,
};
