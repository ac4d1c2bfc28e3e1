/* Arrival process: when the operations of a thread start. At once, no faster than a rate, or at times of their own
 * (an open loop), evenly or as a Poisson process. Owned by one thread. */
#ifndef HAUL_WORKLOADS_COMMON_PACE_H
#define HAUL_WORKLOADS_COMMON_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/content/random.h"
#include "core/err.h"

enum pace_arrivals { ARRIVALS_PACED, ARRIVALS_CONSTANT, ARRIVALS_POISSON };
extern const char *const pace_arrivals_names[];

/* Of all ranks together; neither rate nor bandwidth: no limit. */
struct pace_options {
	double rate;        /* operations per second */
	uint64_t bandwidth; /* bytes per second */
	uint32_t arrivals;
};

/* What no table can refuse. moves: whether an operation moves bytes; operation: its name, path: the phase's, for the
 * sentences. */
int pace_check(const struct pace_options *o, bool moves, const char *operation, const char *path,
	       struct err *err);

/* Operations per second that o asks of all ranks, of so many bytes each; 0: no limit. */
double pace_rate(const struct pace_options *o, double operation_bytes);

struct pace {
	bool limited, open_loop, poisson;
	uint64_t interval_q;     /* ns, 2^-24 of them */
	uint64_t base_ns, taken; /* the next is due at base + taken intervals */
	uint64_t next_ns;
	struct draw gap;
	struct random random;
};

/* The share of one of so many threads of the rate that o asks of all, from start_ns on. Threads begin spread over
 * the first interval. operation_bytes: of an operation on average, for a bandwidth. */
void pace_init(struct pace *p, const struct pace_options *o, double operation_bytes, uint64_t seed,
	       uint64_t thread, uint64_t threads, uint64_t start_ns);

/* When the next operation may start; 0: at once. */
static inline uint64_t pace_next(const struct pace *p)
{
	return p->limited ? p->next_ns : 0;
}

/* It starts now. Returns when it was due, or 0 where no operation is due before its turn. */
uint64_t pace_take(struct pace *p, uint64_t now_ns);

#endif
