/* SPDX-License-Identifier: Apache-2.0 */
/* Clock reader: see clock_reader.h. */
#include "core/clock_reader.h"

#include "core/numbers.h"

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
