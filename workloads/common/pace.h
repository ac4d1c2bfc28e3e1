/* When a thread's operations start: at once, no faster than a rate, or at times of their own (an open
 * loop), evenly or as a Poisson process. Owned by one thread. */
#ifndef HAUL_WORKLOADS_COMMON_PACE_H
#define HAUL_WORKLOADS_COMMON_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/content/random.h"
#include "workloads/io/io.h"

struct io_pace {
	bool limited, open_loop, poisson;
	uint64_t interval_q;     /* ns, 2^-24 of them */
	uint64_t base_ns, taken; /* the next is due at base + taken intervals */
	uint64_t next_ns;
	struct draw gap;
	struct random random;
};

/* The share of one of so many threads of the rate that o asks of all, from start_ns on. Threads
 * begin spread over the first interval. */
void io_pace_init(struct io_pace *p, const struct io_options *o, uint64_t seed, uint64_t thread,
		  uint64_t threads, uint64_t start_ns);

/* When the next operation may start; 0: at once. */
static inline uint64_t io_pace_next(const struct io_pace *p)
{
	return p->limited ? p->next_ns : 0;
}

/* It starts now. Returns when it was due, or 0 where no operation is due before its turn. */
uint64_t io_pace_take(struct io_pace *p, uint64_t now_ns);

#endif
