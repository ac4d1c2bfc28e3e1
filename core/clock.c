/* SPDX-License-Identifier: Apache-2.0 */
/* Clock: see clock.h. */
#include "core/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/file_read.h"
#include "core/numbers.h"
#include "core/time_ns.h"

/* The counter's pace is taken from its ticks in so long, and is at most so fast: 16 ticks per
 * ns. */
static const uint64_t learn_ns = 2000000, ticks_most = 16;

/* The counter at a time of the kernel. */
struct clock_pair {
	uint64_t ns, ticks, apart;
};

void clock_init(struct clock *c)
{
	c->fake = false;
	c->spin = false;
	c->counter = (struct clock_counter){0};
	atomic_init(&c->spin_ns, CLOCK_SPIN_NS);
	atomic_init(&c->fake_ns, 0);
	c->utc_ns = clock_utc_ns() - clock_kernel_ns();
}

static uint64_t clock_of(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t) == 0 ? timespec_to_ns(&t) : 0;
}

uint64_t clock_kernel_ns(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

uint64_t clock_thread_cpu_ns(void)
{
	return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_process_cpu_ns(clockid_t clock)
{
	return clock_of(clock);
}

/* Of several answers the one that took the fewest ticks. */
static struct clock_pair clock_take_pair(void)
{
	struct clock_pair best = {.apart = UINT64_MAX};

	for (int i = 0; i < 32; i++) {
		uint64_t before = clock_ticks(), ns = clock_kernel_ns(), after = clock_ticks();

		if (after - before < best.apart)
			best = (struct clock_pair){ns, after, after - before};
	}
	return best;
}

static bool clock_trusts_counter(const char *source)
{
	size_t length;
	char *text;
	bool trusts;

	if (file_read(source, 64, &text, &length, NULL) < 0)
		return false;
	trusts = length == 4 && memcmp(text, "tsc\n", 4) == 0;
	free(text);
	return trusts;
}

bool clock_learn_counter(struct clock *c, const char *source)
{
	struct clock_pair from, to;
	uint64_t ns, ticks, scale;

	if (c->fake || !clock_trusts_counter(source))
		return false;
	from = clock_take_pair();
	while (clock_kernel_ns() < from.ns + learn_ns)
		;
	to = clock_take_pair();
	ns = to.ns - from.ns;
	ticks = to.ticks - from.ticks;
	if (ticks < ns / ticks_most || ticks > ns * ticks_most || from.ticks > to.ticks)
		return false;
	scale = (ns << CLOCK_SCALE_BITS) / ticks;
	scale -= scale >> CLOCK_READER_SLACK;
	c->counter = (struct clock_counter){
		.window = ((uint64_t)CLOCK_READER_NS << CLOCK_SCALE_BITS) / scale,
		.scale = scale,
		.apart = 2 * to.apart,
	};
	return true;
}

uint64_t clock_utc_ns(void)
{
	return clock_of(CLOCK_REALTIME);
}

uint64_t clock_date_ns(const struct clock *c)
{
	return c->utc_ns + clock_kernel_ns();
}

/* Sleeps until an absolute deadline, so that signals and late starts do not add up. It asks the
 * clock first: then a sleep that is already over costs no system call. */
static void kernel_sleep_until(uint64_t until_ns)
{
	struct timespec t = ns_to_timespec(until_ns);

	while (clock_kernel_ns() < until_ns) {
		int rc = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);

		if (rc != 0 && rc != EINTR)
			break;
	}
}

uint32_t clock_spin_next(uint32_t spin_ns, uint64_t late_ns)
{
	if (late_ns <= spin_ns)
		return spin_ns - (spin_ns - CLOCK_SPIN_NS) / 64;
	spin_ns += spin_ns / 4;
	return min_u32(spin_ns, CLOCK_SPIN_MAX_NS);
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
		spin = min_u64(most, learned);
	kernel_sleep_until(until_ns - spin);
	now = clock_kernel_ns();
	if (spin == learned)
		atomic_store_explicit(&c->spin_ns,
				      clock_spin_next(learned, now - (until_ns - spin)),
				      memory_order_relaxed);
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

void clock_reader_init(struct clock_reader *r, const struct clock *c)
{
	*r = (struct clock_reader){.clock = c, .scale = c->counter.scale};
}

uint64_t clock_read_anew(struct clock_reader *r)
{
	const struct clock_counter *counter = &r->clock->counter;
	uint64_t before, after, ns, least, counted;

	if (!counter->window)
		return clock_now(r->clock);
	before = clock_ticks();
	ns = clock_now(r->clock);
	after = clock_ticks();
	/* What the reader may have said so far. The counter of another processor may be behind by
	 * some ticks. */
	counted = excess_u64(before, r->ticks);
	if (counted > r->window)
		counted = r->window;
	least = r->ns + (counted * r->scale >> CLOCK_SCALE_BITS);
	r->ns = max_u64(ns, least);
	r->ticks = after;
	/* An answer that took long is old. */
	r->window = after - before <= counter->apart ? counter->window : 0;
	return r->ns;
}
