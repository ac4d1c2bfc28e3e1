/* SPDX-License-Identifier: Apache-2.0 */
/* Key-value caches as text: rates and percentiles of all ranks; then what MLPerf's key-value cache
 * benchmark would report, beside the same of all entries of all ranks; and its criteria. */
#include <math.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "core/numbers.h"
#include "core/units.h"
#include "facts/text.h"
#include "report/cache.h"
#include "report/doubt.h"
#include "report/say.h"
#include "report/text/page.h"

/* The 95th and the 99th percentile of the histogram with that role. */
static double caches_quantile(const void *row, int role, enum quantile quantile)
{
	const struct phase_row *r = row;
	const struct results_hist *h = results_role_hist(r->phase, (enum role)role);

	return h ? (double)quantile_ns(&h->hist, quantile) : NAN;
}

static double caches_p95(const void *row, int role)
{
	return caches_quantile(row, role, QUANTILE_P95);
}

static double caches_p99(const void *row, int role)
{
	return caches_quantile(row, role, QUANTILE_P99);
}

/* Of MLPerf's kind; servers have tables of their own (serving.c). */
static bool caches_is(const struct results_phase_read *p)
{
	return cache_is(p) && !cache_serves(p);
}

static const struct column cache_columns[] = {
	COLUMN(NAME, struct phase_row, name, NULL, "key-value caches"),
	PHASE_ROLE("GB/s read", READ_RATE, GIGA),
	PHASE_ROLE("written", WRITE_RATE, GIGA),
	PHASE_ROLE("tokens/s", TOKEN_RATE, FIGURE),
	PHASE_ROLE("hits: prompt", HIT_RATE_PROMPT, SHARE),
	PHASE_ROLE("turn", HIT_RATE_TURN, SHARE),
	PHASE_ROLE("own", HIT_RATE_DECODE, SHARE),
	PHASE_NUMBER("read p95", NS, caches_p95, ROLE_READ_LATENCY),
	PHASE_NUMBER("p99", NS, caches_p99, ROLE_READ_LATENCY),
	PHASE_NUMBER("write p95", NS, caches_p95, ROLE_WRITE_LATENCY),
	PHASE_NUMBER("p99", NS, caches_p99, ROLE_WRITE_LATENCY),
	COLUMNS_END};

/* Returns whether there is anything to compare. */
static bool caches_figures(struct page *page, const struct results_phase_read *p)
{
	struct cache_figure figures[CACHE_FIGURES];
	const struct phase_row of = phase_row_of(page->file, p);
	const struct column figure_columns[] = {
		COLUMN(TEXT, struct cache_figure, name, NULL, of.name,
		       .width = TABLE_CELL_BYTES - 1),
		COLUMN(TEXT, struct cache_figure, unit, NULL, "unit"),
		COLUMN(REAL, struct cache_figure, mlperf, NULL, "as MLPerf counts"),
		COLUMN(REAL, struct cache_figure, haul, NULL, "all ranks together"), COLUMNS_END};
	const struct report_table table = {.columns = figure_columns,
					   TABLE_ROWS(figures, cache_figures(p, figures))};

	if (!table.count)
		return false;
	fputc('\n', page->out);
	text_table(page->out, &table);
	return true;
}

/* What the columns of the figures mean, once for all phases. */
static void caches_explain(struct page *page)
{
	static const char *const sentences[] = {
		"The names are those of MLPerf's benchmark, which calls GiB/s \"gbps\". It adds the bandwidths and token rates of its "
		"ranks, and its bandwidths leave out entries that move between tiers.",
		"Of its percentiles, it takes those of the rank where they are the longest. That is no percentile of all entries. "
		"\"device\" is the part of an entry's time that is the store's: reading it without comparing its bytes, making it durable.",
		"storage_throughput_tokens_per_sec misleads: it counts tokens per second that requests waited, so it falls as more "
		"requests are served at a time, however fast the store is.",
	};

	for (size_t i = 0; i < COUNT(sentences); i++)
		text_wrap(page->out, sentences[i], 0, 2);
}

