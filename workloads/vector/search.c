/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/work.h"

#include <errno.h>
#include <stdlib.h>

#include "core/measure/window.h"
#include "core/numbers.h"
#include "workloads/common/crew.h"

/* Of a query whose segments are spread over the ranks, this is a part, which is joined with the others
 * later (search.c). */
static void vector_query_answered(struct vector_thread *t, struct vector_query *q, uint64_t done_ns)
{
	uint64_t from_ns = q->first->due_ns ? q->first->due_ns : q->first->begin_ns;
	uint64_t took_ns = excess_u64(done_ns, from_ns);
	const struct vector_meanwhile *meanwhile = t->work->meanwhile;
	struct vector_part sum = {.took_ns = max_u64(took_ns, 1)};

	for (uint64_t i = 0; i < t->work->own; i++) {
		sum.expanded += (uint32_t)q->searches[i].expanded;
		sum.cached += (uint32_t)q->searches[i].cached;
		sum.rounds += (uint32_t)q->searches[i].rounds;
		sum.beside += (uint32_t)q->searches[i].beside;
	}
	/* Parts are joined by when they were issued. */
	if (!t->parts && !window_has(t->member->meter.from_ns, from_ns, done_ns)) {
		t->warmup_queries++;
		return;
	}
	if (!t->work->inserts)
		meter_operation(&t->member->meter, from_ns, done_ns);
	if (meanwhile)
		hist_record(
			meter_hist(&t->member->meter, q->merging || atomic_load(&meanwhile->merging)
							      ? VECTOR_HIST_BESIDE_MERGE
							      : VECTOR_HIST_BETWEEN_MERGES),
			took_ns);
	if (t->parts) {
		t->parts[q->index] = sum;
		t->parts_answered++;
		hist_record(meter_hist(&t->member->meter, VECTOR_HIST_PART), took_ns);
		return;
	}
	t->answered++;
	t->expanded += sum.expanded;
	t->cached += sum.cached;
	t->rounds += sum.rounds;
	t->beside += sum.beside;
	if (!t->work->inserts)
		hist_record(meter_hist(&t->member->meter, VECTOR_HIST_QUERY), took_ns);
}

static void vector_query_end(struct vector_thread *t, struct vector_query *q, uint64_t done_ns)
{
	if (!q->failed)
		vector_query_answered(t, q, done_ns);
	for (uint64_t i = 0; i < t->work->own; i++) {
		struct vector_search *s = &q->searches[i];
		struct list_link *link;

		while ((link = list_take(&s->idle)))
			slots_free(&t->slots, list_member(link, struct slot, link));
	}
	list_append(&t->free, &q->link);
	atomic_store_explicit(&t->member->files, t->answered + t->parts_answered,
			      memory_order_relaxed);
}

static void vector_search_begin(struct vector_thread *t, struct vector_search *s)
{
	const struct vector_work *work = t->work;
	struct vector_live *live = s->live;

	s->at = work->meanwhile ? vector_live_enter(live) : 0;
	s->index = &live->index[s->at];
	s->hot = &live->hot[s->at];
	s->object = work->meanwhile || work->inserts ? &live->object[s->at]
						     : &t->objects[live - work->live];
	/* A segment that has more vectors than when it was built, or fewer, is a ring of another
	 * length. */
	s->target = s->target * s->index->vectors / work->vectors;
	reads_begin(t, s);
}

/* Returns the search of the next segment, which begins with the slots of this one, where not all are
 * searched side by side; else NULL. */
static struct vector_search *vector_search_ended(struct vector_thread *t, struct vector_search *s)
{
	struct vector_query *q = s->query;
	struct vector_search *next = &q->searches[q->begun];
	struct list_link *link;

