/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a set is a thread's, and in which order: a function of its place. The items of a
 * rank are the blocks of its objects one after the other (or its blocks of the shared object, or
 * its objects, where an operation is a whole object or concerns its name); its threads take
 * consecutive parts. The blocks of a shared object are shared out evenly, whether or not the number
 * of ranks divides them. The last block of an object may be shorter than the others. Plain data,
 * owned by one thread. */
#ifndef HAUL_WORKLOADS_IO_SHARE_H
#define HAUL_WORKLOADS_IO_SHARE_H

#include "core/content/permutation.h"
#include "workloads/io/set.h"

struct io_item {
	uint64_t object; /* of the rank whose objects these are; 0 where there is one for all */
	uint64_t offset, length;
	bool last; /* of that object, and of its part here */
};

struct io_share {
	const struct io_set *set;
	uint64_t rank;         /* whose items */
	uint64_t first, items; /* items 0: nothing to do */
	bool objects;          /* items are objects */
	/* Of an object, or of the rank's part of a shared one; bytes: of the whole object, where
	 * its last block ends; base: the block where a part in one piece begins. */
	uint64_t blocks, block, bytes, base;
	uint32_t order;
	uint64_t key;
	/* Where the set is unfinished: the order in which its items were written. */
	bool rewrites;
	struct permutation written;

	struct permutation permutation;
	uint64_t next, drawn; /* within the pass; in all */
	uint64_t pass;
};

/* The share of thread number `thread` of the items of that rank. whole: see io_whole. */
void io_share_init(struct io_share *s, const struct io_set *set, const struct io_options *o,
		   bool whole, uint64_t rank, uint64_t thread);

/* The next item. Goes on for ever, pass after pass. */
void io_share_next(struct io_share *s, struct io_item *item);

#endif