static void caches_criterion(char *out, size_t bytes, const struct cache_criterion *c)
{
	char asked[UNITS_TEXT_BYTES], found[UNITS_TEXT_BYTES];
	const char *met = c->state == CLAIM_UNKNOWN
				  ? c->reached ? "would be met" : "would be missed"
			  : c->met ? "met"
				   : "missed";

	if (c->most)
		say(out, bytes, "; %s%s below %s: %s, %s", c->name, c->device ? " (device)" : "",
		    units_time(asked, c->asked / 1e9), units_time(found, c->found / 1e9), met);
	else
		say(out, bytes, "; %s above %.0f %%: %.1f %%, %s", c->name, 100 * c->asked,
		    100 * c->found, met);
}

static void caches_criteria(struct page *page, const struct results_phase_read *p)
{
	struct cache_criterion criteria[CACHE_CRITERIA];
	unsigned count, met = 0;
	char judged[512] = "", sentence[1024 + 3 * DOUBT_BYTES] = "", name[PHASE_NAME_BYTES];
	struct doubts doubts;

	doubts_of(&doubts, page->file, p);
	count = cache_criteria(p, doubts_void(&doubts), criteria);
	if (!count)
		return;
	for (unsigned i = 0; i < count; i++) {
		met += criteria[i].reached;
		caches_criterion(judged, sizeof(judged), &criteria[i]);
	}
	phase_name(page->file, p, name);
	say(sentence, sizeof(sentence),
	    "%s: %u of %u criteria of MLPerf's benchmark %s met, which are no part of its score%s.",
	    name, met, count, doubts_void(&doubts) ? "would be" : "are", judged);
	doubts_but(sentence, sizeof(sentence), &doubts, met);
	text_wrap(page->out, sentence, 0, 2);
}

/* Recorded requests that were longer than the options let them be. */
void text_cut(struct page *page, const struct results_phase_read *p)
{
	double tokens = results_role_value(&p->merged, 0, ROLE_CUT_TOKENS);
	double requests = results_role_value(&p->merged, 0, ROLE_CUT);
	char name[PHASE_NAME_BYTES], sentence[512] = "", count[UNITS_TEXT_BYTES];

	if (!(requests > 0))
		return;
	phase_name(page->file, p, name);
	say(sentence, sizeof(sentence),
	    "%s: %s of the recorded requests were cut; %.0f tokens of their contexts are left out "
	    "(arrivals.context_max).",
	    name, units_count(count, requests), tokens);
	text_wrap(page->out, sentence, 0, 2);
}

/* Old results do not tell hits by their kinds. */
static bool caches_have_kinds(const struct results_phase_read *p)
{
	static const int kinds[] = {ROLE_HIT_RATE_PROMPT, ROLE_HIT_RATE_TURN, ROLE_HIT_RATE_DECODE};
	bool have = false;

	for (size_t i = 0; i < COUNT(kinds); i++)
		have |= !isnan(results_role_value(&p->merged, 0, kinds[i]));
	return have;
}

static void caches_after(struct page *page)
{
	bool compared = false, kinds = false;

	for (uint32_t i = 0; i < page->file->phase_count; i++)
		kinds |= caches_is(&page->file->phases[i]) &&
			 caches_have_kinds(&page->file->phases[i]);
	if (kinds)
		text_wrap(
			page->out,
			"hits: of reads of system prompts, of earlier turns of a conversation, and of "
			"a request's own entry while it decodes",
			0, 2);
	for (uint32_t i = 0; i < page->file->phase_count; i++)
		if (caches_is(&page->file->phases[i]))
			text_cut(page, &page->file->phases[i]);

	for (uint32_t i = 0; i < page->file->phase_count; i++)
		if (caches_is(&page->file->phases[i]))
			compared = caches_figures(page, &page->file->phases[i]) || compared;
	if (compared)
		caches_explain(page);
	for (uint32_t i = 0; i < page->file->phase_count; i++)
		caches_criteria(page, &page->file->phases[i]);
}

const struct text_kind text_caches = {
	.is = caches_is,
	.columns = cache_columns,
	.below =
		"GB/s: of all ranks, with the entries that moved between tiers; p95, p99: of whole "
		"entries of all ranks\n",
	.after = caches_after,
};
