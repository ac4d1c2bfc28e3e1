/* Why a phase ends before its end. Larger reasons win when ranks agree (maximum). */
#ifndef HAUL_CORE_STOP_H
#define HAUL_CORE_STOP_H

#include <stdatomic.h>
#include <stdint.h>

enum stop_reason {
	STOP_NONE,
	STOP_LIMIT,    /* the job's own limit of seconds: a normal end */
	STOP_DEADLINE, /* --deadline */
	STOP_SIGNAL,   /* TERM, INT, HUP or USR1 */
	STOP_ERROR     /* a rank met an error */
};

/* Asked for by the signal thread or anyone else in the process, seen by the main thread. */
struct stop {
	_Atomic uint32_t reason;
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

#endif
