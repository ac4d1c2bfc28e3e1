/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of measures: merged one by one, or reduced over a group. See measure.h. */
#include "core/measure/measure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[ROLES] = {
#define ROLE_NAME(id, name) [ROLE_##id] = name,
	ROLE_LIST(ROLE_NAME)
#undef ROLE_NAME
};

const char *role_name(enum role role)
{
	return names[role];
}

enum role role_of(const char *name)
{
	for (int i = 0; i < ROLES; i++)
		if (strcmp(names[i], name) == 0)
			return (enum role)i;
	return ROLE_NONE;
}

enum { REDUCE_WORDS = 128 };

static int reduce_some(const struct measure *measures, uint32_t n, struct group *g, uint64_t *row);

static uint64_t figure_sum(const int16_t terms[FIGURE_TERMS], const uint64_t *row)
{
	uint64_t sum = 0;

	for (int i = 0; i < FIGURE_TERMS && terms[i]; i++)
		sum += terms[i] > 0 ? row[terms[i] - 1] : -row[-terms[i] - 1];
	return sum;
}

double figure_value(const struct figure *f, const uint64_t *row)
{
	uint64_t below = f->below[0] ? figure_sum(f->below, row) : 1, above;

	if (f->value)
		return f->value(row);
	for (int i = 0; i < FIGURE_NEEDS && f->needs[i]; i++)
		if (!row[f->needs[i] - 1])
			return NAN;
	if (!below)
		return NAN;
	above = f->above[0] ? figure_sum(f->above, row) : 1;
	if (!above && strcmp(f->unit, "B/s") == 0)
		return NAN;
	return (double)above * f->times / (double)below;
}

/* Appends to a text of FIGURE_FORMULA_BYTES; what does not fit is cut. */
__attribute__((format(printf, 2, 3))) static void formula_add(char *text, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, FIGURE_FORMULA_BYTES - used, format, arguments);
	va_end(arguments);
}

static void formula_add_sum(char *text, const struct columns *columns,
			    const int16_t terms[FIGURE_TERMS])
{
	bool several = terms[1] != 0;

	for (int i = 0; i < FIGURE_TERMS && terms[i]; i++) {
		int16_t at = terms[i] > 0 ? terms[i] : (int16_t)-terms[i];
		const char *before = i == 0 ? (several ? "(" : "") : terms[i] > 0 ? " + " : " - ";

		formula_add(text, "%s%s", before, columns->measures[at - 1].name);
	}
	if (several)
		formula_add(text, ")");
}

void figure_formula(const struct columns *columns, const struct figure *f,
		    char text[FIGURE_FORMULA_BYTES])
{
	int power = f->times > 0 ? (int)lround(log10(f->times)) : 0;

	text[0] = '\0';
	if (f->value) {
		formula_add(text, "%s", f->formula);
		return;
	}
	/* All factors are powers of ten, and read best as such. */
	if (power)
		formula_add(text, f->above[0] ? "1e%d * " : "1e%d", power);
	else if (!f->above[0])
		formula_add(text, "1");
	formula_add_sum(text, columns, f->above);
	if (f->below[0])
		formula_add(text, " / ");
	formula_add_sum(text, columns, f->below);
	for (int i = 0; i < FIGURE_NEEDS && f->needs[i]; i++)
		formula_add(text, "%s%s", i ? " or " : ", unknown where ",
			    columns->measures[f->needs[i] - 1].name);
	if (f->needs[0])
		formula_add(text, " is 0");
}

const struct figure *columns_figure(const struct columns *columns, enum role role)
{
	for (uint32_t i = 0; i < columns->figure_count; i++)
		if (columns->figures[i].role == role)
			return &columns->figures[i];
	return NULL;
}

const struct figure *columns_figure_named(const struct columns *columns, const char *name)
{
	for (uint32_t i = 0; i < columns->figure_count; i++)
		if (strcmp(columns->figures[i].name, name) == 0)
			return &columns->figures[i];
	return NULL;
}

void columns_merge(const struct columns *columns, uint64_t *into, const uint64_t *from)
{
	for (uint32_t i = 0; i < columns->measure_count; i++) {
		switch (columns->measures[i].merge) {
		case MERGE_SUM:
			into[i] += from[i];
			break;
		case MERGE_MAX:
			into[i] = from[i] > into[i] ? from[i] : into[i];
			break;
		case MERGE_MIN:
			into[i] = from[i] < into[i] ? from[i] : into[i];
			break;
		case MERGES:
			break;
		}
	}
}

/* Works on the stack, in pieces that are the same on all ranks, so that no rank can fail alone. */
int columns_reduce(const struct columns *columns, struct group *g, uint64_t *row)
{
	for (uint32_t at = 0; at < columns->measure_count; at += REDUCE_WORDS) {
		uint32_t n = columns->measure_count - at;
		int rc = reduce_some(columns->measures + at, n < REDUCE_WORDS ? n : REDUCE_WORDS, g,
				     row + at);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* One reduction adds sums. Another takes maxima, and minima as maxima of their complements. */
static int reduce_some(const struct measure *measures, uint32_t n, struct group *g, uint64_t *row)
{
	uint64_t sums[REDUCE_WORDS], maxima[REDUCE_WORDS];
	uint32_t sum_count = 0, max_count = 0;
	int rc = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (measures[i].merge == MERGE_SUM)
			sums[sum_count++] = row[i];
		else
			maxima[max_count++] = measures[i].merge == MERGE_MIN ? ~row[i] : row[i];
	}
	if (sum_count)
		rc = group_reduce(g, MERGE_SUM, sums, sum_count);
	if (rc == 0 && max_count)
		rc = group_reduce(g, MERGE_MAX, maxima, max_count);
	if (rc < 0 || g->rank != 0)
		return rc;
	sum_count = 0;
	max_count = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (measures[i].merge == MERGE_SUM)
			row[i] = sums[sum_count++];
		else if (measures[i].merge == MERGE_MIN)
			row[i] = ~maxima[max_count++];
		else
			row[i] = maxima[max_count++];
	}
	return 0;
}
