/* SPDX-License-Identifier: Apache-2.0 */
/* Stop reason: why a phase ends early. When ranks agree, the largest reason wins (maximum).
 *
 * And what a stop means for requests: from when it has begun, none is tried again. A part of the
 * grace later (give_up_ns), stores that can give up those in flight, and take no more. */
#ifndef HAUL_CORE_STOP_H
#define HAUL_CORE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum stop_reason {
	STOP_NONE,
	STOP_OTHERS_ENDED,  /* a phase that runs at the same time has ended: a normal end */
	STOP_LIMIT,         /* the job's own limit of seconds, which is a normal end */
	STOP_OTHERS_FAILED, /* a phase that runs at the same time has failed */
	STOP_OVERDUE,       /* the job's own limit is long over, and a call does not come back */
	STOP_DEADLINE,      /* --deadline */
	STOP_SIGNAL,        /* TERM, INT, HUP or USR1 */
	STOP_ERROR          /* a rank met an error */
};

/* Set by the signal thread or any other thread of the process; read by the main thread. */
struct stop {
	_Atomic uint32_t reason;
	_Atomic uint64_t give_up_ns; /* by the kernel's clock; 0: no stop has begun */
};

static inline void stop_ask(struct stop *s, enum stop_reason reason)
{
	uint32_t old = atomic_load(&s->reason);

	while (old < (uint32_t)reason && !atomic_compare_exchange_weak(&s->reason, &old, reason))
		;
}

static inline enum stop_reason stop_asked(const struct stop *s)
{
	return (enum stop_reason)atomic_load_explicit(&s->reason, memory_order_relaxed);
}

/* Whether the run is to end early: no attempt at anything is made again. s may be NULL. */
static inline bool stop_began(const struct stop *s)
{
	return s && (stop_asked(s) > STOP_LIMIT ||
		     atomic_load_explicit(&s->give_up_ns, memory_order_relaxed));
}

/* Requests are given up from then on. UINT64_MAX: they are not, so the clock need not be read. s
 * may be NULL. */
static inline uint64_t stop_gives_up_at(const struct stop *s)
{
	uint64_t at_ns = s ? atomic_load_explicit(&s->give_up_ns, memory_order_relaxed) : 0;

	return at_ns ? at_ns : UINT64_MAX;
}

#endif
