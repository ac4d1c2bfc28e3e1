/* SPDX-License-Identifier: Apache-2.0 */
/* Handover: how the ranks of a replica that do not read a batch get it from the one that does, as the tensor-parallel
 * ranks of Megatron get theirs by a broadcast.
 *
 *	the reader's node                           another node of the replica
 *
 *	reader ──► ring ──► rank, rank, …           first rank ──► ring ──► rank, rank, …
 *	   └────────────── messages ───────────────►┘    └──── messages ────► the next node's first rank
 *
 * A batch goes in pieces, and the first piece says what the batch is. On a node, the first rank copies each piece into
 * a ring in shared memory, and every other rank copies it from there. Between nodes a piece is a message, which the
 * first rank of the next node asks for when it has room; the nodes of a replica form a tree. So memory is bounded, and
 * no rank is ahead of another by more than the ring.
 *
 * What moves and who waits for whom is real, the content is not: samples are streamed through the buffers of the loader
 * and are gone when the batch is complete. So as many bytes as the batch has are copied from a buffer of the reader
 * into a buffer of each receiver.
 *
 * Whoever waits polls, and may give up then. A rank that gives up leaves no other one in a call that cannot end: it
 * answers those that ask it for a piece, and says farewell where the ranks have met (handover_end).
 *
 * Belongs to the rank's main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_HANDOVER_H
#define HAUL_WORKLOADS_TRAIN_HANDOVER_H

#include "core/buffers.h"
#include "core/clock.h"
#include "core/group/group.h"
#include "workloads/train/loader/reader.h"

enum { HANDOVER_SLOTS = 2, HANDOVER_FAN_OUT = 2, HANDOVER_PIECE_MAX = 16 << 20 };

/* The first rank of a node that gets its pieces from this one. */
struct handover_child {
	uint32_t rank; /* in between */
	bool served;   /* it has the whole batch, or knows that it will not come */
	bool left;     /* it has said farewell */
};

struct handover_board;

struct handover {
	/* Set by the caller before the first batch. Called while this rank waits, at least every 10
	 * ms; true: give up. */
	bool (*pause)(void *pause_argument);
	void *pause_argument;

	struct clock *clock;
	struct group *node; /* the ranks of the replica on this node */
	struct group *
		between; /* the first ranks of the replica's nodes; NULL on others, and on one node */
	struct handover_board *board; /* NULL: this rank is the only one of its replica here */
	uint8_t *slots;               /* HANDOVER_SLOTS pieces, behind the board */
	uint64_t piece_bytes;         /* at most; 0: nothing is copied */
	struct buffers buffers;
	void *buffer;      /* bytes that are sent, or have come */
	uint64_t position; /* pieces that went through the ring */
	uint32_t free;     /* receivers of this node that have room for the next piece */
	uint32_t child_count;
	struct handover_child children[HANDOVER_FAN_OUT];
	uint64_t began_ns; /* when the first piece of this batch could be copied; 0: not yet */
};

/* all: the ranks of the phase; node: this rank's, as of struct rank_place, of nodes. replica: its
 * number. piece_bytes: of a batch at a time, at most HANDOVER_PIECE_MAX, the same on all ranks.
 * Collective over all. */
int handover_open(struct handover *h, struct group *all, uint32_t replica, uint32_t node,
		  uint32_t nodes, uint64_t piece_bytes, struct clock *clock, struct err *err);
void handover_close(
	struct handover *h); /* collective; also of one that was zeroed and never opened */

/* The reader's side: b, of which bytes are copied, goes to all others of the replica. False: given
 * up. */
bool handover_give(struct handover *h, const struct batch *b, uint64_t bytes);
/* Instead: there will be no batch in this step. */
void handover_withhold(struct handover *h);

/* The others' side. False: given up, or withheld. */
bool handover_take(struct handover *h, struct batch *out);

/* Where the ranks have met after their steps, on all of them, whatever ended these. After steps
 * that were given up no others follow. */
void handover_end(struct handover *h);

/* Memory of a rank: of the first of its replica on the node, and of the others. */
uint64_t handover_bytes(uint64_t piece_bytes, bool first);

#endif