	if (t->work->meanwhile)
		vector_live_leave(s->live, s->at);
	q->left--;
	if (q->begun == t->work->own) {
		if (q->left == 0)
			vector_query_end(t, q, t->slots.now_ns);
		return NULL;
	}
	q->begun++;
	while ((link = list_take(&s->idle))) {
		struct slot *slot = list_member(link, struct slot, link);

		((struct vector_slot *)slot)->search = next;
		list_append(&next->idle, &slot->link);
	}
	vector_search_begin(t, next);
	return next;
}

/* Nothing of a query that has failed is asked for any more, and nothing at all once the run is to end.
 * A search that needs no read ends at once, and so may those that follow it. */
static void vector_search_go(struct vector_thread *t, struct vector_search *s)
{
	while (s) {
		if (slots_halted(&t->slots))
			s->query->failed = true;
		if (!s->query->failed)
			reads_next(t, s);
		s = s->in_flight ? NULL : vector_search_ended(t, s);
	}
}

static uint64_t vector_due(const void *thread)
{
	const struct vector_thread *t = thread;

	if (t->work->meanwhile &&
	    atomic_load_explicit(&t->work->meanwhile->over, memory_order_relaxed))
		return SLOTS_OVER;
	return t->limit && t->issued >= t->limit ? SLOTS_OVER : pace_next(&t->pace);
}

/* A query has as many slots as reads may be in flight for it, from its beginning to its end: so a slot is
 * free where, and only where, a query is. */
static void vector_begin(void *thread, struct slot *slot)
{
	struct vector_thread *t = thread;
	const struct vector_work *work = t->work;
	struct vector_query *q = list_member(list_take(&t->free), struct vector_query, link);
	uint64_t segments = work->own, number;

	q->index = t->issued++;
	number = (t->number + q->index * work->of) % work->options->query_vectors;
	slots_mark(&t->slots, slot, pace_take(&t->pace, slot->begin_ns), number);
	q->first = slot;
	q->failed = false;
	q->merging = work->meanwhile && atomic_load(&work->meanwhile->merging);
	q->left = (uint32_t)segments;
	q->begun = (uint32_t)work->side;
	for (uint64_t i = 0; i < segments; i++)
		q->searches[i].target = work->targets[number];
	for (uint64_t i = 0; i < work->side; i++) {
		struct vector_search *s = &q->searches[i];

		for (uint64_t k = 0; k < work->beam; k++) {
			struct slot *own = i + k ? slots_take(&t->slots) : slot;

			((struct vector_slot *)own)->search = s;
			list_append(&s->idle, &own->link);
		}
	}
	for (uint64_t i = 0; i < work->side; i++) {
		vector_search_begin(t, &q->searches[i]);
		vector_search_go(t, &q->searches[i]);
	}
}

static void vector_step(void *thread, struct slot *answered)
{
	struct vector_slot *slot = (struct vector_slot *)answered;
	struct vector_search *s = slot->search;
	struct vector_thread *t = thread;
	char text[FAILURE_TEXT_BYTES];
	int rc = reads_look(t, slot, text);

	s->in_flight--;
	if (rc < 0) {
		s->query->failed = true;
		slots_fail(&t->slots, &slot->s, rc, text);
	}
	list_append(&s->idle, &slot->s.link);
	if (!s->in_flight || (!s->query->failed && reads_go_on(t->work->options)))
		vector_search_go(t, s);
}

void vector_thread_drop(void *thread)
{
	struct vector_thread *t = thread;

	meter_clear(&t->member->meter, t->work->warmup.end_ns);
	t->warmup_queries += t->answered;
	t->answered = t->rounds = t->expanded = t->cached = t->beside = t->parts_answered = 0;
	t->warm_issued = t->issued;
	t->payload_errors = t->verify_ns = t->distance_ns = t->slots.late_start_ns = 0;
}

static void vector_key(const void *thread, uint64_t id, char key[OBJECT_KEY_BYTES])
{
	const struct vector_thread *t = thread;

	(void)id;
	vector_set_key(t->work->set, t->work->from, key);
}

static const struct slot_hooks vector_hooks = {
	.due = vector_due,
	.begin = vector_begin,
	.step = vector_step,
	.drop = vector_thread_drop,
	.key = vector_key,
};

