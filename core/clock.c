/* Time: see clock.h. */
#include "core/clock.h"

#include <errno.h>
#include <time.h>

static const uint64_t second_ns = 1000000000;

static void kernel_sleep_until(uint64_t until_ns);
static void spin_until(uint64_t until_ns);

void clock_init(struct clock *c)
{
	c->fake = false;
	c->spin = false;
	atomic_init(&c->fake_ns, 0);
}

void clock_init_fake(struct clock *c, uint64_t start_ns)
{
	c->fake = true;
	c->spin = false;
	atomic_init(&c->fake_ns, start_ns);
}

void clock_advance(struct clock *c, uint64_t ns)
{
	atomic_fetch_add_explicit(&c->fake_ns, ns, memory_order_relaxed);
}

uint64_t clock_kernel_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * second_ns + (uint64_t)t.tv_nsec;
}

uint64_t clock_utc_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * second_ns + (uint64_t)t.tv_nsec;
}

void clock_sleep_until(struct clock *c, uint64_t until_ns)
{
	uint64_t now;

	if (c->fake) {
		/* Forward only: another thread may have slept further. */
		now = atomic_load_explicit(&c->fake_ns, memory_order_relaxed);
		while (now < until_ns && !atomic_compare_exchange_weak_explicit(
						 &c->fake_ns, &now, until_ns, memory_order_relaxed,
						 memory_order_relaxed))
			;
		return;
	}
	if (!c->spin) {
		kernel_sleep_until(until_ns);
		return;
	}
	if (until_ns > CLOCK_SPIN_NS)
		kernel_sleep_until(until_ns - CLOCK_SPIN_NS);
	spin_until(until_ns);
}

/* An absolute deadline, so that a signal or a late start does not add up. Asks the clock first: a
 * sleep that is over already costs no system call. */
static void kernel_sleep_until(uint64_t until_ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(until_ns / second_ns),
		.tv_nsec = (long)(until_ns % second_ns),
	};

	while (clock_kernel_ns() < until_ns) {
		int rc = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);

		if (rc != 0 && rc != EINTR)
			break;
	}
}

static void spin_until(uint64_t until_ns)
{
	while (clock_kernel_ns() < until_ns) {
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
}
