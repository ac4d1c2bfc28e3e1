/* SPDX-License-Identifier: Apache-2.0 */
/* A segment that is searched while it changes: two generations of it, of which one is searched. A merge
 * makes the other one, and turns to it; the searches that have begun end on the one that they began
 * with, and when the last has left, its file is closed and removed.
 *
 * Any thread may enter and leave; one thread turns. Handles of open objects are shared by all. */
#ifndef HAUL_WORKLOADS_VECTOR_LIVE_H
#define HAUL_WORKLOADS_VECTOR_LIVE_H

#include <stdatomic.h>

#include "backends/request.h"
#include "workloads/vector/hot.h"
#include "workloads/vector/index.h"

struct vector_live {
	_Atomic uint64_t turn; /* the generation since the phase began; its lowest bit says where */
	_Atomic uint64_t readers[2];
	/* Far from what all searches write. */
	_Alignas(128) struct vector_index index[2];
	struct hot hot[2];
	struct object object[2]; /* open to read */
};

/* What searches and merges of a rank tell each other. */
struct vector_meanwhile {
	_Atomic bool merging;
	_Atomic bool over; /* searches begin nothing more */
};

/* Where the generation is that is searched from now on, until it is left. */
static inline uint32_t vector_live_enter(struct vector_live *l)
{
	for (;;) {
		uint64_t turn = atomic_load(&l->turn);
		uint32_t at = turn & 1;

		atomic_fetch_add(&l->readers[at], 1);
		/* It turned meanwhile, and nobody waits for this reader. */
		if (atomic_load(&l->turn) == turn)
			return at;
		atomic_fetch_sub(&l->readers[at], 1);
	}
}

static inline void vector_live_leave(struct vector_live *l, uint32_t at)
{
	atomic_fetch_sub(&l->readers[at], 1);
}

#endif
