#include "workloads/common/pace.h"

enum { PACE_SHIFT = 24 };
static const uint64_t pace_stream = 0x70616365; /* "pace" */

static uint64_t intervals_ns(const struct io_pace *p, uint64_t count)
{
	return (uint64_t)((unsigned __int128)p->interval_q * count >> PACE_SHIFT);
}

void io_pace_init(struct io_pace *p, const struct io_options *o, uint64_t seed, uint64_t thread,
		  uint64_t threads, uint64_t start_ns)
{
	double rate = o->bandwidth ? (double)o->bandwidth / (double)o->block : o->rate;
	double interval_ns = rate > 0 ? 1e9 * (double)threads / rate : 0;

	*p = (struct io_pace){.limited = rate > 0,
			      .open_loop = o->arrivals != IO_PACED,
			      .poisson = o->arrivals == IO_POISSON,
			      .gap = {.kind = DRAW_EXPONENTIAL, .a = interval_ns},
			      .random = {.key = random_at(seed, pace_stream, thread)}};
	/* No rate is so low that a run sees two of its intervals of 2^39 ns. */
	p->interval_q = interval_ns < 0x1p39 ? (uint64_t)(interval_ns * (1 << PACE_SHIFT))
					     : (uint64_t)1 << (39 + PACE_SHIFT);
	p->base_ns = start_ns;
	if (p->limited)
		p->base_ns += p->poisson
				      ? draw_next(&p->gap, &p->random)
				      : (uint64_t)(interval_ns * (double)thread / (double)threads);
	p->next_ns = p->base_ns;
}

/* A Poisson gap is drawn here, between operations: the one place where a thread at work needs a
 * logarithm, some 10 ns. */
uint64_t io_pace_take(struct io_pace *p, uint64_t now_ns)
{
	uint64_t due_ns = p->next_ns;

	if (!p->limited)
		return 0;
	if (p->poisson) {
		p->next_ns += draw_next(&p->gap, &p->random);
		return due_ns;
	}
	if (!p->open_loop && now_ns > due_ns + intervals_ns(p, 1)) {
		/* What a slow store lost is not caught up with. */
		p->base_ns = now_ns;
		p->taken = 0;
	}
	p->next_ns = p->base_ns + intervals_ns(p, ++p->taken);
	return p->open_loop ? due_ns : 0;
}
