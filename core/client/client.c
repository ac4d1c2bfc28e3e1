/* SPDX-License-Identifier: Apache-2.0 */
/* Client-side measurements: the table of columns, and rows that are merged and folded. See
 * client.h. */
#include "core/client/client.h"

#include <string.h>

#include "core/time_ns.h"

static const struct measure measures[] = {CLIENT_LIST(MEASURE_ROW)};

const struct columns client_columns = {.measures = measures, .measure_count = CLIENT_COLUMNS};

void client_series_init(struct client_series *s)
{
	memset(s, 0, sizeof(*s));
	s->interval_ns = NS_PER_S;
}

/* An interval without a reading has no levels: they must not be merged as zeros. */
static void client_row_merge(uint64_t into[CLIENT_COLUMNS], const uint64_t from[CLIENT_COLUMNS])
{
	if (!from[CLIENT_COVERED_NS])
		return;
	if (into[CLIENT_COVERED_NS])
		columns_merge(&client_columns, into, from);
	else
		memcpy(into, from, CLIENT_COLUMNS * sizeof(*into));
}

void client_series_add(struct client_series *s, uint64_t from_ns, uint64_t to_ns,
		       const uint64_t before[CLIENT_COLUMNS], const uint64_t after[CLIENT_COLUMNS])
{
	uint64_t middle = from_ns + (to_ns - from_ns) / 2, row[CLIENT_COLUMNS];
	uint32_t at;

	if (to_ns <= from_ns)
		return;
	for (unsigned c = 0; c < CLIENT_COLUMNS; c++) {
		row[c] = after[c];
		if (measures[c].merge == MERGE_SUM)
			row[c] = after[c] > before[c] ? after[c] - before[c] : 0;
	}
	row[CLIENT_COVERED_NS] = to_ns - from_ns;
	while (middle / s->interval_ns >= CLIENT_ROWS)
		client_series_fold(s, 2 * s->interval_ns);
	at = (uint32_t)(middle / s->interval_ns);
	client_row_merge(s->row[at], row);
	if (at >= s->rows)
		s->rows = at + 1;
}

void client_series_fold(struct client_series *s, uint64_t interval_ns)
{
	while (s->interval_ns < interval_ns) {
		uint32_t rows = (s->rows + 1) / 2;

		for (uint32_t i = 0; i < rows; i++) {
			if (i)
				memcpy(s->row[i], s->row[2 * i], sizeof(s->row[i]));
			if (2 * i + 1 < s->rows)
				client_row_merge(s->row[i], s->row[2 * i + 1]);
		}
		memset(s->row[rows], 0, (s->rows - rows) * sizeof(s->row[0]));
		s->rows = rows;
		s->interval_ns *= 2;
	}
}
