/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a phase's targets: see target.h. */
#include "workloads/target.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "core/utf8.h"

/* The histogram of that name. For TARGET_MAIN_HIST it is the one whose percentiles the summary
 * shows: the first, starting with the main one, that any rank has used. -1: there is none. */
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
	for (uint32_t i = t->main_hist; i < s->hist_count && !best; i++)
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
		*found = (double)quantile_ns(all, (enum quantile)target->quantile);
	free(all);
	return rc;
}

/* Rank 0 gets the figure of the merged row; *figure NULL: the main one, which it gets, too. */
static int target_find_figure(const struct figure **figure, const struct tally *t, struct group *g,
			      double *found, struct err *err)
{
	const struct columns *columns = &t->schema->rank;
	uint64_t *row;
	int rc;

	*found = NAN;
	row = malloc(columns->measure_count * sizeof(*row));
	rc = row ? 0 : err_set(err, -ENOMEM, "no memory for the targets of a phase");
	rc = group_agree(g, rc, err);
	if (rc == 0) {
		memcpy(row, t->rank_row, columns->measure_count * sizeof(*row));
		rc = columns_reduce(columns, g, row);
	}
	if (rc == 0 && g->rank == 0) {
		*figure = *figure ? *figure : tally_main_figure(t->schema, row);
		*found = *figure ? figure_value(*figure, row) : NAN;
	}
	free(row);
	return rc;
}

static int target_find(const struct target *target, const struct tally *t, struct group *g,
		       double asked, struct target_result *out, struct err *err)
{
	const struct figure *figure =
		target->figure ? columns_figure_named(&t->schema->rank, target->figure) : NULL;
	int rc = 0;

	*out = (struct target_result){
		.found = NAN, .asked = asked, .most = target->bound == TARGET_MOST};
	utf8_copy(out->name, sizeof(out->name), target->name);
	utf8_copy(out->label, sizeof(out->label), target->label);
	utf8_copy(out->unit, sizeof(out->unit), target->unit);
	if (!target->figure)
		rc = target_find_quantile(target, t, g, &out->found, err);
	else if (figure)
		rc = target_find_figure(&figure, t, g, &out->found, err);
	out->met = target_met(out);
	return rc;
}

#define TARGET_PREFIX "target_"

/* What people call a figure: as its target does. */
static const char *target_label(const struct section *section, const char *figure)
{
	for (const struct target *t = section->targets; t && t->name; t++)
		if (t->figure && strcmp(t->figure, figure) == 0)
			return t->label;
	return figure;
}

static struct target target_of_figure(const struct section *section, const struct figure *f)
{
	bool time = strcmp(f->unit, "s") == 0 || strcmp(f->unit, "ns") == 0 ||
		    strcmp(f->unit, "us") == 0 || strcmp(f->unit, "s/GB") == 0;

	return (struct target){.name = f->name,
			       .label = target_label(section, f->name),
			       .unit = f->unit,
			       .figure = f->name,
			       .bound = time ? TARGET_MOST : TARGET_LEAST};
}

int workload_judge_by(const struct section *section, const struct tally_schema *schema,
		      const char *name, struct target *out)
{
	const struct figure *figure = columns_figure_named(&schema->rank, name);
	size_t prefix = strlen(TARGET_PREFIX);

	for (const struct target *t = section->targets; t && t->name; t++)
		if (strcmp(t->name, name) == 0 || strcmp(t->name + prefix, name) == 0) {
			*out = *t;
			return 0;
		}
	if (!figure)
		return -ENOENT;
	*out = target_of_figure(section, figure);
	return 0;
}

int workload_judge(const struct section *section, const struct target *by, const struct tally *t,
		   struct group *g, struct target_result *out, struct err *err)
{
	const struct figure *main = NULL;
	struct target named;
	double found = NAN;
	int rc;

	if (by->name) {
		rc = target_find(by, t, g, NAN, out, err);
	} else {
		*out = (struct target_result){.asked = NAN, .found = NAN};
		rc = target_find_figure(&main, t, g, &found, err);
		if (rc == 0 && main) {
			named = target_of_figure(section, main);
			out->found = found;
			utf8_copy(out->name, sizeof(out->name), named.name);
			utf8_copy(out->label, sizeof(out->label), named.label);
			utf8_copy(out->unit, sizeof(out->unit), named.unit);
		}
	}
	return rc < 0 ? rc : group_broadcast(g, out, sizeof(*out));
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
