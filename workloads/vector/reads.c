/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/work.h"

#include <errno.h>
#include <stdio.h>

#include "core/content/random.h"
#include "workloads/common/crew.h"

static const uint64_t verify_stream = 0x766572696679; /* "verify" */
enum { STEP_READ };

/* Sends the read of an item, by a slot of the search's own. */
static void reads_send(struct vector_thread *t, struct vector_search *s, uint64_t item)
{
	struct slot *idle = list_member(list_take(&s->idle), struct slot, link);
	struct vector_slot *slot = (struct vector_slot *)idle;
	uint64_t offset, length = vector_index_read(s->index, item, &offset, &slot->within);

	slot->item = item;
	slot->s.req = (struct request){.op = REQ_READ,
				       .object = s->object,
				       .offset = offset,
				       .length = length,
				       .data = slot->s.buffer};
	residency_look(&t->residency, t->work->store, s->object, offset, length);
	s->in_flight++;
	slots_send(&t->slots, &slot->s, STEP_READ);
}

/* Neighbours of a node; the time that it takes to tell how near they are is the searcher's own. */
static void reads_see(struct vector_thread *t, struct vector_search *s, const uint32_t *neighbours,
		      uint32_t count)
{
	uint64_t begin_ns = t->work->codes ? clock_now(t->work->store->clock) : 0;

	frontier_see(&s->frontier, neighbours, count);
	if (t->work->codes)
		t->distance_ns += clock_now(t->work->store->clock) - begin_ns;
}

/* How many neighbours a node has; -1: its bytes are no node. */
static int reads_expand(struct vector_thread *t, struct vector_search *s, uint64_t node,
			const void *data)
{
	uint32_t neighbours[GRAPH_DEGREE_MAX];
	int count = vector_index_neighbours(s->index, node, data, neighbours, GRAPH_DEGREE_MAX);

	if (count > 0)
		reads_see(t, s, neighbours, (uint32_t)count);
	return count;
}

/* A node in memory. */
static void reads_held(struct vector_thread *t, struct vector_search *s, uint32_t node)
{
	const uint32_t *links;

	if (!s->hot->links) {
		reads_expand(t, s, node, NULL);
		return;
	}
	links = hot_links(s->hot, node, s->index->graph.degree);
	reads_see(t, s, links + 1, links[0]);
}

/* Page search: the other nodes of the sector that was read for one, in their order. data: of that node. */
static int reads_expand_beside(struct vector_thread *t, struct vector_search *s, uint64_t node,
			       const char *data)
{
	uint64_t first, count = vector_index_beside(s->index, node, &first);
	int rc = 0;

	for (uint64_t id = first; id < first + count && rc >= 0; id++) {
		const char *there = data;

		if (id == node || !frontier_claim(&s->frontier, (uint32_t)id))
			continue;
		s->beside++;
		if (data)
			there += ((int64_t)id - (int64_t)node) * (int64_t)s->index->item_bytes;
		rc = reads_expand(t, s, id, there);
	}
	return rc;
}

/* The next round of a graph. Nodes in memory are looked at when the reads of the round are on their way,
 * as DiskANN does; a round without reads is followed by the next at once. */
static void reads_round(struct vector_thread *t, struct vector_search *s)
{
	uint32_t beam = (uint32_t)t->work->beam, held[VECTOR_BEAM_MAX], held_count, id;

	do {
		uint32_t before = s->in_flight;

		held_count = 0;
		while (s->in_flight + held_count < beam && frontier_take(&s->frontier, &id)) {
			s->expanded++;
			if (hot_has(s->hot, id))
				held[held_count++] = id;
			else
				reads_send(t, s, id);
		}
		s->rounds += s->in_flight > before;
		s->cached += held_count;
		for (uint32_t i = 0; i < held_count; i++)
			reads_held(t, s, held[i]);
	} while (held_count && !s->in_flight);
}

/* Of HNSW: neighbours of one node, `beam` of them at a time, then those of the next. */
static void reads_base(struct vector_thread *t, struct vector_search *s)
{
	uint32_t beam = (uint32_t)t->work->beam, id;
	bool more = base_level_take(&s->base, &id);

	if (!more && !s->in_flight)
		more = base_level_round(&s->base) && base_level_take(&s->base, &id);
	s->rounds += more && s->base.next == 1;
	while (more) {
		s->expanded++;
		reads_send(t, s, id);
		more = s->in_flight < beam && base_level_take(&s->base, &id);
	}
}

