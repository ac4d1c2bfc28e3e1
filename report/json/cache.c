/* SPDX-License-Identifier: Apache-2.0 */
/* What MLPerf's benchmark would report of a key-value cache as JSON: see report/cache.h. */
#include "report/cache.h"
#include "core/numbers.h"
#include "report/json/json.h"

static const char *cache_bound(const void *criterion)
{
	return ((const struct cache_criterion *)criterion)->most ? "most" : "least";
}

void json_cache(cJSON *to, const struct results_phase_read *p)
{
	static const struct column figure_columns[] = {
		FIELD(TEXT, struct cache_figure, name),   FIELD(TEXT, struct cache_figure, unit),
		FIELD(REAL, struct cache_figure, mlperf), FIELD(REAL, struct cache_figure, haul),
		FIELD(TEXT, struct cache_figure, note),   COLUMNS_END};
	static const struct column criterion_columns[] = {
		FIELD(TEXT, struct cache_criterion, name),
		FIELD(TEXT, struct cache_criterion, unit),
		{.type = COLUMN_WORD, .key = "bound", .word = cache_bound},
		FIELD(REAL, struct cache_criterion, asked),
		FIELD(REAL, struct cache_criterion, found),
		FIELD(FLAG, struct cache_criterion, device),
		FIELD(FLAG, struct cache_criterion, met),
		COLUMNS_END};
	struct cache_figure figures[CACHE_FIGURES];
	struct cache_criterion criteria[CACHE_CRITERIA];
	const struct report_table tables[] = {
		{.key = "mlperf_figures",
		 .columns = figure_columns,
		 TABLE_ROWS(figures, cache_figures(p, figures))},
		{.key = "mlperf_criteria",
		 .columns = criterion_columns,
		 TABLE_ROWS(criteria, cache_criteria(p, criteria))},
	};

	for (size_t i = 0; cache_is(p) && i < COUNT(tables); i++)
		json_table(to, &tables[i]);
}
