/* Time series: how much was done by when, in 4,096 intervals of a power of two ns, which double whenever they run out.
 * So what all had done when the first had finished can be told afterwards, to within a 2,048th of the time, and nobody
 * talks meanwhile. Owned by one thread. */
#ifndef HAUL_WORKLOADS_COMMON_DONE_SERIES_H
#define HAUL_WORKLOADS_COMMON_DONE_SERIES_H

#include <stdint.h>

enum { SERIES_ROWS = 4096, SERIES_SHIFT_FIRST = 10 };

struct done_series {
	unsigned shift; /* an interval is 2^shift ns */
	uint64_t row[SERIES_ROWS];
};

void done_series_clear(struct done_series *s);
void done_series_fold(struct done_series *s);

static inline void done_series_add(struct done_series *s, uint64_t at_ns, uint64_t amount)
{
	while (at_ns >> s->shift >= SERIES_ROWS)
		done_series_fold(s);
	s->row[at_ns >> s->shift] += amount;
}

/* What was done up to the end of the interval in which at_ns lies. */
uint64_t done_series_until(const struct done_series *s, uint64_t at_ns);

#endif
