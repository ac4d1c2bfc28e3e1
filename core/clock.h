/* SPDX-License-Identifier: Apache-2.0 */
/* Clock: monotonic nanoseconds from the kernel or, in tests, from a counter
 * (tests/libs/doubles/fake_clock.h).
 *
 * A clock is passed in, never global. Any number of threads may use a clock. */
#ifndef HAUL_CORE_CLOCK_H
#define HAUL_CORE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* How long the end of a sleep is spun: at least, at most, and at most this part of the sleep. */
enum { CLOCK_SPIN_NS = 100000, CLOCK_SPIN_MAX_NS = 400000, CLOCK_SPIN_PART = 16 };

/* Readers count on for so long from an answer of the kernel, and slower by a part in 2^SLACK:
 * see struct clock_reader. */
enum { CLOCK_READER_NS = 20000, CLOCK_READER_SLACK = 10, CLOCK_SCALE_BITS = 32 };

/* Where Linux says by which counter it keeps its time. */
#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* The processor's counter, at a constant rate. */
struct clock_counter {
	uint64_t window; /* ticks for which readers count on; 0: they ask the clock each time */
	uint64_t scale;  /* ns per tick, times 2^CLOCK_SCALE_BITS, less the slack */
	uint64_t apart;  /* ticks that a question to the kernel takes at most, unless interrupted */
};

struct clock {
	bool fake;                /* tests only: the time is fake_ns, and a sleep moves it on */
	bool spin;                /* spin the end of each sleep: exact, for ranks <= cores */
	_Atomic uint32_t spin_ns; /* how late this machine wakes sleepers: learned */
	_Atomic uint64_t fake_ns;
	uint64_t
		utc_ns; /* add clock_kernel_ns() to get UTC as the wall clock had it at clock_init */
	struct clock_counter counter; /* set before other threads use the clock */
};

void clock_init(struct clock *c);

/* Lets readers of the clock use the processor's counter, where the text in the file at source is
 * "tsc": then the kernel has found it constant and the same on all processors. Takes 2 ms. Returns
 * whether they may; on other processors than x86-64 never. */
bool clock_learn_counter(struct clock *c, const char *source);

/* CLOCK_MONOTONIC in ns. */
uint64_t clock_kernel_ns(void);

/* The processor time of the calling thread. */
uint64_t clock_thread_cpu_ns(void);

/* The processor time of a process by its clock (clock_getcpuclockid(3)); 0: it has ended. */
uint64_t clock_process_cpu_ns(clockid_t clock);

/* The processor's counter, without waiting for earlier instructions; 0: it has none that we use. */
static inline uint64_t clock_ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* Waits until what was loaded before is there, so that no later stamp is taken earlier. System
 * calls do so anyway; for those who copy without one. */
static inline void clock_wait_for_loads(void)
{
#ifdef __x86_64__
	__builtin_ia32_lfence();
#endif
}

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

/* The same by the monotonic clock since clock_init: no step of the wall clock lies between two of
 * these dates. */
uint64_t clock_date_ns(const struct clock *c);

/* Clock reader: the time of a clock for one thread that asks often.
 *
 * A question to the kernel takes 20 to 25 ns, of which the processor's counter takes 10. Where the
 * kernel itself keeps its time by that counter (clock_learn_counter), a reader asks it every
 * CLOCK_READER_NS at most, and in between counts on from its last answer. It counts slower by a
 * part in 2^CLOCK_READER_SLACK, which is more than the kernel ever changes its own pace by (500
 * ppm, adjtimex(2)). So a reader's time never goes back, is never after the clock's own, and at
 * most about 0.1 us before it: 20 ns for the slower pace, and what passes between the kernel's
 * reading of the counter and the reader's. Stamps of a reader are in order with each other; beside
 * a stamp of the clock itself, or of another reader, one may be too early by that.
 *
 * With a clock that has learned no counter, or a fake one, a reader is the clock itself. A reader
 * belongs to one thread. */

struct clock_reader {
	const struct clock *clock;
	uint64_t ticks, ns; /* the counter and the time when the kernel was last asked */
	uint64_t window;    /* ticks for which it counts on from then; 0: not at all */
	uint64_t scale;     /* the clock's */
};

void clock_reader_init(struct clock_reader *r, const struct clock *c);

/* Asks the kernel. For clock_read alone. */
uint64_t clock_read_anew(struct clock_reader *r);

static inline uint64_t clock_read(struct clock_reader *r)
{
	uint64_t ticks;

	if (r->window) {
		ticks = clock_ticks() - r->ticks;
		if (ticks < r->window)
			return r->ns + (ticks * r->scale >> CLOCK_SCALE_BITS);
	}
	return clock_read_anew(r);
}

#endif
