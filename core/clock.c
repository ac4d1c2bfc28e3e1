/* Clock: see clock.h. */
#include "core/clock.h"

#include <errno.h>
#include <time.h>

static const uint64_t second_ns = 1000000000;

static void kernel_sleep_until(uint64_t until_ns);
static void nap_until(struct clock *c, uint64_t until_ns);
static void spin_until(uint64_t until_ns);

void clock_init(struct clock *c)
{
	c->fake = false;
	c->spin = false;
	atomic_init(&c->spin_ns, CLOCK_SPIN_NS);
	atomic_init(&c->fake_ns, 0);
}

void clock_init_fake(struct clock *c, uint64_t start_ns)
{
	c->fake = true;
	c->spin = false;
	atomic_init(&c->spin_ns, CLOCK_SPIN_NS);
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
		/* The clock moves forward only: another thread may have slept further. */
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
	nap_until(c, until_ns);
	spin_until(until_ns);
}

uint32_t clock_spin_next(uint32_t spin_ns, uint64_t late_ns)
{
	if (late_ns <= spin_ns)
		return spin_ns - (spin_ns - CLOCK_SPIN_NS) / 64;
	spin_ns += spin_ns / 4;
	return spin_ns < CLOCK_SPIN_MAX_NS ? spin_ns : CLOCK_SPIN_MAX_NS;
}

/* Sleeps until shortly before until_ns, so that the rest can be spun, and learns from how late the
 * sleep ends. Several threads may do so at once; then what one of them learned may be lost. */
static void nap_until(struct clock *c, uint64_t until_ns)
{
	uint32_t learned = atomic_load_explicit(&c->spin_ns, memory_order_relaxed);
	uint64_t now = clock_kernel_ns(), spin = CLOCK_SPIN_NS, most;

	if (until_ns < now + spin)
		return;
	most = (until_ns - now) / CLOCK_SPIN_PART;
	if (most > spin)
		spin = most < learned ? most : learned;
	kernel_sleep_until(until_ns - spin);
	now = clock_kernel_ns();
	if (spin == learned)
		atomic_store_explicit(&c->spin_ns,
				      clock_spin_next(learned, now - (until_ns - spin)),
				      memory_order_relaxed);
}

/* Sleeps until an absolute deadline, so that signals and late starts do not add up. It asks the
 * clock first: then a sleep that is already over costs no system call. */
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
