/* Plain I/O as text: a table of its own, because there are two rates, and the ranks that were done
 * last. */
#include "report/against.h"

#include "core/measure/quantile.h"
#include "core/units.h"
#include "report/shapes.h"
#include "report/skew.h"
#include "report/text/parts.h"

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

static const char *plain_io_latency(const void *row)
{
	const struct phase_record *r = &((const struct phase_row *)row)->phase->record;

	return phase_has_main(row) ? r->main_hist : NULL;
}

static const struct column columns[] = {
	COLUMN(NAME, struct phase_row, name, NULL, "plain I/O"),
	{.type = COLUMN_WORD, .heading = "latency of", .word = plain_io_latency},
	PHASE_ROLE("GB/s first", BYTE_RATE_FIRST, GIGA),
	PHASE_ROLE("last", BYTE_RATE, GIGA),
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
	.after = plain_io_last_ones,
};
