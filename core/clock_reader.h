/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef HAUL_CORE_CLOCK_READER_H
#define HAUL_CORE_CLOCK_READER_H

#include "core/clock.h"

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
