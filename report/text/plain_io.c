#include "report/text/plain_io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "report/series.h"
#include "report/text/table.h"

enum column { PHASE, WHAT, GB_FIRST, GB_LAST, DONE_FIRST, DONE_LAST, P50, P99, P999, MAX, COLS };

static bool plain(const struct results_phase_read *p)
{
	return results_column(&p->merged, "rate_last_done") >= 0;
}

bool plain_io_ceiling(const struct results_file *file, const struct results_phase_read *p,
		      struct ceiling *c)
{
	*c = (struct ceiling){0};
	if (isnan(results_value(&p->merged, 0, "au")) || !p->store[0])
		return false;
	for (uint32_t i = 0; i < file->phase_count; i++) {
		const struct results_phase_read *other = &file->phases[i];
		double rate = results_value(&other->merged, 0, "bytes_rate_last_done");

		if (!plain(other) || strcmp(other->store, p->store) != 0 || other->run != p->run ||
		    results_value(&other->merged, 0, "bytes_written") > 0)
			continue;
		if (rate > c->bytes_per_second)
			*c = (struct ceiling){.phase = other, .bytes_per_second = rate};
	}
	if (!c->phase)
		return false;
	c->share = results_value(&p->merged, 0, "bytes_read") / p->seconds / c->bytes_per_second;
	return true;
}

void plain_io_sentence(const struct results_file *file, const struct results_phase_read *p,
		       char *text, size_t size)
{
	char rate[UNITS_TEXT_BYTES];
	struct ceiling c;

	text[0] = '\0';
	if (!plain_io_ceiling(file, p, &c))
		return;
	snprintf(text, size,
		 "Plain reads take %s/s from this store (%s); training took %.3g %% of that.",
		 units_bytes_decimal(rate, c.bytes_per_second), c.phase->name, c.share * 100);
}

static void fill_row(struct table_row *row, const struct results_file *f,
		     const struct results_phase_read *p)
{
	char name[SERIES_PHASE_BYTES];
	const struct hist *h = results_find_hist(p, p->main_hist);

	for (int c = 0; c < COLS; c++)
		strcpy(row->cell[c], "–");
	series_phase_name(f, p, name, sizeof(name));
	table_name(row->cell[PHASE], name);
	table_figure(row->cell[GB_FIRST],
		     results_value(&p->merged, 0, "bytes_rate_first_done") / 1e9);
	table_figure(row->cell[GB_LAST],
		     results_value(&p->merged, 0, "bytes_rate_last_done") / 1e9);
	table_figure(row->cell[DONE_FIRST], results_value(&p->merged, 0, "rate_first_done"));
	table_figure(row->cell[DONE_LAST], results_value(&p->merged, 0, "rate_last_done"));
	if (!h)
		return;
	table_name(row->cell[WHAT], p->main_hist);
	table_time(row->cell[P50], hist_quantile_ns(h, 0.5));
	table_time(row->cell[P99], hist_quantile_ns(h, 0.99));
	table_time(row->cell[P999], hist_quantile_ns(h, 0.999));
	table_time(row->cell[MAX], h->max_ns);
}

void plain_io_print(FILE *out, const struct results_file *file)
{
	static const char *const headings[COLS] = {
		"plain I/O", "latency of", "GB/s first", "last",  "ops/s first",
		"last",      "p50",        "p99",        "p99.9", "max"};
	struct table_row *rows = calloc(file->phase_count + 1, sizeof(*rows));
	unsigned n = 1;

	if (!rows)
		return;
	for (int c = 0; c < COLS; c++)
		strcpy(rows[0].cell[c], headings[c]);
	for (uint32_t i = 0; i < file->phase_count; i++)
		if (plain(&file->phases[i]))
			fill_row(&rows[n++], file, &file->phases[i]);
	if (n > 1) {
		fputc('\n', out);
		table_print(out, rows, n, COLS);
		fputs("first, last: until the first thread had done its part, until the last one had\n",
		      out);
	}
	free(rows);
}
