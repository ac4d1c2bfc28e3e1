/* SPDX-License-Identifier: Apache-2.0 */
/* Group of ranks, as workloads see it: a table of operations, implemented on MPI by ranks/ and on
 * threads of one process by tests/libs/doubles/thread_group. All data are uint64_t words or fixed
 * records.
 *
 * A group belongs to one thread of each rank (the main thread). Every call except group_status_*,
 * group_post and group_take is collective, and all ranks make the calls in the same order. While it
 * waits, a rank leaves the cores to the I/O threads. Calls return 0 or a negative errno that is the
 * same on every rank. */
#ifndef HAUL_CORE_GROUP_GROUP_H
#define HAUL_CORE_GROUP_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum merge { MERGE_SUM, MERGE_MAX, MERGE_MIN, MERGES };

/* What a status round carries: words that mean the same in every phase, and five that belong to the
 * phase. */
enum { STATUS_OWN_WORDS = 5, STATUS_WORDS = 7 + STATUS_OWN_WORDS };
struct status {
	uint64_t stop; /* enum stop_reason; merged by maximum */
	/* 1 while this rank has steps to do; at a step's barrier: this step; merged by maximum */
	uint64_t unfinished;
	uint64_t step;    /* steps done; merged by maximum */
	uint64_t waiting; /* 1 while waiting for storage; merged by sum */
	/* When this rank came to the round, on its own clock, or 0. Merged: when the last rank
	 * came, on the clock of the rank that reads it; 0 where the ranks' clocks are not
	 * aligned. */
	uint64_t arrived_ns;
	/* Number of the latest snapshot that this rank has ready (workloads/common/snapshot.h);
	 * merged by minimum: all ranks have it. 0: none */
	uint64_t snapshot;
	/* The words of the phase, and how they are merged (STATUS_MERGE). Both are the same on all
	 * ranks. */
	uint64_t merge;
	uint64_t word[STATUS_OWN_WORDS];
};
_Static_assert(sizeof(struct status) == 8 * STATUS_WORDS, "a plain array");

/* Merge word[i] by `how` (enum merge). Join several with "|" in status.merge. */
#define STATUS_MERGE(i, how) ((uint64_t)(how) << 2 * (i))

/* Merges the words of one or several ranks into those of others. */
void status_merge(struct status *into, const struct status *from);

/* What a rank waits for, told while it waits. */
enum { GROUP_WAIT_BYTES = 192 };
struct group_wait {
	uint64_t elapsed_ns;           /* 0: it no longer waits */
	char object[GROUP_WAIT_BYTES]; /* what is read or written, as far as it is known */
};

struct group;

struct group_ops {
	int (*allreduce)(struct group *g, enum merge merge, uint64_t *words, size_t n);
	int (*reduce)(struct group *g, enum merge merge, uint64_t *words, size_t n);
	int (*broadcast)(struct group *g, void *data, size_t bytes);
	int (*gather)(struct group *g, const void *record, size_t bytes, void *all);
	int (*scatter)(struct group *g, const void *all, size_t bytes, void *record);
	int (*send)(struct group *g, uint32_t to, const void *data, size_t bytes);
	int (*receive)(struct group *g, uint32_t from, void *data, size_t bytes);
	bool (*arrived)(struct group *g, uint32_t from);
	int (*post)(struct group *g, uint32_t to, uint32_t channel, const void *data, size_t bytes);
	int (*take)(struct group *g, uint32_t channel, uint32_t *from, void *data, size_t bytes);
	int (*split)(struct group *g, uint32_t color, struct group **out, struct err *err);
	int (*shared)(struct group *g, size_t bytes, void **block, struct err *err);
	void (*status_post)(struct group *g, const struct status *mine);
	bool (*status_test)(struct group *g, struct status *merged);
	void (*status_wait)(struct group *g, struct status *merged); /* NULL: wait by testing */
	void (*stop_tell)(struct group *g, uint64_t reason);
	uint64_t (*stop_heard)(struct group *g);
	void (*wait_tell)(struct group *g,
			  const struct group_wait *wait); /* NULL: nobody is told */
	void (*free)(struct group *g);
};

struct group {
	const struct group_ops *ops;
	uint32_t rank, size;
	/* Names this rank in messages to others: "rank 3 on node7". NULL means "rank 3". Groups
	 * made from this one inherit it. */
	const char *label;
	/* Memory that the stores of a run share on this node (backends/node_block.h), or NULL. A
	 * group split from this one has the same. */
	void *node_blocks;
};

