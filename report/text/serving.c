/* SPDX-License-Identifier: Apache-2.0 */
/* Servers of a key-value cache as text: the time to the first token and its parts; what was found, and
 * what that saved. */
#include <string.h>

#include "facts/text.h"
#include "report/cache.h"
#include "report/text/page.h"

static const struct column serving_columns[] = {
	COLUMN(NAME, struct phase_row, name, NULL, "servers of a cache"),
	PHASE_ROLE("requests/s", ITEM_RATE, FIGURE),
	PHASE_ROLE("tokens/s", TOKEN_RATE, FIGURE),
	PHASE_ROLE("GB/s read", READ_RATE, GIGA),
	PHASE_ROLE("written", WRITE_RATE, GIGA),
	PHASE_ROLE("hits", HIT_RATE, SHARE),
	COLUMNS_END};

static enum column_format serving_format(const void *row)
{
	const char *unit = ((const struct cache_fact *)row)->unit;

	return strcmp(unit, "fraction") == 0 ? FORMAT_SHARE
	       : strcmp(unit, "s") == 0      ? FORMAT_TIME
	       : strcmp(unit, "") == 0       ? FORMAT_COUNT
					     : FORMAT_FIGURE;
}

static void serving_phase(struct page *page, const struct results_phase_read *p)
{
	const struct phase_row of = phase_row_of(page->file, p);
	const struct column part_columns[] = {
		COLUMN(TEXT, struct cache_part, label, NULL, of.name),
		COLUMN(U64, struct cache_part, count, NULL, "requests", .format = FORMAT_COUNT),
		COLUMN(REAL, struct cache_part, p50_ns, NULL, "p50", .format = FORMAT_NS),
		COLUMN(REAL, struct cache_part, p95_ns, NULL, "p95", .format = FORMAT_NS),
		COLUMN(REAL, struct cache_part, p99_ns, NULL, "p99", .format = FORMAT_NS),
		COLUMNS_END};
	static const struct column fact_columns[] = {
		COLUMN(TEXT, struct cache_fact, label, NULL, "found and saved",
		       .width = TABLE_CELL_BYTES - 1),
		COLUMN(REAL, struct cache_fact, value, NULL, "", .format_of = serving_format),
		COLUMNS_END};
	struct cache_part parts[CACHE_PARTS];
	struct cache_fact facts[CACHE_FACTS];
	const struct report_table tables[] = {
		{.columns = part_columns, TABLE_ROWS(parts, cache_parts(p, parts))},
		{.columns = fact_columns, TABLE_ROWS(facts, cache_facts(p, facts))},
	};

	text_cut(page, p);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		fputc('\n', page->out);
		text_table(page->out, &tables[i]);
	}
}

static void serving_after(struct page *page)
{
	for (uint32_t i = 0; i < page->file->phase_count; i++)
		if (cache_serves(&page->file->phases[i]))
			serving_phase(page, &page->file->phases[i]);
	text_wrap(
		page->out,
		"first token: queue + lookup + recompute + stall of a request; stall: how long computing waited for blocks; "
		"saved: by how much first tokens came earlier than if all prompts had been computed, added over the requests; – from "
		"which fetching is faster: never, or the fetches do not tell.",
		0, 2);
}

const struct text_kind text_serving = {
	.is = cache_serves,
	.columns = serving_columns,
	.below = "hits: of the blocks of prompts\n",
	.after = serving_after,
};
