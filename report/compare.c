/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of results: see compare.h. */
#include "report/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct compare_metric_kind compare_metrics[COMPARE_METRICS] = {
#define COMPARE_ROW(id, word, key, format, figure, rate, less) \
	[COMPARE_##id] = {word, key, FORMAT_##format, figure, rate, less},
	COMPARE_LIST(COMPARE_ROW)
#undef COMPARE_ROW
};

static const double wrong_by_chance = 0.05;

static const struct series_line *compare_find(const struct compare_side *side,
					      const struct series_line *wanted)
{
	for (uint32_t i = 0; i < side->lines->count; i++)
		if (side->lines->lines[i].first->record.combination == side->combination &&
		    series_same_phase(&side->lines->lines[i], wanted))
			return &side->lines->lines[i];
	return NULL;
}

static int compare_add_side(struct comparison *c, const struct results_file *f,
			    const struct series_lines *lines, const struct phase_record *r,
			    struct err *err)
{
	struct compare_side *side = &c->sides[c->side_count];

	for (unsigned i = 0; i < c->side_count; i++)
		if (c->sides[i].file == f && c->sides[i].combination == r->combination)
			return 0;
	if (c->side_count == COMPARE_SIDES_MAX)
		return err_set(err, -EINVAL,
			       "there are more than %d files and combinations to compare",
			       COMPARE_SIDES_MAX);
	*side = (struct compare_side){.file = f, .lines = lines, .combination = r->combination};
	side->letter[0] = (char)('A' + c->side_count++);
	snprintf(side->name, sizeof(side->name), "%.*s%s%s", COMPARE_PATH_BYTES - 4, f->path,
		 *r->sweep ? ", " : "", r->sweep);
	return 0;
}

/* The sides of a file, in the order of their first phases. What makes data belongs to the first
 * combination only, so a combination is told by its other phases, too. */
static int compare_add_file(struct comparison *c, const struct results_file *f, struct err *err)
{
	struct series_lines *lines = &c->lines[c->file_count];
	int rc = 0;

	if (!series_make(lines, f))
		rc = err_set(err, -ENOMEM, "no memory for the comparison");
	c->file_count++;
	for (uint32_t i = 0; rc == 0 && i < lines->count; i++)
		rc = compare_add_side(c, f, lines, &lines->lines[i].first->record, err);
	return rc;
}

static enum compare_metric compare_main(const struct compare_pair *pair)
{
	enum series_figure named = series_main(pair->line[0]->first);

	for (int m = 0; m < COMPARE_METRICS; m++)
		if (compare_metrics[m].figure == named && isfinite(pair->ratios[m].ratio))
			return (enum compare_metric)m;
	for (int m = 0; m < COMPARE_METRICS; m++)
		if (compare_metrics[m].rate && isfinite(pair->ratios[m].ratio))
			return (enum compare_metric)m;
	return isfinite(pair->ratios[COMPARE_SECONDS].ratio) ? COMPARE_SECONDS : COMPARE_METRICS;
}

static void compare_pair_ratios(struct compare_pair *pair, double level)
{
	struct ratio_side sides[2];

	for (int m = 0; m < COMPARE_METRICS; m++) {
		for (int i = 0; i < 2; i++)
			sides[i] = (struct ratio_side){
				pair->line[i]->values[compare_metrics[m].figure],
				pair->line[i]->values[SERIES_BEGAN], pair->line[i]->repeats};
		pair->ratios[m] = ratio_of(&sides[0], &sides[1], level);
	}
	pair->metric = compare_main(pair);
	pair->judged = pair->metric != COMPARE_METRICS && pair->line[0]->repeats > 1 &&
		       pair->line[1]->repeats > 1;
}

static bool compare_has_phase(const struct comparison *c, const struct series_line *line)
{
	for (unsigned i = 0; i < c->phase_count; i++)
		if (series_same_phase(c->phases[i].line, line))
			return true;
	return false;
}

