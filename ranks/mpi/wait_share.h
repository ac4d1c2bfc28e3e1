/* SPDX-License-Identifier: Apache-2.0 */
/* Share of a core that a rank may spend on waiting at a barrier.
 *
 * A rank that sleeps adds the rest of its nap to every message that waits for it, and a barrier
 * over 512 nodes has six messages in a row. A rank that never sleeps takes a core from the readers.
 * So waiting may cost a fixed share of a core, and an account is kept of it: time adds the share,
 * and the processor time of each wait is taken from it. What a rank has saved up while it computed,
 * it spends on looking without a nap. After that, naps are as short as the share allows, and twice
 * as long while the account is overdrawn. What a nap and the look after it cost depends on the
 * machine (2 us, or 20 on a virtual one), so it is learned from the processor time of past naps.
 * Where a node has more ranks than cores, the cores belong to the readers: there a rank naps at
 * once.
 *
 * A neighbour may wake the rank from a nap (leader_link.h), by ringing. Neighbours come to the
 * barrier at about the same time, and each ring costs as much as a nap. So the first nap and the
 * one after a ring are short ones without listening: they let several rings pass.
 *
 * The first rank of a node, which moves messages between nodes, has the share of half of its node's
 * ranks.
 *
 * Pure arithmetic on the caller's clock. Belongs to one thread. */
#ifndef HAUL_RANKS_MPI_WAIT_SHARE_H
#define HAUL_RANKS_MPI_WAIT_SHARE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	WAIT_NAP_MIN_NS = 15000,
	WAIT_NAP_MAX_NS = 1000000,
	WAIT_DEAF_NS = 25000, /* the longest nap without listening */
	/* processor time of a nap and of the look after it: the first guess, and the bounds */
	WAIT_LOOK_NS = 2500,
	WAIT_LOOK_MAX_NS = 40000,
	/* Each counted rank may use a 42nd of a core. With what is spent outside of waits that is
	 * less than a 33rd. */
	WAIT_SHARE = 42,
	WAIT_SAVED_MAX_NS = 1000000,
	/* How much earlier than announced a neighbour is taken to nap. */
	WAIT_NAPS_EARLY_NS = 50000
};

struct wait_share {
	uint32_t ranks;     /* number of ranks whose share this rank has */
	bool crowded;       /* more ranks than cores */
	int64_t balance_ns; /* processor time that may be spent; below 0: overdrawn */
	uint64_t last_ns;   /* up to when the share has been added */
	uint64_t begun_ns;  /* when the current wait began */
	uint64_t look_ns;   /* processor time of a nap and a look, as far as it is known */
	bool deaf;          /* do not listen in the next nap */
};

struct wait_nap {
	uint64_t ns;  /* 0: do not sleep, yield */
	bool listens; /* a ring ends the nap */
};

void wait_share_init(struct wait_share *w, uint32_t ranks, bool crowded, uint64_t now_ns);

/* Call when a wait begins. */
void wait_share_begin(struct wait_share *w, uint64_t now_ns);

/* For how long a wait that began now would look without a nap, or WAIT_NEVER_LISTENS where its naps
 * are so short that no ring ends them. */
#define WAIT_NEVER_LISTENS UINT64_MAX
uint64_t wait_share_looks(const struct wait_share *w, uint64_t now_ns);

/* Call after each look in vain: how long to sleep before the next look. */
struct wait_nap wait_share_nap(const struct wait_share *w, uint64_t now_ns);

/* Call after a nap. rung: a ring has ended it. */
void wait_share_napped(struct wait_share *w, bool rung);

/* What naps in a wait took of processor time, with the looks after them. */
void wait_share_learn(struct wait_share *w, uint64_t naps, uint64_t processor_ns);

/* Call when the wait has ended, with the processor time that it took. Looking without a nap counts
 * in full, even if others had the core meanwhile: each look takes it from them for a moment. */
void wait_share_end(struct wait_share *w, uint64_t now_ns, uint64_t processor_ns);

/* Whether to ring a neighbour that came to the barrier at came_ns, and was going to look for
 * looks_ns without a nap. Its message was taken taken_ns ago; before that it may have lain here for
 * long. last_ns: when the last rank came, on the clock of came_ns; both are 0 where it is not
 * known. */
static inline bool wait_share_rings(uint64_t looks_ns, uint64_t taken_ns, uint64_t came_ns,
				    uint64_t last_ns)
{
	uint64_t waited_ns = last_ns > came_ns ? last_ns - came_ns : 0;

	if (looks_ns == WAIT_NEVER_LISTENS)
		return false;
	if (waited_ns < taken_ns)
		waited_ns = taken_ns;
	return !came_ns || waited_ns + WAIT_NAPS_EARLY_NS > looks_ns;
}

#endif
