/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"
#include "workloads/common/description.h"
#include "workloads/vector/existing.h"
#include "workloads/vector/work.h"

struct vector_phase {
	struct phase_context *ctx;
	struct vector_options own; /* of the phase, with what the header of a file says */
	const struct vector_options *options;
	struct existing existing;
	struct store store;
	struct queue side; /* for what is not the phase's own work: the description */
	struct crew crew;
	struct place place;
	struct vector_set set;
	struct vector_work work;
	struct vector_build build;
	struct vector_load load;
	struct vector_merges merges;
	struct cold cold;
	struct snapshot snapshot;
};

/* What a thread of the phase has counted beside its meter. */
static void vector_count_thread(const struct crew_thread *w, struct tally *t)
{
	const struct vector_phase *p =
		(const void *)((const char *)w->crew - offsetof(struct vector_phase, crew));
	uint32_t i = (uint32_t)(w - p->crew.members);

	if (p->work.threads)
		vector_thread_count(&p->work.threads[i], t);
	vector_load_count(&p->load, i, t->rank_row);
	if (!p->build.writers)
		return;
	t->rank_row[VECTOR_BUILT_BYTES] += vector_build_bytes(w);
	t->rank_row[VECTOR_FILL_NS] += p->build.writers[i].fill_ns;
}

/* Of a phase that goes on, once its threads have added theirs. */
static void vector_measure_so_far(void *phase, struct tally *t)
{
	const struct vector_phase *p = phase;
	uint64_t *row = t->rank_row, now_ns = clock_now(p->ctx->clock);
	uint64_t begun_ns = p->load.loaders ? p->load.start_ns : p->work.warmup.end_ns;

	row[TALLY_WALL_NS] = excess_u64(now_ns, p->work.start_ns);
	row[VECTOR_DONE_NS] = max_u64(row[VECTOR_DONE_NS], excess_u64(now_ns, begun_ns));
}

static bool changes(const struct vector_phase *p)
{
	return p->options->operation == VECTOR_SEARCH && vector_changes(p->options);
}

static void vector_phase_load_crew(struct vector_phase *p, const struct job_store *described)
{
	const struct vector_options *o = p->options;
	uint64_t depth = vector_load_depth(o, described);
	struct crew *c = &p->crew;

	*c = crew_of(p->ctx, &p->store, &vector_meter, o->threads, depth, "load of an index");
	c->once = true;
	c->argument = &p->load;
	if (store_can(&p->store, BACKEND_CONTENT))
		c->buffer_bytes = depth * queue_buffer_bytes(&p->store, o->slice);
	p->load =
		(struct vector_load){.ctx = p->ctx, .options = o, .set = &p->set, .crew = &p->crew};
}

static void vector_phase_build_crew(struct vector_phase *p, const struct job_store *described)
{
	const struct vector_options *o = p->options;
	struct vector_index x;
	struct crew *c = &p->crew;
	uint64_t part;

	vector_index_of(&x, &o->shape, p->ctx->job->seed, 0);
	part = store_part(&p->store, x.size);
	p->build = (struct vector_build){.set = &p->set, .store = &p->store};
	p->build.piece = vector_build_piece(p->store.ops, part);
	*c = crew_of(p->ctx, &p->store, &vector_meter, o->threads, backend_in_flight(described),
		     "build of an index");
	c->stall_limit_ns = p->ctx->job->stall_limit_ns;
	c->files = o->shape.segments;
	c->items = "segments";
	c->name = vector_build_name;
	c->argument = &p->build;
	c->buffer_bytes = vector_build_buffers(p->store.ops, part);
}

static void vector_phase_search_crew(struct vector_phase *p, const struct job_store *described)
{
	const struct vector_options *o = p->options;
	uint64_t flight = vector_in_flight(o, o->side);
	struct vector_index x;
	struct crew *c = &p->crew;

	(void)described;
	vector_index_of(&x, &o->shape, p->ctx->job->seed, 0);
	*c = crew_of(p->ctx, &p->store, &vector_meter, o->threads, flight, "vector search");
	c->stall_limit_ns = p->ctx->job->stall_limit_ns;
	c->once = true;
	c->files = vector_limit(o) * o->threads * p->ctx->group->size;
	c->limit_ns = o->limits.seconds_ns ? o->limits.warmup_ns + o->limits.seconds_ns : 0;
	c->items = "queries";
	c->waits = slots_waits;
	c->argument = &p->work;
	if (store_can(&p->store, BACKEND_CONTENT))
		c->buffer_bytes = flight * queue_buffer_bytes(&p->store, vector_index_unit(&x));
}

