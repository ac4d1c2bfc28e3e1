/* Key-value caches as text: rates and percentiles of all ranks; then what MLPerf's key-value cache benchmark would report, beside
 * the same of all entries of all ranks; and its criteria. */
#include <math.h>
#include <string.h>

#include "core/units.h"
#include "report/cache.h"
#include "report/text/page.h"
#include "report/text/table.h"

enum { PHASE, GB_READ, GB_WRITTEN, TOKENS, HITS, READ_P95, READ_P99, WRITE_P95, WRITE_P99, COLS };
enum figure_column { NAME, UNIT, MLPERF, HAUL, FIGURE_COLS };

static double caches_value(const struct results_phase_read *p, enum role role)
{
	return results_role_value(&p->merged, 0, role);
}

/* Two cells: the 95th and the 99th percentile. */
static void caches_tail(struct table_row *row, unsigned first, const struct results_hist *h)
{
	if (!h)
		return;
	table_time(row->cell[first], hist_quantile_ns(&h->hist, 0.95));
	table_time(row->cell[first + 1], hist_quantile_ns(&h->hist, 0.99));
}

static void caches_row(struct table_row *row, const struct results_phase_read *p)
{
	double hits = caches_value(p, ROLE_HIT_RATE);

	table_figure(row->cell[GB_READ], caches_value(p, ROLE_READ_RATE) / 1e9);
	table_figure(row->cell[GB_WRITTEN], caches_value(p, ROLE_WRITE_RATE) / 1e9);
	table_figure(row->cell[TOKENS], caches_value(p, ROLE_TOKEN_RATE));
	if (isfinite(hits))
		snprintf(row->cell[HITS], TABLE_CELL_BYTES, "%.1f %%", 100 * hits);
	caches_tail(row, READ_P95, results_role_hist(p, ROLE_READ_LATENCY));
	caches_tail(row, WRITE_P95, results_role_hist(p, ROLE_WRITE_LATENCY));
}

/* Returns whether there is anything to compare. */
static bool caches_figures(const struct page *page, const struct results_phase_read *p)
{
	struct table_row rows[1 + CACHE_FIGURES];
	struct cache_figure figures[CACHE_FIGURES];
	unsigned count = cache_figures(p, figures);
	char name[PHASE_NAME_BYTES];

	if (!count)
		return false;
	memset(rows, 0, sizeof(rows));
	phase_name(page->file, p, name);
	table_name(rows[0].cell[NAME], name);
	strcpy(rows[0].cell[UNIT], "unit");
	strcpy(rows[0].cell[MLPERF], "as MLPerf counts");
	strcpy(rows[0].cell[HAUL], "all ranks together");
	for (unsigned i = 0; i < count; i++) {
		struct table_row *row = &rows[1 + i];

		snprintf(row->cell[NAME], TABLE_CELL_BYTES, "%s", figures[i].name);
		snprintf(row->cell[UNIT], TABLE_CELL_BYTES, "%s", figures[i].unit);
		table_figure(row->cell[MLPERF], figures[i].mlperf);
		table_figure(row->cell[HAUL], figures[i].haul);
	}
	fputc('\n', page->out);
	table_print(page->out, rows, 1 + count, FIGURE_COLS);
	return true;
}

/* What the columns of the figures mean, once for all phases. */
static void caches_explain(const struct page *page)
{
	static const char *const sentences[] = {
		"The names are those of MLPerf's benchmark, which calls GiB/s \"gbps\". It adds the bandwidths and token rates of its "
		"ranks, and its bandwidths leave out entries that move between tiers.",
		"Of its percentiles, it takes those of the rank where they are the longest. That is no percentile of all entries. "
		"\"device\" is the part of an entry's time that is the store's: reading it without comparing its bytes, making it durable.",
		"storage_throughput_tokens_per_sec misleads: it counts tokens per second that requests waited, so it falls as more "
		"requests are served at a time, however fast the store is.",
	};

	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		text_wrap(page->out, sentences[i], 0, 2);
}

static void caches_criterion(char *out, size_t bytes, const struct cache_criterion *c)
{
	char asked[UNITS_TEXT_BYTES], found[UNITS_TEXT_BYTES];
	const char *met = c->met ? "met" : "missed";

	if (c->most)
		page_add(out, bytes, "; %s%s below %s: %s, %s", c->name,
			 c->device ? " (device)" : "", units_time(asked, c->asked / 1e9),
			 units_time(found, c->found / 1e9), met);
	else
		page_add(out, bytes, "; %s above %.0f %%: %.1f %%, %s", c->name, 100 * c->asked,
			 100 * c->found, met);
}

static void caches_criteria(const struct page *page, const struct results_phase_read *p)
{
	struct cache_criterion criteria[CACHE_CRITERIA];
	unsigned count = cache_criteria(p, criteria), met = 0;
	char judged[512] = "", sentence[1024] = "", name[PHASE_NAME_BYTES];

	if (!count)
		return;
	for (unsigned i = 0; i < count; i++) {
		met += criteria[i].met;
		caches_criterion(judged, sizeof(judged), &criteria[i]);
	}
	phase_name(page->file, p, name);
	page_add(
		sentence, sizeof(sentence),
		"%s: %u of %u criteria of MLPerf's benchmark are met, which are no part of its score%s.",
		name, met, count, judged);
	text_wrap(page->out, sentence, 0, 2);
}

static void caches_table(const struct page *page)
{
	static const char *const headings[COLS] = {
		"key-value caches", "GB/s read", "written",   "tokens/s", "hits",
		"read p95",         "p99",       "write p95", "p99"};
	const struct text_kind_table table = {
		.headings = headings,
		.columns = COLS,
		.fill = caches_row,
		.below =
			"GB/s: of all ranks, with the entries that moved between tiers; p95, p99: of whole entries of "
			"all ranks\n",
	};
	bool compared = false;

	if (!text_kind_table(page, &text_caches, &table))
		return;
	for (uint32_t i = 0; i < page->file->phase_count; i++)
		if (cache_is(&page->file->phases[i]))
			compared = caches_figures(page, &page->file->phases[i]) || compared;
	if (compared)
		caches_explain(page);
	for (uint32_t i = 0; i < page->file->phase_count; i++)
		caches_criteria(page, &page->file->phases[i]);
}

const struct text_kind text_caches = {.is = cache_is, .table = caches_table};
