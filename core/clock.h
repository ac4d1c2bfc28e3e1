/* Clock: monotonic nanoseconds from the kernel or, in tests, from a counter that moves only when it
 * is told to or when somebody sleeps.
 *
 * A clock is passed in, never global. Any number of threads may use a clock. A fake clock's counter
 * is atomic; a sleep moves it forward at once. */
#ifndef HAUL_CORE_CLOCK_H
#define HAUL_CORE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How long the end of a sleep is spun: at least, at most, and at most this part of the sleep. */
enum { CLOCK_SPIN_NS = 100000, CLOCK_SPIN_MAX_NS = 400000, CLOCK_SPIN_PART = 16 };

struct clock {
	bool fake;
	bool spin;                /* spin the end of each sleep: exact, for ranks <= cores */
	_Atomic uint32_t spin_ns; /* how late this machine wakes sleepers: learned */
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

/* Returns at until_ns or later, never earlier; a signal does not shorten the sleep. With c->spin
 * the end is spun, so that the call returns within about a microsecond. It spins for CLOCK_SPIN_NS,
 * and for longer on a machine that wakes sleepers later than that, as virtual machines often do. */
void clock_sleep_until(struct clock *c, uint64_t until_ns);

/* How long to spin from now on, after a sleep that left spin_ns for spinning and ended late_ns
 * late. The value settles where about one sleep in 25 ends too late. */
uint32_t clock_spin_next(uint32_t spin_ns, uint64_t late_ns);

/* Wall clock: ns since 1970 UTC, for dates in results only. */
uint64_t clock_utc_ns(void);

#endif
