/* SPDX-License-Identifier: Apache-2.0 */
/* Credits: see credits.h.
 *
 * count is the futex word. A taker announces that it waits before the kernel looks at count once
 * more, and a giver looks for waiters after it has changed count. So at least one of them sees the
 * other. */
#include "core/credits.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/numbers.h"
#include "core/time_ns.h"

void credits_init(struct credits *c, uint32_t count)
{
	atomic_init(&c->count, count);
	atomic_init(&c->waiters, 0);
}

void credits_give(struct credits *c, uint32_t n)
{
	atomic_fetch_add(&c->count, n);
	if (atomic_load(&c->waiters))
		syscall(SYS_futex, &c->count, FUTEX_WAKE_PRIVATE, min_u64(n, INT_MAX), NULL, NULL,
			0);
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
	struct timespec t = ns_to_timespec(wait_ns);
	long rc = 0;

	while (!credits_try(c)) {
		if (rc < 0 && errno == ETIMEDOUT)
			return -ETIMEDOUT;
		atomic_fetch_add(&c->waiters, 1);
		rc = syscall(SYS_futex, &c->count, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
		atomic_fetch_sub(&c->waiters, 1);
	}
	return 0;
}