static void vector_phase_close(void *run)
{
	struct vector_phase *p = run;
	struct vector_work *w = &p->work;

	for (uint32_t i = 0; w->threads && i < p->crew.threads; i++)
		vector_thread_close(&w->threads[i]);
	vector_merges_close(&p->merges);
	for (uint64_t i = 0; w->live && i < w->own; i++)
		hot_free(&w->live[i].hot[w->live[i].turn & 1]);
	free(w->threads);
	free(w->live);
	vector_set_free(&p->set);
	free(w->targets);
	if (p->build.writers)
		vector_build_close(&p->build, &p->crew);
	existing_close(&p->existing);
	vector_load_close(&p->load);
	cold_close(&p->cold);
	crew_close(&p->crew);
	snapshot_close(&p->snapshot);
	queue_close(&p->side);
	place_give(&p->place);
	store_close(&p->store);
}

static int vector_phase_build(struct vector_phase *p, enum stop_reason *stopped, struct err *err)
{
	struct phase_context *ctx = p->ctx;
	int rc = place_wait(&p->place, &p->store, p->options->folder, ctx, stopped, err);

	if (rc < 0 || *stopped != STOP_NONE)
		return rc;
	rc = vector_set_begin(&p->set, true, &p->side, ctx->group, err);
	if (rc < 0)
		return rc;
	rc = group_agree(ctx->group, vector_build_open(&p->build, &p->crew, err), err);
	if (rc < 0)
		return rc;
	p->work.start_ns = p->work.warmup.end_ns = workload_begin(ctx);
	crew_start(&p->crew, p->work.start_ns);
	snapshot_start(&p->snapshot, p->work.start_ns);
	rc = crew_run(&p->crew, vector_build_one, stopped, err);
	ctx->tally->rank_row[VECTOR_DONE_NS] = clock_now(ctx->clock) - p->work.start_ns;
	return rc < 0 || *stopped != STOP_NONE ? rc
					       : vector_set_end(&p->set, &p->side, ctx->group, err);
}

/* The nodes of a segment that are kept in memory. */
static int vector_phase_hot(struct vector_phase *p, const struct vector_index *x, struct hot *hot,
			    struct err *err)
{
	const struct vector_options *o = p->options;
	int rc;

	if (o->file[0])
		return existing_hot(&p->existing, o, x, &p->side, vector_cached(o), hot, err);
	rc = vector_hot(hot, o, &x->graph);
	return rc < 0 ? err_set(err, rc, "no memory for a cache of %llu nodes",
				(unsigned long long)vector_cached(o))
		      : 0;
}

/* What all threads share. Each segment has a graph of its own, and so nodes of its own in memory. */
static int vector_phase_prepare(struct vector_phase *p, struct err *err)
{
	const struct vector_options *o = p->options;
	struct vector_work *w = &p->work;
	struct vector_index first;
	int rc = 0;

	w->own = vector_own(o, p->ctx->group->rank, p->ctx->group->size, &w->from);
	w->side = min_u64(o->side, w->own);
	w->vectors = vector_segment_vectors(&p->set.shape);
	w->live = aligned_alloc(_Alignof(struct vector_live), w->own * sizeof(*w->live));
	w->targets = calloc(o->query_vectors, sizeof(*w->targets));
	w->threads = calloc(o->threads, sizeof(*w->threads));
	if (!w->live || !w->targets || !w->threads)
		return err_set(err, -ENOMEM, "no memory for %llu query vectors",
			       (unsigned long long)o->query_vectors);
	memset(w->live, 0, w->own * sizeof(*w->live));
	for (uint64_t i = 0; i < w->own && rc == 0; i++) {
		struct vector_live *l = &w->live[i];

		vector_set_index(&p->set, w->from + i, &l->index[0]);
		if (p->own.file[0])
			existing_index(&p->existing, &l->index[0]);
		rc = vector_phase_hot(p, &l->index[0], &l->hot[0], err);
	}
	if (rc < 0)
		return rc;
	vector_index_of(&first, &p->set.shape, p->set.seed, 0);
	for (uint64_t q = 0; q < o->query_vectors; q++)
		w->targets[q] = graph_target(&first.graph, q, o->skew);
	return 0;
}

