/* SPDX-License-Identifier: Apache-2.0 */
/* Arrival process: when the operations of a thread start. They start at once, no faster than a
 * rate, or at fixed times (an open loop), evenly or as a Poisson process. Owned by one thread. */
#ifndef HAUL_WORKLOADS_COMMON_PACE_H
#define HAUL_WORKLOADS_COMMON_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/content/random.h"
#include "core/err.h"

enum pace_arrivals { ARRIVALS_PACED, ARRIVALS_CONSTANT, ARRIVALS_POISSON };
extern const char *const pace_arrivals_names[];

/* Of all ranks together. Without rate and bandwidth there is no limit. */
struct pace_options {
	double rate;        /* operations per second */
	uint64_t bandwidth; /* bytes per second */
	uint32_t arrivals;
};

/* Checks rules that an option table cannot express. moves: whether an operation moves bytes.
 * operation: its name; path: that of the phase; both for messages. */
int pace_check(const struct pace_options *o, bool moves, const char *operation, const char *path,
	       struct err *err);

/* The operations per second that o asks of all ranks, with operations of that many bytes; 0: no
 * limit. */
double pace_rate(const struct pace_options *o, double operation_bytes);

struct pace {
	bool limited, open_loop, poisson;
	uint64_t interval_q;     /* in units of 2^-24 ns */
	uint64_t base_ns, taken; /* the next operation is due at base + taken intervals */
	uint64_t next_ns;
	struct draw gap;
	struct random random;
};

/* The share of one of `threads` threads in the rate that o asks of all, from start_ns on. Threads
 * begin spread over the first interval. operation_bytes: of an operation on average, for a
 * bandwidth. */
void pace_init(struct pace *p, const struct pace_options *o, double operation_bytes, uint64_t seed,
	       uint64_t thread, uint64_t threads, uint64_t start_ns);

/* When the next operation may start; 0: at once. */
static inline uint64_t pace_next(const struct pace *p)
{
	return p->limited ? p->next_ns : 0;
}

/* The operation starts now. Returns when it was due, or 0 where operations have no due time. */
uint64_t pace_take(struct pace *p, uint64_t now_ns);

#endif