static bool compare_add_phase(struct comparison *c, const struct series_line *line)
{
	struct compare_phase *phase = &c->phases[c->phase_count];
	const struct series_line *first = compare_find(&c->sides[0], line);

	*phase = (struct compare_phase){.line = line,
					.pairs = calloc(c->side_count, sizeof(*phase->pairs))};
	if (!phase->pairs)
		return false;
	c->phase_count++;
	for (unsigned i = 0; i < c->side_count; i++) {
		const struct series_line *other = compare_find(&c->sides[i], line);

		phase->missing |= other ? 0 : 1u << i;
		if (i && first && other)
			phase->pairs[phase->pair_count++] =
				(struct compare_pair){.side = i, .line = {first, other}};
	}
	c->pair_count += phase->pair_count;
	return true;
}

static bool compare_add_phases(struct comparison *c)
{
	size_t most = 1;

	for (unsigned i = 0; i < c->file_count; i++)
		most += c->lines[i].count;
	c->phases = calloc(most, sizeof(*c->phases));
	if (!c->phases)
		return false;
	for (unsigned i = 0; i < c->file_count; i++)
		for (uint32_t k = 0; k < c->lines[i].count; k++)
			if (!compare_has_phase(c, &c->lines[i].lines[k]) &&
			    !compare_add_phase(c, &c->lines[i].lines[k]))
				return false;
	return true;
}

static void compare_all(struct comparison *c, double level)
{
	c->level = level;
	c->verdicts = 0;
	for (unsigned i = 0; i < c->phase_count; i++)
		for (unsigned k = 0; k < c->phases[i].pair_count; k++) {
			compare_pair_ratios(&c->phases[i].pairs[k], level);
			c->verdicts += c->phases[i].pairs[k].judged;
		}
}

static bool compare_differences(struct comparison *c)
{
	struct difference_side sides[COMPARE_SIDES_MAX];

	for (unsigned i = 0; i < c->side_count; i++)
		sides[i] = (struct difference_side){c->sides[i].file, c->sides[i].combination};
	return differences_make(&c->differences, sides, c->side_count);
}

static int compare_fill(struct comparison *c, const struct results_file *const *files,
			unsigned count, struct err *err)
{
	int rc = 0;

	c->lines = calloc(count + 1, sizeof(*c->lines));
	if (!c->lines)
		return err_set(err, -ENOMEM, "no memory for the comparison");
	for (unsigned i = 0; rc == 0 && i < count; i++)
		rc = compare_add_file(c, files[i], err);
	if (rc < 0)
		return rc;
	if (c->side_count < 2)
		return err_set(err, -EINVAL,
			       "there is nothing to compare with: give two files, or one with a "
			       "sweep in which two combinations have finished");
	if (!compare_add_phases(c) || !compare_differences(c))
		return err_set(err, -ENOMEM, "no memory for the comparison");
	compare_all(c, 1 - wrong_by_chance);
	if (!c->pair_count)
		return err_set(err, -EINVAL,
			       "no other side has a finished phase of the name and kind of one "
			       "in %s",
			       c->sides[0].name);
	if (c->verdicts > 1)
		compare_all(c, 1 - wrong_by_chance / c->verdicts);
	return 0;
}

int compare_make(struct comparison **out, const struct results_file *const *files, unsigned count,
		 struct err *err)
{
	struct comparison *c = *out = calloc(1, sizeof(*c));
	int rc = c ? compare_fill(c, files, count, err)
		   : err_set(err, -ENOMEM, "no memory for the comparison");

	if (rc < 0) {
		compare_free(c);
		*out = NULL;
	}
	return rc;
}

void compare_free(struct comparison *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->phase_count; i++)
		free(c->phases[i].pairs);
	for (unsigned i = 0; i < c->file_count; i++)
		series_free_lines(&c->lines[i]);
	free(c->phases);
	free(c->lines);
	differences_free(&c->differences);
	free(c);
}