/* In place. The result is on every rank (allreduce) or on rank 0 (reduce; the words of other ranks
 * are then undefined). */
int group_allreduce(struct group *g, enum merge merge, uint64_t *words, size_t n);
int group_reduce(struct group *g, enum merge merge, uint64_t *words, size_t n);
int group_barrier(struct group *g);

/* Whether all ranks have the same word. */
int group_same(struct group *g, uint64_t word, bool *same);

/* Sends from rank 0 to all. */
int group_broadcast(struct group *g, void *data, size_t bytes);

/* Fixed records. all holds size records of bytes each on rank 0 and is NULL elsewhere. */
int group_gather(struct group *g, const void *record, size_t bytes, void *all);
int group_scatter(struct group *g, const void *all, size_t bytes, void *record);

/* Small messages between two ranks of the group. */
int group_send(struct group *g, uint32_t to, const void *data, size_t bytes);
int group_receive(struct group *g, uint32_t from, void *data, size_t bytes);

/* Whether a message from that rank can be received without waiting for its sender, or the sender
 * has left. Never blocks: for ranks that have other work to do while they wait. */
bool group_arrived(struct group *g, uint32_t from);

/* Letters: small messages that come when the receiver has not asked for them, and from anybody.
 * Those of a channel between two ranks arrive in order; a channel that is full stops no other one.
 * post returns 0, or -EAGAIN: there is no room just now. take returns 1 and who has sent it, or 0:
 * there is none. bytes is the same in all calls for a channel, at most GROUP_LETTER_BYTES. Neither
 * blocks, and the data may be changed afterwards. Before a group is freed, all of its letters must
 * have been taken. */
enum { GROUP_LETTER_BYTES = 192, GROUP_CHANNELS = 2 };
int group_post(struct group *g, uint32_t to, uint32_t channel, const void *data, size_t bytes);
int group_take(struct group *g, uint32_t channel, uint32_t *from, void *data, size_t bytes);

/* Ranks of the same colour form a new group, in the order of their ranks. group_duplicate makes a
 * group of the same ranks with separate messages: phases that run at the same time need one
 * each. */
int group_split(struct group *g, uint32_t color, struct group **out, struct err *err);
int group_duplicate(struct group *g, struct group **out, struct err *err);

/* A zeroed block shared by all ranks of the group, which must be on one node. It is freed with the
 * group. Its pages are touched by whoever uses them first. */
int group_shared(struct group *g, size_t bytes, void **block, struct err *err);

/* Status rounds; at most one is under way. post starts a round with this rank's words. test reports
 * whether it has completed and gives the merged words. Neither blocks. A round makes progress while
 * its ranks test it. */
void group_status_post(struct group *g, const struct status *mine);
bool group_status_test(struct group *g, struct status *merged);

/* A complete status round: posts and waits for its end. This is the barrier of a step. */
int group_status(struct group *g, const struct status *mine, struct status *merged);

/* A reason to stop (enum stop_reason) that must not wait for the end of a round, because ranks
 * compute for long between two rounds. tell spreads it to all ranks; heard returns the largest
 * reason that has come so far. Both never block. Ranks learn of it when they ask. A reason is never
 * withdrawn. */
void group_stop_tell(struct group *g, uint64_t reason);
uint64_t group_stop_heard(struct group *g);

/* This rank has waited for storage for so long that people should know. Call it again and again
 * while the wait lasts, and once with 0 when it is over. Rank 0 logs it. Never blocks. */
void group_wait_tell(struct group *g, const struct group_wait *wait);

/* All ranks agree on an error: every rank calls with its own rc and err, and all return the rc of
 * the lowest rank that has an error, with its sentence in err. The sentence begins with that rank's
 * label when it comes from another rank and the ranks differ. Returns 0 when no rank has an
 * error. */
int group_agree(struct group *g, int rc, struct err *err);

/* For clang's analyzer, which reads one file at a time: a rank with an error never gets 0. */
#ifdef __clang_analyzer__
static inline int group_agree_seen(struct group *g, int rc, struct err *err)
{
	int agreed = group_agree(g, rc, err);

	return rc < 0 ? rc : agreed;
}
#define group_agree(g, rc, err) group_agree_seen(g, rc, err)
#endif

void group_free(struct group *g);

#endif
