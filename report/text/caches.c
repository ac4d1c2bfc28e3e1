/* Key-value caches as text: rates and percentiles of all ranks, beside the figures that MLPerf's key-value cache benchmark
 * reports, and its criteria. */
#include <math.h>

#include "core/units.h"
#include "report/text/page.h"
#include "report/text/table.h"

enum column {
	PHASE,
	GB_READ,
	GB_WRITTEN,
	TOKENS,
	HITS,
	READ_P95,
	READ_RANK,
	WRITE_P95,
	WRITE_RANK,
	COLS
};

static bool is_cache(const struct results_phase_read *p)
{
	return results_role(&p->merged, ROLE_HIT_RATE) >= 0;
}

static double cache_value(const struct results_phase_read *p, enum role role)
{
	return results_role_value(&p->merged, 0, role);
}

/* A column in ns; nothing where it is 0. */
static void cache_time(char cell[TABLE_CELL_BYTES], double ns)
{
	if (ns > 0)
		table_time(cell, (uint64_t)ns);
}

static void cache_p95(char cell[TABLE_CELL_BYTES], const struct results_hist *h)
{
	if (h)
		table_time(cell, hist_quantile_ns(&h->hist, 0.95));
}

static void caches_row(struct table_row *row, const struct results_phase_read *p)
{
	double hits = cache_value(p, ROLE_HIT_RATE);

	table_figure(row->cell[GB_READ], cache_value(p, ROLE_READ_RATE) / 1e9);
	table_figure(row->cell[GB_WRITTEN], cache_value(p, ROLE_WRITE_RATE) / 1e9);
	table_figure(row->cell[TOKENS], cache_value(p, ROLE_TOKEN_RATE));
	if (isfinite(hits))
		snprintf(row->cell[HITS], TABLE_CELL_BYTES, "%.1f %%", 100 * hits);
	cache_p95(row->cell[READ_P95], results_role_hist(p, ROLE_READ_LATENCY));
	cache_time(row->cell[READ_RANK], cache_value(p, ROLE_READ_P95));
	cache_p95(row->cell[WRITE_P95], results_role_hist(p, ROLE_WRITE_LATENCY));
	cache_time(row->cell[WRITE_RANK], cache_value(p, ROLE_WRITE_P95));
}

/* The original adds the rates of its processes. */
static double cache_waited_tokens(const struct results_phase_read *p)
{
	const struct results_table *ranks = results_ranks(p);
	double sum = 0;

	for (uint64_t i = 0; i < ranks->row_count; i++) {
		double rate = results_role_value(ranks, i, ROLE_WAITED_TOKEN_RATE);

		sum += isfinite(rate) ? rate : 0;
	}
	return sum;
}

static void cache_tokens(const struct page *page, const struct results_phase_read *p)
{
	double waited = cache_waited_tokens(p);
	char sentence[512] = "";

	if (waited <= 0)
		return;
	page_add(
		sentence, sizeof(sentence),
		"%s: MLPerf's avg_throughput_tokens_per_sec is %.0f, its storage_throughput_tokens_per_sec %.0f. The latter counts "
		"tokens per second that a request waited, so it falls as more requests are served at a time, however fast the "
		"store is.",
		p->record.name, cache_value(p, ROLE_TOKEN_RATE), waited);
	text_wrap(page->out, sentence, 0, 2);
}

/* Criteria of the original's profile "latency". */
static const struct criterion {
	const char *what;
	enum role role, device; /* device: judged instead, where it is known */
	double most_ns;         /* 0: a share of more than `least` */
	double least;
} criteria[] = {
	{.what = "writes p95",
	 .role = ROLE_WRITE_P95,
	 .device = ROLE_WRITE_DEVICE_P95,
	 .most_ns = 500e6},
	{.what = "reads p95",
	 .role = ROLE_READ_P95,
	 .device = ROLE_READ_DEVICE_P95,
	 .most_ns = 200e6},
	{.what = "memory p95", .role = ROLE_MEMORY_P95, .most_ns = 150e6},
	{.what = "hits", .role = ROLE_HIT_RATE, .least = 0.3},
};

/* Adds one that can be judged. Returns whether it is met. */
static bool cache_criterion(char *out, size_t bytes, const struct criterion *c, double value,
			    bool device)
{
	bool met = c->most_ns > 0 ? value < c->most_ns : value > c->least;
	char asked[UNITS_TEXT_BYTES], found[UNITS_TEXT_BYTES];

	if (c->most_ns > 0)
		page_add(out, bytes, "; %s%s below %s: %s, %s", c->what, device ? " (device)" : "",
			 units_time(asked, c->most_ns / 1e9), units_time(found, value / 1e9),
			 met ? "met" : "missed");
	else
		page_add(out, bytes, "; %s above %.0f %%: %.1f %%, %s", c->what, 100 * c->least,
			 100 * value, met ? "met" : "missed");
	return met;
}

static void cache_criteria(const struct page *page, const struct results_phase_read *p)
{
	char judged[512] = "", sentence[768] = "";
	unsigned count = 0, met = 0;

	/* Without I/O there are no times to judge. */
	if (!(cache_value(p, ROLE_READ_P95) > 0 || cache_value(p, ROLE_WRITE_P95) > 0))
		return;
	for (size_t i = 0; i < sizeof(criteria) / sizeof(criteria[0]); i++) {
		double value = cache_value(p, criteria[i].role), part = 0;

		if (criteria[i].device)
			part = cache_value(p, criteria[i].device);
		value = part > 0 ? part : value;
		if (!isfinite(value) || (criteria[i].most_ns > 0 && value <= 0))
			continue;
		count++;
		met += cache_criterion(judged, sizeof(judged), &criteria[i], value, part > 0);
	}
	page_add(
		sentence, sizeof(sentence),
		"%s: %u of %u criteria of MLPerf's benchmark are met, which are no part of its score%s.",
		p->record.name, met, count, judged);
	text_wrap(page->out, sentence, 0, 2);
}

static void caches_table(const struct page *page)
{
	static const char *const headings[COLS] = {"key-value caches", "GB/s read", "written",
						   "tokens/s",         "hits",      "read p95",
						   "slowest",          "write p95", "slowest"};
	const struct text_kind_table table = {
		.headings = headings,
		.columns = COLS,
		.fill = caches_row,
		.below =
			"p95: of whole entries, of all ranks, and of the rank where it was the longest;\n"
			"MLPerf reports the latter, of the device part of entries (read_device_p95_ns, write_device_p95_ns);\n"
			"GB/s: with the entries that moved between tiers, which MLPerf leaves out\n",
	};

	if (!text_kind_table(page, &text_caches, &table))
		return;
	for (uint32_t i = 0; i < page->file->phase_count; i++)
		if (is_cache(&page->file->phases[i])) {
			cache_tokens(page, &page->file->phases[i]);
			cache_criteria(page, &page->file->phases[i]);
		}
}

const struct text_kind text_caches = {.is = is_cache, .table = caches_table};
