/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/frontier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"

int frontier_open(struct frontier *w, uint32_t list, const struct codes *codes)
{
	w->most = list;
	w->list = calloc(list, sizeof(*w->list));
	w->codes = codes;
	if (codes)
		w->table = malloc(codes_table_words(codes) * sizeof(*w->table));
	return w->list && (!codes || w->table) ? 0 : -ENOMEM;
}

void frontier_close(struct frontier *w)
{
	free(w->list);
	free(w->table);
	*w = (struct frontier){0};
}

uint64_t frontier_bytes(uint32_t list)
{
	return list * sizeof(struct candidate);
}

/* The candidate, new or not; NULL: it is farther than all of a full list.
 * What has once left the list never comes back: the list only becomes nearer. So a candidate that is
 * there already is found at its place, and nothing else needs to be remembered. */
static struct candidate *frontier_add(struct frontier *w, uint32_t id)
{
	uint64_t distance = w->codes ? codes_distance(w->codes, w->table, id)
				     : graph_distance(w->graph, w->target, id);
	uint32_t low = 0, high = w->count;

	if (w->count == w->most && distance > w->list[w->count - 1].distance)
		return NULL;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (w->list[middle].distance < distance)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < w->count && w->list[low].distance == distance)
		return &w->list[low];
	if (w->count < w->most)
		w->count++;
	memmove(&w->list[low + 1], &w->list[low], (w->count - 1 - low) * sizeof(*w->list));
	w->list[low] = (struct candidate){.distance = distance, .id = id};
	w->next = min_u32(w->next, low);
	return &w->list[low];
}

void frontier_aim(struct frontier *w, const struct graph *g, uint64_t target)
{
	w->graph = g;
	w->target = target;
	w->count = w->next = 0;
	if (w->codes)
		codes_table(w->codes, target, w->table);
}

void frontier_begin(struct frontier *w, const struct graph *g, uint64_t target)
{
	frontier_aim(w, g, target);
	frontier_add(w, (uint32_t)g->entry);
}

const struct candidate *frontier_nearest(struct frontier *w)
{
	while (w->next < w->count && w->list[w->next].taken)
		w->next++;
	if (w->next == w->count)
		return NULL;
	w->list[w->next].taken = true;
	return &w->list[w->next++];
}

bool frontier_take(struct frontier *w, uint32_t *id)
{
	const struct candidate *c = frontier_nearest(w);

	if (c)
		*id = c->id;
	return c != NULL;
}

uint32_t frontier_put(struct frontier *w, uint32_t id, uint32_t row)
{
	uint32_t before = w->count, last = before ? w->list[before - 1].row : 0;
	uint32_t last_id = before ? w->list[before - 1].id : 0;
	struct candidate *c = frontier_add(w, id);

	/* Farther than the others, or in the list already. */
	if (!c || (w->count == before && w->list[before - 1].id == last_id))
		return row;
	c->row = row & 0x7fffffff;
	return w->count > before ? w->count : last;
}

bool frontier_claim(struct frontier *w, uint32_t id)
{
	struct candidate *c = frontier_add(w, id);

	if (!c || c->taken)
		return false;
	c->taken = true;
	return true;
}

void frontier_see(struct frontier *w, const uint32_t *neighbours, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		frontier_add(w, neighbours[i]);
}
