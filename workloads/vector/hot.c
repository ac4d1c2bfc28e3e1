/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/hot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "workloads/vector/frontier.h"

/* Sample queries visit as many nodes as tell which are met most: so many times those that are kept, or
 * fewer where these are many. What they meet is counted for that many times those. */
enum { SAMPLE_WANTED = 32, SAMPLE_LEAST = 2, SAMPLE_USUAL = 4000000, SAMPLE_ROOM = 8 };
/* Sample queries are others than those of the phase. */
static const uint64_t hot_first_query = 1ull << 40;

/* How often sample queries have met a node. */
struct met {
	uint32_t id, times;
};

uint64_t hot_room(uint64_t count)
{
	uint64_t room = 16;

	while (room < count * 2)
		room *= 2;
	return room;
}

uint64_t hot_bytes(uint64_t count)
{
	return count ? hot_room(count) * sizeof(uint32_t) +
			       hot_room(count * SAMPLE_ROOM) * sizeof(struct met)
		     : 0;
}

int hot_open(struct hot *h, uint64_t count)
{
	*h = (struct hot){.mask = hot_room(count) - 1};
	h->ids = calloc(h->mask + 1, sizeof(*h->ids));
	return h->ids ? 0 : -ENOMEM;
}

void hot_free(struct hot *h)
{
	free(h->ids);
	free(h->rows);
	free(h->links);
	*h = (struct hot){0};
}

void hot_clear(struct hot *h)
{
	memset(h->ids, 0, (h->mask + 1) * sizeof(*h->ids));
	h->count = 0;
}

bool hot_add(struct hot *h, uint32_t id)
{
	uint64_t at = hot_place(h, id);

	if (hot_has(h, id))
		return false;
	while (h->ids[at])
		at = (at + 1) & h->mask;
	h->ids[at] = id + 1;
	if (h->rows)
		h->rows[at] = (uint32_t)h->count;
	h->count++;
	return true;
}

int hot_open_links(struct hot *h, uint64_t count, uint64_t degree)
{
	int rc = hot_open(h, count);

	h->rows = calloc(h->mask + 1, sizeof(*h->rows));
	h->links = calloc(count, (1 + degree) * sizeof(*h->links));
	return rc == 0 && h->rows && h->links ? 0 : -ENOMEM;
}

uint32_t *hot_links(const struct hot *h, uint32_t id, uint64_t degree)
{
	uint64_t at = hot_place(h, id);

	while (h->ids[at] != id + 1)
		at = (at + 1) & h->mask;
	return h->links + h->rows[at] * (1 + degree);
}

int hot_breadth_first(struct hot *h, const struct graph *g, uint64_t count)
{
	uint32_t neighbours[GRAPH_DEGREE_MAX], *line;
	uint64_t most = min_u64(count, g->n);
	int rc;

	if (!most)
		return 0;
	rc = hot_open(h, most);
	line = rc == 0 ? calloc(most, sizeof(*line)) : NULL;
	if (!line)
		return -ENOMEM;
	line[0] = (uint32_t)g->entry;
	hot_add(h, line[0]);
	for (uint64_t i = 0; i < h->count && h->count < most; i++) {
		graph_neighbours(g, line[i], neighbours);
		for (uint64_t j = 0; j < g->degree && h->count < most; j++)
			if (hot_add(h, neighbours[j]))
				line[h->count - 1] = neighbours[j];
	}
	free(line);
	return 0;
}

struct sample {
	struct met *nodes; /* [mask + 1]; times 0: free */
	uint64_t count, most, mask, visits;
};

static void sample_add(struct sample *s, uint32_t id)
{
	const struct hot place = {.mask = s->mask};
	uint64_t at = hot_place(&place, id);

	while (s->nodes[at].times && s->nodes[at].id != id)
		at = (at + 1) & s->mask;
	s->count += s->nodes[at].times == 0;
	s->nodes[at].id = id;
	s->nodes[at].times++;
	s->visits++;
}

/* A query, without reading anything. */
static void sample_query(struct sample *s, struct frontier *f, const struct graph *g,
			 uint64_t target)
{
	uint32_t neighbours[GRAPH_DEGREE_MAX], id;

	frontier_begin(f, g, target);
	while (s->count < s->most && frontier_take(f, &id)) {
		sample_add(s, id);
		graph_neighbours(g, id, neighbours);
		frontier_see(f, neighbours, (uint32_t)g->degree);
	}
}

static int met_more(const void *a, const void *b)
{
	const struct met *x = a, *y = b;

	if (x->times != y->times)
		return x->times > y->times ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int hot_take_most(struct hot *h, struct sample *s, uint64_t count)
{
	int rc = hot_open(h, count);

	qsort(s->nodes, s->mask + 1, sizeof(*s->nodes), met_more);
	for (uint64_t i = 0; rc == 0 && i < min_u64(count, s->count); i++)
		hot_add(h, s->nodes[i].id);
	return rc;
}

int hot_sample(struct hot *h, const struct graph *g, uint64_t count, double skew)
{
	uint64_t keep = min_u64(count, g->n), visits;
	struct sample s = {.most = keep * SAMPLE_ROOM};
	struct frontier f = {0};
	int rc;

	if (!keep)
		return 0;
	s.mask = hot_room(s.most) - 1;
	s.nodes = calloc(s.mask + 1, sizeof(*s.nodes));
	rc = s.nodes ? frontier_open(&f, HOT_SAMPLE_LIST, NULL) : -ENOMEM;
	visits = max_u64(keep * SAMPLE_LEAST, min_u64(keep * SAMPLE_WANTED, SAMPLE_USUAL));
	for (uint64_t q = hot_first_query; rc == 0 && s.count < s.most && s.visits < visits; q++)
		sample_query(&s, &f, g, graph_target(g, q, skew));
	if (rc == 0)
		rc = hot_take_most(h, &s, keep);
	frontier_close(&f);
	free(s.nodes);
	return rc;
}