static int vector_phase_threads(struct vector_phase *p, struct err *err)
{
	const struct vector_options *o = p->options;
	struct vector_work *w = &p->work;
	int rc;

	w->options = o;
	w->set = &p->set;
	w->codes = p->own.file[0] ? &p->existing.codes : NULL;
	w->store = &p->store;
	w->content = store_can(&p->store, BACKEND_CONTENT);
	w->beam = o->beam;
	w->probes = vector_probes(o);
	/* Where segments are spread, thread i of each rank has the same queries. */
	w->first = o->spread == VECTOR_SPREAD_SEGMENTS ? 0 : p->ctx->group->rank * o->threads;
	w->of = o->threads *
		(o->spread == VECTOR_SPREAD_SEGMENTS ? 1 : (uint64_t)p->ctx->group->size);
	rc = vector_phase_prepare(p, err);
	for (uint32_t i = 0; i < o->threads && rc == 0; i++)
		rc = vector_thread_open(&w->threads[i], w, &p->crew.members[i], w->first + i, err);
	return group_agree(p->ctx->group, rc, err);
}

static void vector_cold_key(const void *set, uint64_t number, uint32_t part,
			    char key[OBJECT_KEY_BYTES])
{
	(void)part;
	vector_set_key(set, number, key);
}

static int vector_phase_cold(struct vector_phase *p, struct err *err)
{
	const struct cold_objects objects = {.store = &p->store,
					     .count = p->set.shape.segments,
					     .parts = 1,
					     .key = vector_cold_key,
					     .argument = &p->set};
	struct cold *c = &p->cold;
	uint64_t *row = p->ctx->tally->rank_row, began_ns = clock_now(p->ctx->clock);
	int rc = cold_open(c, &p->options->cold, p->ctx, err);

	if (rc < 0 || c->options->drop == DROP_NONE)
		return rc;
	cold_warn(c, &p->store);
	rc = c->options->drop == DROP_CACHES ? cold_drop_caches(c, err)
					     : cold_drop_all(c, &objects, err);
	row[VECTOR_DROP_NS] = clock_now(p->ctx->clock) - began_ns;
	row[VECTOR_STAYED_BYTES] = c->stayed_bytes;
	return rc;
}

static int vector_phase_begin(struct vector_phase *p)
{
	const struct vector_options *o = p->options;
	struct vector_work *w = &p->work;
	uint64_t now_ns;
	int rc = start_line(p->ctx, true, &now_ns);

	if (rc < 0)
		return rc;
	w->start_ns = now_ns;
	w->warmup.end_ns = now_ns + o->limits.warmup_ns;
	w->until_ns = o->limits.seconds_ns ? w->warmup.end_ns + o->limits.seconds_ns : 0;
	w->warmup.from = cpu_time_process();
	crew_start(&p->crew, now_ns);
	snapshot_start(&p->snapshot, w->warmup.end_ns);
	timeline_init(p->ctx->tally->timeline, now_ns);
	for (uint32_t i = 0; i < o->threads; i++)
		pace_init(&w->threads[i].pace, &o->pace, 0, p->ctx->job->seed, w->first + i, w->of,
			  now_ns);
	return 0;
}

