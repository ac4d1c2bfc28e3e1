#include "workloads/common/done_series.h"

#include <string.h>

void done_series_clear(struct done_series *s)
{
	memset(s->row, 0, sizeof(s->row));
	s->shift = SERIES_SHIFT_FIRST;
}

void done_series_fold(struct done_series *s)
{
	for (unsigned i = 0; i < SERIES_ROWS / 2; i++)
		s->row[i] = s->row[2 * i] + s->row[2 * i + 1];
	memset(s->row + SERIES_ROWS / 2, 0, sizeof(s->row) / 2);
	s->shift++;
}

uint64_t done_series_until(const struct done_series *s, uint64_t at_ns)
{
	uint64_t last = at_ns >> s->shift, sum = 0;

	for (uint64_t i = 0; i < SERIES_ROWS && i <= last; i++)
		sum += s->row[i];
	return sum;
}
