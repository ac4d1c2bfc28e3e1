/* Time: monotonic nanoseconds, from the kernel or, in tests, from a counter that moves only when
 * told or slept upon.
 *
 * A clock is passed in, never global. The real clock may be used by any number of threads; a fake
 * one too (its counter is atomic), sleeping moves it forward at once. */
#ifndef HAUL_CORE_CLOCK_H
#define HAUL_CORE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CLOCK_SPIN_NS = 100000 };

struct clock {
	bool fake;
	bool spin; /* a sleep ends with up to CLOCK_SPIN_NS of spinning: exact, for ranks <= cores */
	_Atomic uint64_t fake_ns;
};

void clock_init(struct clock *c);
void clock_init_fake(struct clock *c, uint64_t start_ns);
void clock_advance(struct clock *c, uint64_t ns); /* fake clocks only */

/* CLOCK_MONOTONIC in ns. */
uint64_t clock_kernel_ns(void);

static inline uint64_t clock_now(const struct clock *c)
{
	return c->fake ? atomic_load_explicit(&c->fake_ns, memory_order_relaxed)
		       : clock_kernel_ns();
}

/* Returns at until_ns or later, never earlier (a signal does not shorten it). With c->spin the
 * last CLOCK_SPIN_NS are spun, so that it returns within a microsecond or so. */
void clock_sleep_until(struct clock *c, uint64_t until_ns);

/* Wall clock: ns since 1970 UTC, for dates in results only. */
uint64_t clock_utc_ns(void);

#endif
