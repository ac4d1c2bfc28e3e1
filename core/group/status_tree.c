/* SPDX-License-Identifier: Apache-2.0 */
/* Status tree: see status_tree.h. */
#include "core/group/status_tree.h"

#include "core/numbers.h"

void status_tree_init(struct status_tree *t, const struct status_link *link, uint32_t rank,
		      uint32_t size)
{
	*t = (struct status_tree){.link = link, .rank = rank, .size = size};
}

uint32_t status_tree_children(uint32_t rank, uint32_t size)
{
	uint64_t first = (uint64_t)rank * STATUS_TREE_FAN_OUT + 1;
	uint64_t rest = excess_u64(size, first);

	return (uint32_t)min_u64(rest, STATUS_TREE_FAN_OUT);
}

void status_tree_post(struct status_tree *t, const struct status *mine)
{
	uint32_t children = status_tree_children(t->rank, t->size);

	if (t->link->begin)
		t->link->begin(t->link->argument);
	t->merged = *mine;
	t->awaited = (UINT32_C(1) << children) - 1;
	t->posted = true;
	t->sent = false;
}

/* On the way up: merges what the children have sent. Returns true when all have. */
static bool tree_gather(struct status_tree *t)
{
	struct status child;

	for (uint32_t i = 0; t->awaited >> i; i++) {
		if (!(t->awaited >> i & 1) ||
		    !t->link->receive(t->link->argument, status_tree_first(t->rank) + i, &child))
			continue;
		status_merge(&t->merged, &child);
		t->awaited &= ~(UINT32_C(1) << i);
	}
	return !t->awaited;
}

/* On the way down: sends the merged status to the children. */
static void tree_release(struct status_tree *t)
{
	uint32_t children = status_tree_children(t->rank, t->size);

	for (uint32_t i = 0; i < children; i++)
		t->link->send(t->link->argument, status_tree_first(t->rank) + i, &t->merged);
	t->posted = false;
}

bool status_tree_poll(struct status_tree *t, struct status *merged)
{
	if (!t->posted || !tree_gather(t))
		return false;
	if (t->rank) {
		uint32_t parent = status_tree_parent(t->rank);

		if (!t->sent)
			t->link->send(t->link->argument, parent, &t->merged);
		t->sent = true;
		if (!t->link->receive(t->link->argument, parent, &t->merged))
			return false;
	}
	tree_release(t);
	*merged = t->merged;
	return true;
}
