/* Waiting at a barrier for a share of a core.
 *
 * Whoever sleeps adds the rest of its nap to every message that waits for it, and a barrier over 512 nodes has six
 * messages in a row; whoever never sleeps takes a core from the readers. So waiting may cost a fixed share of a core:
 * while a rank computes it saves up that share, then spends it looking without a nap; once it is spent, naps are as
 * short as the share allows, and never longer than WAIT_NAP_MAX_NS. Where a node has more ranks than cores the cores
 * are the readers': there a rank naps at once.
 *
 * The first rank of a node, which moves messages between nodes, has the share of half its node's ranks.
 *
 * Pure arithmetic on the caller's clock; belongs to one thread. */
#ifndef HAUL_RANKS_MPI_WAIT_SHARE_H
#define HAUL_RANKS_MPI_WAIT_SHARE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	WAIT_NAP_MIN_NS = 15000,
	WAIT_NAP_MAX_NS = 80000,
	WAIT_LOOK_NS = 2500, /* processor time of a nap and the look after it */
	WAIT_SHARE = 33,     /* a 33rd of a core for each rank that is counted */
	WAIT_SAVED_MAX_NS = 1000000
};

struct wait_share {
	uint32_t ranks;    /* that are counted */
	bool crowded;      /* more ranks than cores */
	uint64_t saved_ns; /* may be spent looking without a nap */
	uint64_t last_ns;  /* when the wait before ended */
	uint64_t begun_ns; /* of the wait under way */
};

void wait_share_init(struct wait_share *w, uint32_t ranks, bool crowded, uint64_t now_ns);

/* A wait begins. */
void wait_share_begin(struct wait_share *w, uint64_t now_ns);

/* It is not over: how long to sleep before the next look. 0: not at all (yield). */
uint64_t wait_share_nap(const struct wait_share *w, uint64_t now_ns);

/* It is over. */
void wait_share_end(struct wait_share *w, uint64_t now_ns);

#endif
