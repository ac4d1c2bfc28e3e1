/* Share of a core that a rank may spend on waiting at a barrier.
 *
 * A rank that sleeps adds the rest of its nap to every message that waits for it, and a barrier
 * over 512 nodes has six messages in a row. A rank that never sleeps takes a core from the readers.
 * So waiting may cost a fixed share of a core: while a rank computes it saves up that share, and
 * then spends it on looking without a nap. Once the share is spent, naps are as short as the share
 * allows, and never longer than WAIT_NAP_MAX_NS. What a nap and the look after it cost depends on
 * the machine (2 us, or 12 on a virtual one), so it is learned from the processor time of past
 * naps. Where a node has more ranks than cores, the cores belong to the readers: there a rank naps
 * at once.
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
	WAIT_NAP_MAX_NS = 400000,
	/* processor time of a nap and of the look after it: the first guess, and the bounds */
	WAIT_LOOK_NS = 2500,
	WAIT_LOOK_MAX_NS = 20000,
	/* Each counted rank may use a 40th of a core. With the round itself that is less than a
	 * 33rd. */
	WAIT_SHARE = 40,
	WAIT_SAVED_MAX_NS = 1000000
};

struct wait_share {
	uint32_t ranks;    /* number of ranks whose share this rank has */
	bool crowded;      /* more ranks than cores */
	uint64_t saved_ns; /* time that may be spent on looking without a nap */
	uint64_t last_ns;  /* when the previous wait ended */
	uint64_t begun_ns; /* when the current wait began */
	uint64_t look_ns;  /* processor time of a nap and a look, as far as it is known */
};

void wait_share_init(struct wait_share *w, uint32_t ranks, bool crowded, uint64_t now_ns);

/* Call when a wait begins. */
void wait_share_begin(struct wait_share *w, uint64_t now_ns);

/* Call after each look in vain: how long to sleep before the next look. 0: do not sleep, yield. */
uint64_t wait_share_nap(const struct wait_share *w, uint64_t now_ns);

/* What naps in a wait took of processor time, with the looks after them. */
void wait_share_learn(struct wait_share *w, uint64_t naps, uint64_t processor_ns);

/* Call when the wait has ended. */
void wait_share_end(struct wait_share *w, uint64_t now_ns);

#endif