static int vector_open_objects(struct vector_thread *t)
{
	const struct vector_work *work = t->work;
	int rc = 0;

	if (work->meanwhile)
		return 0;
	for (t->opened = 0; rc == 0 && t->opened < work->own; t->opened++) {
		struct object *o = &t->objects[t->opened];
		uint64_t size = work->live[t->opened].index[0].size;
		struct request req = {.op = REQ_OPEN, .object = o};

		vector_set_key(work->set, work->from + t->opened, o->key);
		o->size = size;
		rc = crew_do(t->member, &req);
		if (rc == 0 && work->content && o->size && o->size < size) {
			char text[FAILURE_TEXT_BYTES];

			req.answer.done_bytes = o->size;
			answer_text_ends(text, &req, size);
			rc = crew_fail(t->member, &req, -ENODATA, text);
		}
	}
	return rc;
}

static int vector_close_objects(struct vector_thread *t)
{
	int rc = 0;

	for (uint32_t i = 0; i < t->opened; i++) {
		struct request req = {.op = REQ_CLOSE, .object = &t->objects[i]};
		int closed = crew_do(t->member, &req);

		rc = rc ? rc : closed;
	}
	t->opened = 0;
	return rc;
}

int vector_thread_run(struct crew_thread *w, uint64_t number)
{
	struct vector_work *work = w->crew->argument;
	struct vector_thread *t = &work->threads[number];
	int rc = vector_open_objects(t), closed;

	t->slots.warmup = &work->warmup;
	if (rc == 0)
		rc = slots_run(&t->slots, work->start_ns, work->until_ns);
	t->end_ns = excess_u64(w->queue.now_ns, work->warmup.end_ns);
	closed = vector_close_objects(t);
	return rc ? rc : closed;
}

static const struct meter_map vector_maps[] = {
	{REQ_READ, VECTOR_READS, VECTOR_HIST_READ, METER_NONE, VECTOR_HIST_READ_FIRST_ATTEMPT},
	{REQ_WRITE, VECTOR_WRITES, VECTOR_HIST_WRITE, METER_NONE, METER_NONE},
	{REQ_OPEN, VECTOR_OPENS, VECTOR_HIST_OPEN, METER_NONE, METER_NONE},
	{REQ_CLOSE, VECTOR_CLOSES, VECTOR_HIST_CLOSE, METER_NONE, METER_NONE},
	{REQ_COMMIT, VECTOR_CLOSES, VECTOR_HIST_CLOSE, METER_NONE, METER_NONE},
};
static const int own_hists[] = {VECTOR_HIST_QUERY, VECTOR_HIST_PART, VECTOR_HIST_BESIDE_MERGE,
				VECTOR_HIST_BETWEEN_MERGES};
const struct meter_layout vector_meter = {
	METER_MAPS(vector_schema, vector_maps),
	.own = own_hists,
	.own_count = COUNT(own_hists),
	.counts_operations = true,
	.live_op = REQ_READ,
};

static uint64_t vector_parts_bytes(const struct vector_options *o)
{
	return o->spread == VECTOR_SPREAD_SEGMENTS ? vector_most(o) * sizeof(struct vector_part)
						   : 0;
}

/* What a search keeps of its nearest candidates. */
static uint64_t vector_list_bytes(const struct vector_options *o)
{
	if (o->shape.index == VECTOR_HNSW)
		return base_level_bytes((uint32_t)o->list, (uint32_t)o->shape.degree,
					vector_segment_vectors(&o->shape));
	return frontier_bytes((uint32_t)o->list);
}

