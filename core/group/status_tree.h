/* SPDX-License-Identifier: Apache-2.0 */
/* Status tree: the first ranks of many nodes merge one status each and all get the result, by
 * messages between neighbours of a tree with a fan-out of 16. Up to 4,369 ranks are at most three
 * messages away from the first.
 *
 *	           0                 up: every rank sends what it and its children have
 *	     1 … 16                  down: rank 0 has everything and sends it back
 *	 17 … 272
 *
 * A state machine without a clock or a network of its own: messages go through struct status_link.
 * So the same code runs on MPI and, for thousands of ranks, in a test on virtual time. Nothing
 * blocks; the tree makes progress when its rank polls it. There is one round at a time, and all
 * ranks do the same rounds in the same order. */
#ifndef HAUL_CORE_GROUP_STATUS_TREE_H
#define HAUL_CORE_GROUP_STATUS_TREE_H

#include "core/group/group.h"

enum { STATUS_TREE_FAN_OUT = 16 };

/* Messages between two neighbours. In each round a rank sends one message to its parent and one to
 * each child, and receives as many. */
struct status_link {
	void *argument;
	/* Called when a round begins: from then on its messages may come from the parent and the
	 * children. May be NULL. */
	void (*begin)(void *argument);
	void (*send)(void *argument, uint32_t to, const struct status *s);
	/* Whether this round's message from that neighbour has come. Called until it has, then no
	 * more. */
	bool (*receive)(void *argument, uint32_t from, struct status *s);
};

struct status_tree {
	const struct status_link *link;
	uint32_t rank, size;
	uint32_t awaited; /* children whose message has not come, one bit each */
	bool posted, sent;
	struct status merged;
};

void status_tree_init(struct status_tree *t, const struct status_link *link, uint32_t rank,
		      uint32_t size);

static inline uint32_t status_tree_parent(uint32_t rank)
{
	return (rank - 1) / STATUS_TREE_FAN_OUT;
}
/* The rank of the first child, which may be beyond the last rank, and the number of children. */
static inline uint32_t status_tree_first(uint32_t rank)
{
	return rank * STATUS_TREE_FAN_OUT + 1;
}
uint32_t status_tree_children(uint32_t rank, uint32_t size);

/* Begins a round with the status of this rank. */
void status_tree_post(struct status_tree *t, const struct status *mine);

/* Takes the messages that have come and sends those that are due. Returns true when the round is
 * complete; then *merged is the status of all ranks. */
bool status_tree_poll(struct status_tree *t, struct status *merged);

#endif
