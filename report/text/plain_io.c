/* SPDX-License-Identifier: Apache-2.0 */
/* Plain I/O as text: a table of its own, because there are two rates, and the ranks that were done
 * last. */
#include "report/against.h"

#include <stdio.h>
#include <string.h>

#include "core/measure/hist.h"
#include "core/measure/quantile.h"
#include "core/numbers.h"
#include "core/units.h"
#include "report/shapes.h"
#include "report/skew.h"
#include "report/text/parts.h"
#include "report/text/table.h"

/* Histograms of the operations that a mixed phase does beside each other. */
static const char *const plain_io_parts[] = {"read", "write", "stat", "delete", "list"};

/* The rank or node that was done far later than the others. */
static void plain_io_last_ones(struct page *page)
{
	char who[SKEW_TEXT_BYTES], line[512], half[UNITS_TEXT_BYTES], all[UNITS_TEXT_BYTES];
	double median, last;

	for (uint32_t i = 0; i < page->file->phase_count; i++) {
		const struct results_phase_read *p = &page->file->phases[i];

		if (!plain_io(p) || !skew_of(page->file, p, who) || !skew_done(p, &median, &last))
			continue;
		snprintf(line, sizeof(line),
			 "%s: %s had done its part last, after %s; half of the ranks after %s.",
			 p->record.name, who, units_time(all, last / 1e9),
			 units_time(half, median / 1e9));
		text_wrap(page->out, line, 0, 2);
	}
}

/* The main latencies of a mix are of its reads: those of its other operations have a line each. */
static void plain_io_mixes(struct page *page)
{
	char half[UNITS_TEXT_BYTES], p99[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES], line[256];

	for (uint32_t i = 0; i < page->file->phase_count; i++) {
		const struct results_phase_read *p = &page->file->phases[i];

		for (uint32_t k = 0; plain_io(p) && k < COUNT(plain_io_parts); k++) {
			const struct hist *h = results_find_hist(p, plain_io_parts[k]);

			if (!h || strcmp(p->record.main_hist, plain_io_parts[k]) == 0)
				continue;
			snprintf(line, sizeof(line), "%s, latency of %s: p50 %s, p99 %s, max %s.",
				 p->record.name, plain_io_parts[k],
				 units_time(half, (double)hist_quantile_ns(h, 0.5) / 1e9),
				 units_time(p99, (double)hist_quantile_ns(h, 0.99) / 1e9),
				 units_time(most, (double)hist_quantile_ns(h, 1) / 1e9));
			text_wrap(page->out, line, 0, 2);
		}
	}
}

static void plain_io_after(struct page *page)
{
	plain_io_mixes(page);
	plain_io_last_ones(page);
}

/* A phase that moves no bytes has no rate of them. */
static void plain_io_rate(char cell[TABLE_CELL_BYTES], const struct results_phase_read *p,
			  enum role role)
{
	if (phase_bytes(p) > 0)
		table_number(cell, FORMAT_GIGA, results_role_value(&p->merged, 0, role));
}

static void plain_io_first(char cell[TABLE_CELL_BYTES], const void *row)
{
	plain_io_rate(cell, ((const struct phase_row *)row)->phase, ROLE_BYTE_RATE_FIRST);
}

static void plain_io_last(char cell[TABLE_CELL_BYTES], const void *row)
{
	plain_io_rate(cell, ((const struct phase_row *)row)->phase, ROLE_BYTE_RATE);
}

static const char *plain_io_latency(const void *row)
{
	const struct phase_record *r = &((const struct phase_row *)row)->phase->record;

	return phase_has_main(row) ? r->main_hist : NULL;
}

static const struct column columns[] = {
	COLUMN(NAME, struct phase_row, name, NULL, "plain I/O"),
	{.type = COLUMN_WORD, .heading = "latency of", .word = plain_io_latency},
	SHOWN("GB/s first", plain_io_first),
	SHOWN("last", plain_io_last),
	PHASE_ROLE("ops/s first", OPERATION_RATE_FIRST, FIGURE),
	PHASE_ROLE("last", OPERATION_RATE, FIGURE),
	PHASE_MAIN("p50", QUANTILE_P50),
	PHASE_MAIN("p99", QUANTILE_P99),
	PHASE_MAIN("p99.9", QUANTILE_P999),
	PHASE_MAIN("max", QUANTILES),
	COLUMNS_END};

const struct text_kind text_plain_io = {
	.is = plain_io,
	.columns = columns,
	.below = "first, last: until the first thread had done its part, until the last one had\n",
	.after = plain_io_after,
};
