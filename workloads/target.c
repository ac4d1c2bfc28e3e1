/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a phase's targets: see target.h. */
#include "workloads/target.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

/* The histogram of that name. For TARGET_MAIN_HIST it is the one whose percentiles the summary
 * shows: the first, starting with the schema's, that any rank has used. -1: there is none. */
static int target_find_hist(const char *name, const struct tally *t, struct group *g, int *index)
{
	const struct tally_schema *s = t->schema;
	uint64_t best = 0;
	int rc;

	*index = -1;
	for (uint32_t i = 0; i < s->hist_count && *name; i++)
		if (strcmp(s->hists[i].name, name) == 0)
			*index = (int)i;
	if (*name)
		return 0;
	for (uint32_t i = s->main_hist; i < s->hist_count && !best; i++)
		if (hist_count(&t->hists[i]))
			best = s->hist_count - i;
	rc = group_allreduce(g, MERGE_MAX, &best, 1);
	if (best)
		*index = (int)(s->hist_count - best);
	return rc;
}

/* Rank 0 gets the quantile, or NaN where nothing was recorded. */
static int target_find_quantile(const struct target *target, const struct tally *t, struct group *g,
				double *found, struct err *err)
{
	struct hist *all;
	int index, rc = target_find_hist(target->hist, t, g, &index);

	*found = NAN;
	if (rc < 0 || index < 0)
		return rc;
	all = malloc(sizeof(*all));
	rc = all ? 0 : err_set(err, -ENOMEM, "no memory for the targets of a phase");
	rc = group_agree(g, rc, err);
	if (rc == 0) {
		*all = t->hists[index];
		rc = group_reduce(g, MERGE_SUM, all->bucket, HIST_SUM_WORDS);
	}
	if (rc == 0)
		rc = group_reduce(g, MERGE_MAX, &all->max_ns, HIST_MAX_WORDS);
	if (rc == 0 && g->rank == 0 && hist_count(all))
		*found = (double)hist_quantile_ns(all, target->quantile);
	free(all);
	return rc;
}

/* Rank 0 gets the figure of the merged row. */
static int target_find_figure(const struct target *target, const struct tally *t, struct group *g,
			      double *found, struct err *err)
{
	const struct columns *columns = &t->schema->rank;
	const struct figure *figure = columns_figure_named(columns, target->figure);
	uint64_t *row;
	int rc;

	*found = NAN;
	if (!figure)
		return 0;
	row = malloc(columns->measure_count * sizeof(*row));
	rc = row ? 0 : err_set(err, -ENOMEM, "no memory for the targets of a phase");
	rc = group_agree(g, rc, err);
	if (rc == 0) {
		memcpy(row, t->rank_row, columns->measure_count * sizeof(*row));
		rc = columns_reduce(columns, g, row);
	}
	if (rc == 0 && g->rank == 0)
		*found = figure_value(figure, row);
	free(row);
	return rc;
}

static int target_find(const struct target *target, const struct tally *t, struct group *g,
		       double asked, struct target_result *out, struct err *err)
{
	int rc;

	*out = (struct target_result){.asked = asked, .most = target->bound == TARGET_MOST};
	utf8_copy(out->name, sizeof(out->name), target->name);
	utf8_copy(out->label, sizeof(out->label), target->label);
	utf8_copy(out->unit, sizeof(out->unit), target->unit);
	rc = target->figure ? target_find_figure(target, t, g, &out->found, err)
			    : target_find_quantile(target, t, g, &out->found, err);
	out->met = target_met(out);
	return rc;
}

int workload_targets(const struct job_phase *phase, const struct tally *t, struct group *g,
		     struct target_result out[TARGETS_MAX], uint32_t *count, struct err *err)
{
	const struct target *list = phase->section->targets;
	uint32_t n = 0;
	int rc = 0;

	*count = 0;
	for (unsigned i = 0; rc == 0 && list && list[i].name && i < TARGETS_MAX; i++) {
		double asked = job_target_at(phase, i);

		if (!isnan(asked))
			rc = target_find(&list[i], t, g, asked, &out[n++], err);
	}
	if (rc == 0 && n)
		rc = group_broadcast(g, out, n * sizeof(*out));
	if (rc == 0)
		*count = n;
	return rc;
}