uint64_t vector_thread_bytes(const struct vector_options *o)
{
	uint64_t searches = o->depth * o->shape.segments, tables = 0;
	uint64_t slots = slots_memory(vector_in_flight(o, o->side), sizeof(struct vector_slot));

	if (o->file[0])
		tables = searches * o->shape.pq_bytes * CODES_PIVOTS * sizeof(uint32_t);
	return tables + sizeof(struct vector_thread) + crew_thread_bytes(&vector_meter) + slots +
	       vector_parts_bytes(o) + o->shape.segments * sizeof(struct object) +
	       o->depth * sizeof(struct vector_query) +
	       searches * (sizeof(struct vector_search) + vector_list_bytes(o));
}

static int vector_thread_searches(struct vector_thread *t)
{
	const struct vector_work *work = t->work;
	uint64_t segments = work->own;
	int rc = 0;

	for (uint64_t i = 0; i < work->options->depth * segments && rc == 0; i++) {
		struct vector_search *s = &t->searches[i];
		const struct vector_index *x = &work->live[i % segments].index[0];

		s->query = &t->queries[i / segments];
		s->live = &work->live[i % segments];
		if (x->kind == VECTOR_HNSW)
			rc = base_level_open(&s->base, (uint32_t)work->options->list,
					     (uint32_t)x->graph.degree, x->vectors);
		else if (vector_is_graph(x->kind))
			rc = frontier_open(&s->frontier, (uint32_t)work->options->list,
					   work->codes);
	}
	return rc;
}

int vector_hot(struct hot *h, const struct vector_options *o, const struct graph *g)
{
	uint64_t count = vector_cached(o);

	return o->cache_by == VECTOR_SAMPLE ? hot_sample(h, g, count, o->skew)
					    : hot_breadth_first(h, g, count);
}

int vector_thread_open(struct vector_thread *t, struct vector_work *work, struct crew_thread *w,
		       uint64_t number, struct err *err)
{
	const struct vector_options *o = work->options;
	uint64_t segments = work->own, flight = vector_in_flight(o, work->side);

	t->work = work;
	t->member = w;
	t->number = number;
	t->limit = vector_most(o);
	t->key = random_at(work->set->seed, number, 0);
	t->objects = calloc(segments, sizeof(*t->objects));
	t->queries = calloc(o->depth, sizeof(*t->queries));
	t->searches = calloc(o->depth * segments, sizeof(*t->searches));
	if (vector_parts_bytes(o))
		t->parts = calloc(t->limit, sizeof(*t->parts));
	if (!t->objects || !t->queries || !t->searches || (vector_parts_bytes(o) && !t->parts) ||
	    vector_thread_searches(t) < 0)
		return err_set(err, -ENOMEM, "no memory for %llu queries in flight",
			       (unsigned long long)o->depth);
	for (uint64_t i = 0; i < o->depth; i++) {
		t->queries[i].searches = &t->searches[i * segments];
		list_append(&t->free, &t->queries[i].link);
	}
	if (work->store->cache != CACHE_UNKNOWN)
		residency_init(&t->residency, o->cold.evidence_bytes);
	t->slots = (struct slots){
		.hooks = &vector_hooks,
		.owner = t,
		.member = w,
		.warm = o->limits.warmup_ns == 0,
		.depth = (uint32_t)flight,
		.slot_bytes = sizeof(struct vector_slot),
		.buffers = w->buffer,
		.buffer_bytes = w->crew->buffer_bytes / flight,
		.goes_on = o->on_error != ON_ERROR_STOP,
	};
	return slots_open(&t->slots, err);
}

static void vector_search_close(struct vector_search *s)
{
	frontier_close(&s->frontier);
	base_level_close(&s->base);
}

void vector_thread_close(struct vector_thread *t)
{
	slots_close(&t->slots);
	for (uint64_t i = 0; t->searches && t->work && i < t->work->options->depth * t->work->own;
	     i++)
		vector_search_close(&t->searches[i]);
	free(t->parts);
	free(t->searches);
	free(t->queries);
	free(t->objects);
}

