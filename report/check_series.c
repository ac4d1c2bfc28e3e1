/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a series: see check.h. Each phase of a name is one series, in the order of the files. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "report/check.h"
#include "report/phase.h"

/* Runs of all files. */
struct series_runs {
	const struct results_phase_read **list;
	uint32_t count;
};

static double series_begun(const struct results_phase_read *p)
{
	return (double)p->record.started_ns * 1e-9;
}

static double series_ended(const struct results_phase_read *p)
{
	return (double)p->record.finished_ns * 1e-9;
}

/* The time from checkpoints that were written to those that the phase only reads; NaN: there is none. */
static double series_after_writes(const struct series_runs *all, const struct results_phase_read *p)
{
	double after = NAN;

	if (phase_purpose(p) != PURPOSE_CHECKPOINTS ||
	    results_value(&p->merged, 0, "bytes_written") > 0)
		return NAN;
	for (uint32_t i = 0; i < all->count; i++) {
		const struct results_phase_read *w = all->list[i];

		if (phase_purpose(w) == PURPOSE_CHECKPOINTS && series_ended(w) <= series_begun(p) &&
		    results_value(&w->merged, 0, "bytes_written") > 0)
			after = fmin(after, series_begun(p) - series_ended(w));
	}
	return after;
}

/* The facts of the series that begins with run i. */
static cJSON *series_tree(const struct series_runs *all, uint32_t i)
{
	const struct results_phase_read *first = all->list[i], *last = NULL;
	double gap = 0, shortest = INFINITY, after = NAN, queries = 0;
	uint32_t warmups = 0, runs = 0;
	cJSON *tree = json_object(), *series = cJSON_AddObjectToObject(tree, "series");

	for (; i < all->count; i++) {
		const struct results_phase_read *p = all->list[i];

		if (strcmp(p->record.name, first->record.name) != 0)
			continue;
		if (last)
			gap = fmax(gap, series_begun(p) - series_ended(last));
		last = p;
		warmups += p->record.warmup;
		runs += !p->record.warmup;
		shortest = fmin(shortest, series_ended(p) - series_begun(p));
		after = fmax(after, series_after_writes(all, p));
		if (results_column(&p->merged, "queries") >= 0)
			queries += results_value(&p->merged, 0, "queries");
	}
	json_add_text(tree, "kind", first->record.kind);
	json_add_text(tree, "name", first->record.name);
	json_add_number(series, "warmups", warmups);
	json_add_number(series, "runs", runs);
	if (warmups + runs > 1 && shortest > 0)
		json_add_number(series, "longest_gap_of_a_run", gap / shortest);
	if (isfinite(after))
		json_add_number(series, "seconds_after_writes", after);
	if (queries > 0)
		json_add_number(series, "queries", queries);
	return tree;
}

static bool series_is_known(const struct series_runs *all, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (strcmp(all->list[k]->record.name, all->list[i]->record.name) == 0)
			return true;
	return false;
}

void check_series(struct check *c, const struct results_file *const *files, uint32_t count)
{
	struct series_runs all = {.list = NULL};
	uint32_t n = 0;

	for (uint32_t f = 0; f < count; f++)
		n += files[f]->phase_count;
	all.list = calloc(n + 1, sizeof(struct results_phase_read *));
	c->failed |= !all.list;
	for (uint32_t f = 0; all.list && f < count; f++)
		for (uint32_t i = 0; i < files[f]->phase_count; i++)
			all.list[all.count++] = &files[f]->phases[i];
	for (uint32_t i = 0; i < all.count; i++) {
		cJSON *tree = series_is_known(&all, i) ? NULL : series_tree(&all, i);

		if (tree)
			check_tree(c, RULE_OF_SERIES, tree, NULL, all.list[i]->record.name);
		json_free(tree);
	}
	free(all.list);
}