/* What is inserted and deleted beside searches. The folder is this run's alone. */
static int vector_phase_merges(struct vector_phase *p, struct err *err)
{
	struct vector_merges *m = &p->merges;
	const struct job_store *described;
	int rc = phase_store_find(p->ctx->job, p->ctx->phase, &described, err);

	*m = (struct vector_merges){.ctx = p->ctx, .options = p->options, .work = &p->work};
	p->work.meanwhile = &m->meanwhile;
	if (rc == 0)
		rc = vector_merges_open(m, described, err);
	if (rc == 0)
		snapshot_join(&p->snapshot, &m->crew.members[0].part, vector_merges_add, m);
	rc = group_agree(p->ctx->group, rc, err);
	return rc == 0 ? vector_set_changes(&p->set, &p->side, p->ctx->group, err) : rc;
}

/* Searches, and merges beside them, which end with the searches. */
static int vector_phase_run(struct vector_phase *p, enum stop_reason *stopped, struct err *err)
{
	struct err other = {.text = ""};
	int rc = 0, merged;

	if (changes(p))
		rc = vector_merges_start(&p->merges, p->work.start_ns, err);
	rc = group_agree(p->ctx->group, rc, err);
	if (rc == 0)
		rc = crew_run(&p->crew, vector_thread_run, stopped, err);
	merged = changes(p) ? vector_merges_end(&p->merges, &other) : 0;
	if (rc < 0 || !changes(p))
		return rc;
	if (merged < 0)
		*err = other;
	return group_agree(p->ctx->group, merged, err);
}

static int vector_phase_search(struct vector_phase *p, enum stop_reason *stopped, struct err *err)
{
	bool timed_out = false;
	int rc = 0;

	if (changes(p))
		rc = place_wait(&p->place, &p->store, p->options->folder, p->ctx, stopped, err);
	if (rc < 0 || *stopped != STOP_NONE)
		return rc;
	if (!p->own.file[0])
		rc = vector_set_begin(&p->set, false, &p->side, p->ctx->group, err);
	if (rc == 0)
		rc = vector_phase_threads(p, err);
	if (rc == 0 && changes(p))
		rc = vector_phase_merges(p, err);
	if (rc == 0)
		rc = vector_phase_cold(p, err);
	if (rc == 0)
		rc = vector_phase_begin(p);
	if (rc < 0)
		return rc;
	rc = vector_phase_run(p, stopped, err);
	for (uint32_t i = 0; i < p->crew.threads; i++) {
		struct vector_thread *t = &p->work.threads[i];

		timed_out = timed_out || t->slots.timed_out;
		if (!t->slots.warm)
			vector_thread_drop(t);
	}
	if (p->options->spread == VECTOR_SPREAD_SEGMENTS) {
		int joined = shards_join(&p->work, p->ctx->group);

		if (joined < 0 && rc == 0)
			rc = err_set(err, joined, "the parts of queries cannot be joined");
	}
	p->ctx->uncounted = p->work.warmup.used;
	if (rc == 0 && *stopped == STOP_NONE && timed_out)
		*stopped = STOP_LIMIT;
	return rc;
}

static int vector_phase_load(struct vector_phase *p, enum stop_reason *stopped, struct err *err)
{
	int rc = vector_set_begin(&p->set, false, &p->side, p->ctx->group, err);

	if (rc == 0)
		rc = vector_phase_cold(p, err);
	return rc < 0 ? rc : vector_load_run(&p->load, stopped, err);
}

static void vector_phase_measure(void *run)
{
	struct vector_phase *p = run;
	struct tally *t = p->ctx->tally;

	crew_merge(&p->crew, t);
	if (p->options->operation == VECTOR_BUILD)
		t->rank_row[VECTOR_BUILDER_BYTES] = vector_builder_bytes(&p->own.shape);
	vector_merges_add(&p->merges, t);
	t->rank_row[TALLY_WALL_NS] = excess_u64(clock_now(p->ctx->clock), p->work.start_ns);
}

/* "a query took 54.7 reads in 27.9 rounds, and found 7.3 % of its nodes in memory". */
static void vector_say_queries(struct phase_context *ctx)
{
	const uint64_t *row = ctx->tally->rank_row;
	uint64_t words[4] = {row[VECTOR_QUERIES], row[VECTOR_EXPANDED], row[VECTOR_CACHED],
			     row[VECTOR_ROUNDS]};
	double queries;
	char found[64] = "";

	if (group_allreduce(ctx->group, MERGE_SUM, words, COUNT(words)) < 0 || !words[0])
		return;
	queries = (double)words[0];
	if (words[2])
		snprintf(found, sizeof(found), ", and found %.1f %% of its nodes in memory",
			 100 * (double)words[2] / (double)words[1]);
	workload_say(ctx, "a query took %.1f reads in %.1f rounds%s",
		     (double)(words[1] - words[2]) / queries, (double)words[3] / queries, found);
}

