/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/libs/doubles/fake_clock.h"

void clock_init_fake(struct clock *c, uint64_t start_ns)
{
	clock_init(c);
	c->fake = true;
	atomic_init(&c->fake_ns, start_ns);
}

void clock_advance(struct clock *c, uint64_t ns)
{
	atomic_fetch_add_explicit(&c->fake_ns, ns, memory_order_relaxed);
}
