/* SPDX-License-Identifier: Apache-2.0 */
/* Plain I/O as text: a table of its own, because there are two rates, and the ranks that were done
 * last. */
#include "report/against.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/hist.h"
#include "core/measure/quantile.h"
#include "core/numbers.h"
#include "core/units.h"
#include "facts/text.h"
#include "report/skew.h"
#include "report/text/page.h"

/* Histograms of the operations that a mixed phase does beside each other. */
static const struct plain_io_part {
	const char *service, *response; /* from its begin, and from when it was due */
} plain_io_parts[] = {{"read", "read_response"},
		      {"write", "write_response"},
		      {"stat", "stat_response"},
		      {"delete", "delete_response"},
		      {"list", "list_response"}};

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

struct mix_row {
	char name[PHASE_NAME_BYTES];
	const char *of;
	double requests, per_second;
	const struct hist *hist;
};

static double mix_ns(const void *row, int quantile)
{
	return phase_quantile_ns(((const struct mix_row *)row)->hist, quantile);
}

#define MIX_QUANTILE(heading_, quantile) \
	{ \
		.type = COLUMN_VALUE, .heading = (heading_), .format = FORMAT_NS, \
		.number = mix_ns, .which = (quantile) \
	}
static const struct column mix_columns[] = {
	COLUMN(NAME, struct mix_row, name, NULL, "mixes"),
	COLUMN(TEXT, struct mix_row, of, NULL, "requests"),
	COLUMN(REAL, struct mix_row, requests, NULL, "count", .format = FORMAT_COUNT),
	COLUMN(REAL, struct mix_row, per_second, NULL, "per second"),
	MIX_QUANTILE("p50", QUANTILE_P50),
	MIX_QUANTILE("p99", QUANTILE_P99),
	MIX_QUANTILE("p99.9", QUANTILE_P999),
	MIX_QUANTILE("max", QUANTILES),
	COLUMNS_END};

/* With arrivals, the phase is judged from when its operations were due, and so are its parts. */
static bool mix_is_due(const struct results_phase_read *p)
{
	static const char ending[] = "_response";
	size_t n = strlen(p->record.main_hist), ends = sizeof(ending) - 1;

	return n > ends && strcmp(p->record.main_hist + n - ends, ending) == 0;
}

/* Fills a row for each operation of a mix; 0: it is none. rows: room for all operations. */
static size_t mix_rows(const struct results_file *f, const struct results_phase_read *p,
		       struct mix_row *rows)
{
	bool due = mix_is_due(p);
	size_t count = 0;

	for (uint32_t k = 0; k < COUNT(plain_io_parts); k++) {
		struct mix_row *row = &rows[count];

		row->of = due ? plain_io_parts[k].response : plain_io_parts[k].service;
		row->hist = results_find_hist(p, row->of);
		if (!row->hist)
			continue;
		phase_name(f, p, row->name);
		row->requests = (double)hist_count(row->hist);
		row->per_second = results_rate(row->requests, results_measured_s(p));
		count++;
	}
	return count > 1 ? count : 0;
}

/* Of a phase that does several operations, each has a row. */
static void plain_io_mixes(struct page *page)
{
	const struct results_file *f = page->file;
	struct mix_row *rows = calloc(f->phase_count + 1, COUNT(plain_io_parts) * sizeof(*rows));
	struct report_table table = {.columns = mix_columns, TABLE_ROWS(rows, 0)};

	for (uint32_t i = 0; rows && i < f->phase_count; i++)
		if (plain_io(&f->phases[i]))
			table.count += mix_rows(f, &f->phases[i], rows + table.count);
	if (table.count) {
		fputc('\n', page->out);
		text_table(page->out, &table);
	}
	free(rows);
}

static void plain_io_after(struct page *page)
{
	plain_io_last_ones(page);
	plain_io_mixes(page);
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

static const struct column plain_io_columns[] = {
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
	.columns = plain_io_columns,
	.below = "first, last: until the first thread had done its part, until the last one had\n",
	.after = plain_io_after,
};