/* Each query counts at the rank that was the last to answer it. */
static void vector_say_slowest(struct phase_context *ctx)
{
	uint64_t queries = ctx->tally->rank_row[VECTOR_QUERIES], all = queries;
	uint64_t most = queries << 20 | (ctx->group->size - 1 - ctx->group->rank);

	if (group_allreduce(ctx->group, MERGE_SUM, &all, 1) < 0 ||
	    group_allreduce(ctx->group, MERGE_MAX, &most, 1) < 0 || !all)
		return;
	workload_say(ctx, "rank %u was the slowest in %.1f %% of the queries",
		     ctx->group->size - 1 - (unsigned)(most & 0xfffff),
		     100 * (double)(most >> 20) / (double)all);
}

/* "6.4 GB loaded; the first search could begin after 3.2 s". */
static void vector_say_load(struct phase_context *ctx)
{
	const uint64_t *row = ctx->tally->rank_row;
	uint64_t bytes = row[VECTOR_LOADED_BYTES], ready_ns = row[VECTOR_READY_NS];
	char text[UNITS_TEXT_BYTES], time[UNITS_TEXT_BYTES];

	if (group_allreduce(ctx->group, MERGE_SUM, &bytes, 1) < 0 ||
	    group_allreduce(ctx->group, MERGE_MAX, &ready_ns, 1) < 0 || !ready_ns)
		return;
	units_bytes_decimal(text, (double)bytes);
	units_time(time, (double)ready_ns / 1e9);
	workload_say(ctx, "%s loaded; the first search could begin after %s", text, time);
}

/* "4 merges of 12.1 s, and 1 that was given up, for 40,000 inserts and 40,000 deletes". */
static void vector_say_merges(struct phase_context *ctx)
{
	const uint64_t *row = ctx->tally->rank_row;
	uint64_t words[] = {row[VECTOR_MERGES], row[VECTOR_MERGES_LEFT], row[VECTOR_MERGE_NS],
			    row[VECTOR_INSERTS], row[VECTOR_DELETES]};
	char merges[UNITS_COUNTED_BYTES], time[UNITS_TEXT_BYTES], left[64] = "";
	char inserts[UNITS_COUNTED_BYTES], deletes[UNITS_COUNTED_BYTES];

	if (group_allreduce(ctx->group, MERGE_SUM, words, COUNT(words)) < 0)
		return;
	if (words[1])
		snprintf(left, sizeof(left), ", and %llu given up", (unsigned long long)words[1]);
	units_time(time, words[0] ? (double)words[2] / 1e9 / (double)words[0] : 0);
	workload_say(ctx, "%s of %s%s, for %s and %s", units_counted(merges, words[0], "merge"),
		     time, left, units_counted(inserts, words[3], "insert"),
		     units_counted(deletes, words[4], "delete"));
}

static void vector_say_cold(struct vector_phase *p)
{
	const uint64_t *row = p->ctx->tally->rank_row;

	cold_say(p->ctx, &p->options->cold, &p->store, row[VECTOR_RESIDENT_SAMPLED_BYTES],
		 row[VECTOR_RESIDENT_BYTES], row[TALLY_BYTES_READ]);
}

static void vector_phase_say_load(struct vector_phase *p)
{
	vector_say_load(p->ctx);
	vector_say_cold(p);
}

static void vector_phase_say_search(struct vector_phase *p)
{
	vector_say_queries(p->ctx);
	if (changes(p))
		vector_say_merges(p->ctx);
	if (p->options->spread == VECTOR_SPREAD_SEGMENTS)
		vector_say_slowest(p->ctx);
	workload_say(p->ctx, "the I/O of searches was measured, not their recall");
	vector_say_cold(p);
}

