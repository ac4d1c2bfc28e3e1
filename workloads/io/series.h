/* Time series: how much was done by when, in 4,096 intervals of a power of two ns, which double whenever they run out.
 * So what all had done when the first had finished can be told afterwards, to within a 2,048th of the time, and nobody
 * talks meanwhile. Owned by one thread. */
#ifndef HAUL_WORKLOADS_IO_SERIES_H
#define HAUL_WORKLOADS_IO_SERIES_H

#include <stdint.h>

enum { SERIES_ROWS = 4096, SERIES_SHIFT_FIRST = 10 };

struct io_series {
	unsigned shift; /* an interval is 2^shift ns */
	uint64_t row[SERIES_ROWS];
};

void io_series_clear(struct io_series *s);
void io_series_fold(struct io_series *s);

static inline void io_series_add(struct io_series *s, uint64_t at_ns, uint64_t amount)
{
	while (at_ns >> s->shift >= SERIES_ROWS)
		io_series_fold(s);
	s->row[at_ns >> s->shift] += amount;
}

/* What was done up to the end of the interval in which at_ns lies. */
uint64_t io_series_until(const struct io_series *s, uint64_t at_ns);

#endif