static void reads_lists(struct vector_thread *t, struct vector_search *s)
{
	const struct vector_work *work = t->work;
	uint32_t before = s->in_flight;

	for (; s->in_flight < work->beam && s->listed < work->probes; s->listed++) {
		s->expanded++;
		reads_send(t, s, vector_index_list(s->index, s->target, s->listed));
	}
	s->rounds += s->in_flight > before;
}

/* Whether the bytes are as they were made; where they are not, text says so. */
static bool reads_verified(struct vector_thread *t, const struct vector_slot *slot,
			   const char *data, char text[FAILURE_TEXT_BYTES])
{
	const struct vector_index *x = slot->search->index;
	uint64_t from = 0, length = x->item_bytes, at, begin_ns = clock_now(t->work->store->clock);
	uint64_t first = slot->item, count = 1, before;
	bool same;

	if (t->work->options->page_search)
		count = vector_index_beside(x, slot->item, &first);
	before = (slot->item - first) * x->item_bytes;
	length *= count;
	if (t->work->options->verify == VERIFY_SAMPLED && length > VERIFY_SAMPLE_BYTES) {
		from = random_at(t->key ^ verify_stream, t->issued, slot->item) %
		       (length - VERIFY_SAMPLE_BYTES + 1);
		length = VERIFY_SAMPLE_BYTES;
	}
	same = vector_index_same(x, first, data - before, from, length, &at);
	t->verify_ns += clock_now(t->work->store->clock) - begin_ns;
	if (!same)
		answer_text_differs(text, slot->s.req.offset + slot->within - before + at);
	return same;
}

static int reads_of_base(struct vector_search *s, uint64_t node, const void *data)
{
	int count = vector_index_neighbours(s->index, node, data, base_level_links(&s->base),
					    s->base.degree);

	if (count >= 0)
		base_level_read(&s->base, (uint32_t)node, (uint32_t)count);
	return count;
}

/* The bytes of the read, looked at: a negative errno with a text where they are wrong. */
int reads_look(struct vector_thread *t, struct vector_slot *slot, char text[FAILURE_TEXT_BYTES])
{
	struct vector_search *s = slot->search;
	const struct request *req = &slot->s.req;
	const char *data = NULL;
	int count = 0;

	if (req->answer.status < 0) {
		answer_text_failed(text, req, s->index->size);
		return req->answer.status;
	}
	if (t->work->content)
		data = (const char *)slot->s.buffer + req->answer.lead + slot->within;
	if (data && t->work->options->verify != VERIFY_NONE &&
	    !reads_verified(t, slot, data, text)) {
		t->payload_errors++;
		meter_error(&t->member->meter);
		return -EILSEQ;
	}
	if (s->index->kind == VECTOR_HNSW)
		count = reads_of_base(s, slot->item, data);
	else if (vector_is_graph(s->index->kind))
		count = reads_expand(t, s, slot->item, data);
	if (count >= 0 && t->work->options->page_search)
		count = reads_expand_beside(t, s, slot->item, data);
	if (count >= 0)
		return 0;
	t->payload_errors++;
	meter_error(&t->member->meter);
	snprintf(text, FAILURE_TEXT_BYTES, "names neighbours that are not in the index");
	return -EILSEQ;
}

void reads_begin(struct vector_thread *t, struct vector_search *s)
{
	uint64_t begin_ns = t->work->codes ? clock_now(t->work->store->clock) : 0;

	s->listed = s->rounds = s->expanded = s->cached = s->beside = 0;
	if (s->index->kind == VECTOR_HNSW)
		base_level_begin(&s->base, &s->index->graph, s->target);
	else if (vector_is_graph(s->index->kind))
		frontier_begin(&s->frontier, &s->index->graph, s->target);
	if (t->work->codes)
		t->distance_ns += clock_now(t->work->store->clock) - begin_ns;
}

void reads_next(struct vector_thread *t, struct vector_search *s)
{
	if (s->index->kind == VECTOR_HNSW)
		reads_base(t, s);
	else if (vector_is_graph(s->index->kind))
		reads_round(t, s);
	else
		reads_lists(t, s);
}

bool reads_go_on(const struct vector_options *o)
{
	return o->issue == VECTOR_PIPELINED || o->shape.index == VECTOR_HNSW;
}