void vector_thread_count(const struct vector_thread *t, struct tally *tally)
{
	uint64_t *row = tally->rank_row;

	row[VECTOR_WARMUP_QUERIES] += t->warmup_queries;
	row[VECTOR_PAYLOAD_ERRORS] += t->payload_errors;
	row[VECTOR_VERIFY_NS] += t->verify_ns;
	row[VECTOR_DISTANCE_NS] += t->distance_ns;
	row[VECTOR_RESIDENT_SAMPLED_BYTES] += t->residency.sampled_bytes;
	row[VECTOR_RESIDENT_BYTES] += t->residency.resident_bytes;
	if (!t->slots.warm)
		return;
	row[VECTOR_QUERIES] += t->answered;
	row[VECTOR_PARTS] += t->parts_answered;
	row[VECTOR_JOINED_NS] += t->joined_ns;
	row[VECTOR_ROUNDS] += t->rounds;
	row[VECTOR_EXPANDED] += t->expanded;
	row[VECTOR_CACHED] += t->cached;
	row[VECTOR_BESIDE] += t->beside;
	row[VECTOR_DONE_NS] = max_u64(row[VECTOR_DONE_NS], t->end_ns);
	row[VECTOR_LATE_START_NS] = max_u64(row[VECTOR_LATE_START_NS], t->slots.late_start_ns);
}

/* What a part took, and whose part it was, as one word: the largest is that of the slowest rank. */
enum { RANK_BITS = 20, BLOCK = 4096 };
static const uint64_t unanswered = UINT64_MAX;

static uint64_t part_word(const struct vector_part *part, uint32_t rank)
{
	uint64_t most = UINT64_MAX >> (RANK_BITS + 1);

	return part->took_ns ? min_u64(part->took_ns, most) << RANK_BITS | rank : unanswered;
}

static void shards_count(struct vector_thread *t, const struct vector_part *part, uint64_t word,
			 uint32_t rank)
{
	uint64_t took_ns = word >> RANK_BITS;

	if (word == unanswered)
		return;
	t->expanded += part->expanded;
	t->cached += part->cached;
	t->rounds += part->rounds;
	t->beside += part->beside;
	if ((word & ((1u << RANK_BITS) - 1)) != rank)
		return;
	t->answered++;
	if (!t->pace.limited)
		t->joined_ns += took_ns / (t->work->options->threads * t->work->options->depth);
	hist_record(meter_hist(&t->member->meter, VECTOR_HIST_QUERY), took_ns);
}

/* The queries of one thread number, from first on. */
static int shards_join_thread(struct vector_thread *t, struct group *g, uint64_t *words,
			      uint64_t first, uint64_t end)
{
	int rc = 0;

	/* What it answered in its own warm-up counts where another rank answered later. */
	t->slots.warm = true;
	for (uint64_t at = first; rc == 0 && at < end; at += BLOCK) {
		uint64_t n = min_u64(end - at, BLOCK);

		for (uint64_t i = 0; i < n; i++)
			words[i] = part_word(&t->parts[at + i], g->rank);
		rc = group_allreduce(g, MERGE_MAX, words, n);
		for (uint64_t i = 0; rc == 0 && i < n; i++)
			shards_count(t, &t->parts[at + i], words[i], g->rank);
	}
	return rc;
}

int shards_join(struct vector_work *work, struct group *g)
{
	uint64_t threads = work->options->threads;
	uint64_t *ends = calloc(2 * threads + BLOCK, sizeof(*ends));
	struct err none = {0};
	int rc = group_agree(g, ends ? 0 : -ENOMEM, &none);

	for (uint64_t i = 0; rc == 0 && i < threads; i++) {
		ends[2 * i] = work->threads[i].warm_issued;
		ends[2 * i + 1] = work->threads[i].issued;
	}
	if (rc == 0)
		rc = group_allreduce(g, MERGE_MIN, ends, 2 * threads);
	for (uint64_t i = 0; rc == 0 && i < threads; i++)
		rc = shards_join_thread(&work->threads[i], g, ends + 2 * threads, ends[2 * i],
					ends[2 * i + 1]);
	free(ends);
	return rc;
}
