/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/base_level.h"

#include <errno.h>
#include <stdlib.h>

#include "core/numbers.h"

/* Nodes that a search reads beyond those that its list leads to, on its way. */
enum { WAY_NODES = 64 };

static uint64_t seen_room(uint32_t list, uint32_t degree, uint64_t n)
{
	return min_u64(((uint64_t)list + WAY_NODES) * degree, n);
}

static uint64_t links_words(uint32_t list, uint32_t degree)
{
	return ((uint64_t)list + 1) * ((uint64_t)degree + 1);
}

int base_level_open(struct base_level *b, uint32_t list, uint32_t degree, uint64_t n)
{
	*b = (struct base_level){.degree = degree, .room = seen_room(list, degree, n)};
	b->links = malloc(links_words(list, degree) * sizeof(*b->links));
	b->round = malloc((uint64_t)degree * sizeof(*b->round));
	if (!b->links || !b->round || hot_open(&b->seen, b->room) < 0)
		return -ENOMEM;
	return frontier_open(&b->frontier, list, NULL);
}

void base_level_close(struct base_level *b)
{
	frontier_close(&b->frontier);
	hot_free(&b->seen);
	free(b->links);
	free(b->round);
	*b = (struct base_level){0};
}

uint64_t base_level_bytes(uint32_t list, uint32_t degree, uint64_t n)
{
	return frontier_bytes(list) + links_words(list, degree) * sizeof(uint32_t) +
	       degree * sizeof(uint32_t) + hot_room(seen_room(list, degree, n)) * sizeof(uint32_t);
}

static bool base_level_new(struct base_level *b, uint32_t id)
{
	if (b->seen.count < b->room)
		return hot_add(&b->seen, id);
	return !hot_has(&b->seen, id);
}

void base_level_begin(struct base_level *b, const struct graph *g, uint64_t target)
{
	uint64_t every = max_u64(g->degree / 2, 1), at = (target + every / 2) / every * every;

	frontier_aim(&b->frontier, g, target);
	hot_clear(&b->seen);
	b->spare = b->next = 0;
	b->count = 1;
	b->round[0] = (uint32_t)graph_id(g, at < g->n ? at : 0);
	base_level_new(b, b->round[0]);
}

bool base_level_take(struct base_level *b, uint32_t *id)
{
	if (b->next == b->count)
		return false;
	*id = b->round[b->next++];
	return true;
}

bool base_level_round(struct base_level *b)
{
	const struct candidate *c;

	b->count = b->next = 0;
	while (!b->count && (c = frontier_nearest(&b->frontier))) {
		const uint32_t *row = b->links + (uint64_t)c->row * (b->degree + 1);

		for (uint32_t i = 1; i <= row[0]; i++)
			if (base_level_new(b, row[i]))
				b->round[b->count++] = row[i];
	}
	return b->count > 0;
}

void base_level_read(struct base_level *b, uint32_t id, uint32_t links)
{
	b->links[(uint64_t)b->spare * (b->degree + 1)] = links;
	b->spare = frontier_put(&b->frontier, id, b->spare);
}
