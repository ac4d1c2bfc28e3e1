/* Plain I/O as text: a table of its own, because there are two rates, and the ranks that were done
 * last. */
#include "report/plain_io.h"

#include "core/units.h"
#include "report/skew.h"
#include "report/text/page.h"
#include "report/text/table.h"

enum { PHASE, WHAT, GB_FIRST, GB_LAST, DONE_FIRST, DONE_LAST, P50, P99, P999, MAX, COLS };

/* The rank or node that was done far later than the others. */
static void last_ones(const struct page *page)
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

static void plain_io_row(struct table_row *row, const struct results_phase_read *p)
{
	const struct hist *h = results_find_hist(p, p->record.main_hist);
	const struct results_table *t = &p->merged;

	table_figure(row->cell[GB_FIRST], results_role_value(t, 0, ROLE_BYTE_RATE_FIRST) / 1e9);
	table_figure(row->cell[GB_LAST], results_role_value(t, 0, ROLE_BYTE_RATE) / 1e9);
	table_figure(row->cell[DONE_FIRST], results_role_value(t, 0, ROLE_OPERATION_RATE_FIRST));
	table_figure(row->cell[DONE_LAST], results_role_value(t, 0, ROLE_OPERATION_RATE));
	if (!h)
		return;
	table_name(row->cell[WHAT], p->record.main_hist);
	table_latencies(row, P50, h);
}

static void plain_io_table(const struct page *page)
{
	static const char *const headings[COLS] = {
		"plain I/O", "latency of", "GB/s first", "last",  "ops/s first",
		"last",      "p50",        "p99",        "p99.9", "max"};
	const struct text_kind_table table = {
		.headings = headings,
		.columns = COLS,
		.fill = plain_io_row,
		.below =
			"first, last: until the first thread had done its part, until the last one had\n",
	};

	if (text_kind_table(page, &text_plain_io, &table))
		last_ones(page);
}

const struct text_kind text_plain_io = {.is = plain_io, .table = plain_io_table};
