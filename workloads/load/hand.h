/* SPDX-License-Identifier: Apache-2.0 */
/* Handing on: one rank of a tensor group reads the model, and the others of its node get each piece from it through a
 * ring in shared memory, as a broadcast between the accelerators of a node would bring it to them.
 *
 *	rank that reads                            other ranks
 *	thread 0 ──► | slot | slot |  lane 0 ──►   thread 0 of each
 *	thread 1 ──► | slot | slot |  lane 1 ──►   thread 1 of each
 *
 * A thread copies what it has read into a slot of its lane, and the thread of the same number of every other rank copies
 * it from there into a buffer of its own. So memory is bounded, and no rank is ahead of another by more than the slots of
 * a lane. Bytes come from the store once per group.
 *
 * open, close and reset belong to the main thread; each lane belongs to the threads of its number. Whoever waits polls,
 * and gives up when its crew halts. */
#ifndef HAUL_WORKLOADS_LOAD_HAND_H
#define HAUL_WORKLOADS_LOAD_HAND_H

#include <stdatomic.h>

#include "workloads/workload.h"

enum { HAND_SLOTS = 2 };

struct load_hand {
	struct group *group; /* the tensor group; NULL: every rank reads for itself */
	bool reads;          /* this rank reads */
	uint32_t others;     /* ranks that it hands on to */
	uint32_t lanes;
	uint64_t slot_bytes;
	uint8_t *block; /* shared */
};

/* Ranks r with the same r / tensor are a group, whose first one reads. All of a group must be on
 * one node: -EINVAL with a sentence. Collective. Call load_hand_close also after an error. */
int load_hand_open(struct load_hand *h, const struct phase_context *ctx, uint64_t tensor,
		   uint32_t lanes, uint64_t slot_bytes, struct err *err);
void load_hand_close(struct load_hand *h);

/* Shared memory of a group. */
uint64_t load_hand_bytes(uint32_t lanes, uint64_t slot_bytes);

/* Before each load, while no thread works; the ranks meet after it. */
void load_hand_reset(struct load_hand *h);

/* The rank that reads: hands on at most slot_bytes, and tells that no more will come. -ECANCELED:
 * given up. */
int load_hand_give(struct load_hand *h, uint32_t lane, const void *bytes, uint64_t length,
		   const _Atomic bool *halt);
void load_hand_end(struct load_hand *h, uint32_t lane);

/* The others: waits for piece number i of the lane and copies it. Sets *length to 0 after the last
 * piece. */
int load_hand_take(struct load_hand *h, uint32_t lane, uint64_t i, void *into, uint64_t *length,
		   const _Atomic bool *halt);

#endif