static int vector_phase_load_open(struct vector_phase *p, struct err *err)
{
	return vector_load_open(&p->load, err);
}

/* What a phase does, by its operation. NULL: nothing. */
static const struct vector_mode {
	void (*crew)(struct vector_phase *p, const struct job_store *described);
	int (*open)(struct vector_phase *p, struct err *err); /* when the crew is open */
	int (*work)(struct vector_phase *p, enum stop_reason *stopped, struct err *err);
	void (*say)(struct vector_phase *p);
} vector_modes[] = {
	[VECTOR_BUILD] = {vector_phase_build_crew, NULL, vector_phase_build, NULL},
	[VECTOR_SEARCH] = {vector_phase_search_crew, NULL, vector_phase_search,
			   vector_phase_say_search},
	[VECTOR_LOAD] = {vector_phase_load_crew, vector_phase_load_open, vector_phase_load,
			 vector_phase_say_load},
};

static int vector_phase_open(void *run, struct phase_context *ctx, struct err *err)
{
	struct vector_phase *p = run;
	const struct vector_mode *mode;
	const struct job_store *described;
	int rc = phase_store_find(ctx->job, ctx->phase, &described, err);

	p->ctx = ctx;
	p->own = *(const struct vector_options *)ctx->phase->options;
	p->options = &p->own;
	mode = &vector_modes[p->options->operation];
	p->work.start_ns = clock_now(ctx->clock);
	if (rc == 0)
		rc = p->options->operation == VECTOR_BUILD || changes(p)
			     ? workload_store_open(ctx, described, &p->store, err)
			     : workload_store_open_to_read(ctx, described, &p->store, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc < 0)
		return rc;
	rc = queue_open(&p->side, &p->store, 1, err);
	if (rc == 0)
		queue_unlogged(&p->side);
	rc = group_agree(ctx->group, rc, err);
	if (rc == 0 && p->own.file[0])
		rc = existing_open(&p->existing, &p->own, &p->side, ctx->group, err);
	if (rc < 0)
		return rc;
	vector_set_of(&p->set, p->options, ctx->job->seed);
	mode->crew(p, described);
	p->crew.count = vector_count_thread;
	p->crew.snapshot = &p->snapshot;
	rc = snapshot_open(&p->snapshot, ctx,
			   (struct snapshot_hooks){.complete = vector_measure_so_far}, p, err);
	if (rc == 0)
		rc = crew_open(&p->crew, err);
	rc = group_agree(ctx->group, rc, err);
	return rc == 0 && mode->open ? mode->open(p, err) : rc;
}

static int vector_phase_work(void *run, enum stop_reason *stopped, struct err *err)
{
	struct vector_phase *p = run;

	return vector_modes[p->options->operation].work(p, stopped, err);
}

static void vector_phase_say(void *run)
{
	struct vector_phase *p = run;
	const struct vector_mode *mode = &vector_modes[p->options->operation];

	if (mode->say)
		mode->say(p);
}

static bool vector_leaves(const struct job_phase *phase)
{
	const struct vector_options *o = phase->options;

	return o->operation == VECTOR_SEARCH ? !vector_changes(o)
					     : o->operation == VECTOR_LOAD && !o->to[0];
}

static bool vector_builds(const struct job_phase *phase)
{
	return ((const struct vector_options *)phase->options)->operation == VECTOR_BUILD;
}

const struct workload vector_workload = {
	.section = SECTION_DECIDED(
		vector,
		"vector search: makes the index of a vector database, and reads it as its queries do",
		vector_targets, vector_complete, vector_options_table),
	.schema = &vector_schema,
	.purpose = PURPOSE_SEARCH,
	.hists = vector_hists_filled,
	.leaves = vector_leaves,
	.builds = vector_builds,
	.snapshots = true,
	.stores = vector_stores,
	.check = vector_check,
	.size = vector_size,
	.run_bytes = sizeof(struct vector_phase),
	.open = vector_phase_open,
	.work = vector_phase_work,
	.measure = vector_phase_measure,
	.say = vector_phase_say,
	.close = vector_phase_close,
	.clean = vector_clean,
};
