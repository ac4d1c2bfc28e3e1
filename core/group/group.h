/* A group of ranks, as workloads see it: a table of operations, implemented on MPI by ranks/ and on
 * threads of one process by core/thread_group. Everything is uint64_t words or fixed records.
 *
 * A group belongs to one thread of each rank (the main thread); every call but group_status_* is
 * collective and in the same order on all ranks. Waits are polite: they leave the cores to I/O
 * threads. Calls return 0 or a negative errno that is the same on every rank. */
#ifndef HAUL_CORE_GROUP_GROUP_H
#define HAUL_CORE_GROUP_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum merge { MERGE_SUM, MERGE_MAX, MERGE_MIN, MERGES };

/* What a status round carries: the same words for every phase, and four that belong to the phase. */
enum { STATUS_OWN_WORDS = 4, STATUS_WORDS = 6 + STATUS_OWN_WORDS };
struct status {
	uint64_t stop; /* enum stop_reason; merged by maximum */
	uint64_t
		unfinished; /* 1 while this rank has steps to do; at a step's barrier: this step. Maximum */
	uint64_t step;    /* steps done; maximum */
	uint64_t waiting; /* 1 while waiting for storage; sum */
	/* When this rank came to the round, on its clock, or 0. Merged: when the last rank did, on the clock of
	 * whoever reads it; 0 where the ranks' clocks are not aligned. */
	uint64_t arrived_ns;
	/* The phase's words, and how they are merged (STATUS_MERGE), the same on all ranks. */
	uint64_t merge;
	uint64_t word[STATUS_OWN_WORDS];
};
_Static_assert(sizeof(struct status) == 8 * STATUS_WORDS, "a plain array");

/* word[i] is merged by `how` (enum merge): for status.merge, joined by "|". */
#define STATUS_MERGE(i, how) ((uint64_t)(how) << 2 * (i))

/* Adds the words of one rank, or of several, to those of others. */
void status_merge(struct status *into, const struct status *from);

struct group;

struct group_ops {
	int (*allreduce)(struct group *g, enum merge merge, uint64_t *words, size_t n);
	int (*reduce)(struct group *g, enum merge merge, uint64_t *words, size_t n);
	int (*broadcast)(struct group *g, void *data, size_t bytes);
	int (*gather)(struct group *g, const void *record, size_t bytes, void *all);
	int (*scatter)(struct group *g, const void *all, size_t bytes, void *record);
	int (*send)(struct group *g, uint32_t to, const void *data, size_t bytes);
	int (*receive)(struct group *g, uint32_t from, void *data, size_t bytes);
	int (*split)(struct group *g, uint32_t color, struct group **out, struct err *err);
	int (*shared)(struct group *g, size_t bytes, void **block, struct err *err);
	void (*status_post)(struct group *g, const struct status *mine);
	bool (*status_test)(struct group *g, struct status *merged);
	void (*status_wait)(struct group *g, struct status *merged); /* NULL: by testing */
	void (*stop_tell)(struct group *g, uint64_t reason);
	uint64_t (*stop_heard)(struct group *g);
	void (*free)(struct group *g);
};

struct group {
	const struct group_ops *ops;
	uint32_t rank, size;
	/* Names this rank in sentences for others: "rank 3 on node7"; NULL: "rank 3". Groups made from this one inherit
	 * it. */
	const char *label;
	void *node_blocks; /* the first of the blocks that stores keep here (backends/node_block.h); NULL at first */
};

/* In place; the result stands on every rank (allreduce) or on rank 0 (reduce; others' words are
 * then undefined). */
int group_allreduce(struct group *g, enum merge merge, uint64_t *words, size_t n);
int group_reduce(struct group *g, enum merge merge, uint64_t *words, size_t n);
int group_barrier(struct group *g);

/* From rank 0 to all. */
int group_broadcast(struct group *g, void *data, size_t bytes);

/* Fixed records: all holds size records of bytes each on rank 0, NULL elsewhere. */
int group_gather(struct group *g, const void *record, size_t bytes, void *all);
int group_scatter(struct group *g, const void *all, size_t bytes, void *record);

/* Small messages between two ranks of the group. */
int group_send(struct group *g, uint32_t to, const void *data, size_t bytes);
int group_receive(struct group *g, uint32_t from, void *data, size_t bytes);

/* Ranks of the same colour form a new group, in the order of their ranks. group_duplicate: the same
 * ranks, separate messages: each phase that runs beside another has its own. */
int group_split(struct group *g, uint32_t color, struct group **out, struct err *err);
int group_duplicate(struct group *g, struct group **out, struct err *err);

/* A zeroed block shared by all ranks of the group, which must be on one node; freed with the group.
 * Its pages are touched by whoever uses them first. */
int group_shared(struct group *g, size_t bytes, void **block, struct err *err);

/* Status rounds: at most one is under way. post starts one with this rank's words; test says whether
 * it has completed and gives the merged words. Never blocks. A round gets on while its ranks test it. */
void group_status_post(struct group *g, const struct status *mine);
bool group_status_test(struct group *g, struct status *merged);

/* A status round waited for to its end: the barrier of a step. */
int group_status(struct group *g, const struct status *mine, struct status *merged);

/* A reason to stop (enum stop_reason) that must not wait for the end of a round, because ranks compute for long
 * between two of them: tell spreads it to all ranks, heard returns the largest that has come so far. Both never
 * block; ranks hear of it when they ask. Nothing is ever taken back. */
void group_stop_tell(struct group *g, uint64_t reason);
uint64_t group_stop_heard(struct group *g);

/* All ranks agree on an error: every rank calls with its own rc and err; all return the rc of the
 * lowest rank that has one, with its sentence in err (preceded by that rank's label when it comes from
 * another rank and ranks differ). 0 when none has one. */
int group_agree(struct group *g, int rc, struct err *err);

/* For clang's analyzer, which reads one file at a time: an own error is never answered by 0. */
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
