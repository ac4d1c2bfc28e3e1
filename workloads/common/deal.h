/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing out of files to ranks: file i of a list goes to rank i % ranks. When some ranks have
 * nothing left, the files that nobody has begun are dealt again to all, so that a slow rank holds
 * up nobody. No rank keeps a list: of each deal, it keeps how many files each rank gave back, and
 * computes from that which file is meant.
 *
 * The main thread calls deal_open, deal_again and deal_close; any thread of the rank takes files.
 * Taking is one atomic addition. */
#ifndef HAUL_WORKLOADS_COMMON_DEAL_H
#define HAUL_WORKLOADS_COMMON_DEAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/group/group.h"

/* Each deal leaves a rank a fraction 1 / ranks of what was left, so few are needed. */
enum { DEALS_MAX = 16 };

struct deal {
	uint64_t files; /* of the first list */
	uint32_t rank, ranks;
	uint32_t count; /* deals so far, beside the first */
	bool no_memory; /* for another one on some rank */
	/* Of each list that was dealt again: before[r] files were given back by ranks below r, and
	 * before[ranks] by all. They are the next list, in this order. After that, the place of
	 * each rank in the next deal: those that wait come first. */
	uint64_t *before[DEALS_MAX];
	/* The deal in the upper bits, and how many of its files this rank has taken. */
	_Atomic uint64_t next;
};

void deal_open(struct deal *d, uint64_t files, const struct group *group);
void deal_close(struct deal *d);

/* Takes the next file of this rank. Returns false when there is none. */
bool deal_take(struct deal *d, uint64_t *file);

/* Whether this rank has files that it has not begun. Main thread. */
bool deal_left(struct deal *d);

/* Whether deal_again may be called once more. The same on all ranks. */
static inline bool deal_may(const struct deal *d)
{
	return d->count < DEALS_MAX && !d->no_memory;
}

/* All ranks give back what they have not begun, and it is dealt out again, first to ranks that
 * wait. Collective. Without memory on some rank nothing changes. */
int deal_again(struct deal *d, bool waits, struct group *group);

#endif
