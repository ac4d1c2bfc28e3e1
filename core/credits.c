/* SPDX-License-Identifier: Apache-2.0 */
/* Credits: see credits.h.
 *
 * count is the futex word. A taker announces that it waits before the kernel looks at count once
 * more, and a giver looks for waiters after it has changed count. So at least one of them sees the
 * other. */
#include "core/credits.h"

#include <errno.h>

#include "core/clock_wait.h"

void credits_init(struct credits *c, uint32_t count)
{
	atomic_init(&c->count, count);
	atomic_init(&c->waiters, 0);
}

void credits_give(struct credits *c, uint32_t n)
{
	atomic_fetch_add(&c->count, n);
	if (atomic_load(&c->waiters))
		clock_word_wake(&c->count, n, false);
}

static int credits_try(struct credits *c)
{
	uint32_t count = atomic_load_explicit(&c->count, memory_order_relaxed);

	while (count)
		if (atomic_compare_exchange_weak(&c->count, &count, count - 1))
			return 1;
	return 0;
}

int credits_take(struct credits *c, uint64_t wait_ns)
{
	bool in_time = true;

	while (!credits_try(c)) {
		if (!in_time)
			return -ETIMEDOUT;
		atomic_fetch_add(&c->waiters, 1);
		in_time = clock_word_wait(&c->count, 0, wait_ns, false);
		atomic_fetch_sub(&c->waiters, 1);
	}
	return 0;
}
