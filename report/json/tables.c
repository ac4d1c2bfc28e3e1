/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a phase as JSON: each is an array of objects under the table's name, one object per
 * row, with the columns by their names. A row by text has its "name". Where the file tells how the
 * ranks differed in the row, it has the least and the greatest utilisation of a rank, and the rank
 * with the least. A time of something that was not done is null. Counts by code are an object. A
 * histogram of the row is an object of its quantiles. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "core/numbers.h"
#include "report/json/json.h"

void json_cell(cJSON *to, const struct results_table *t, uint64_t row, uint32_t column)
{
	const struct results_column *c = &t->columns[column];
	const union results_cell *value = &t->cells[row * t->column_count + column];
	char text[32];

	if (c->real) {
		json_add_number(to, c->name, value->real);
	} else if (strcmp(c->unit, "id") == 0) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value->count);
		cJSON_AddStringToObject(to, c->name, text);
	} else {
		json_add_number(to, c->name, (double)value->count);
	}
}

static void add_codes(cJSON *row, const struct results_rows *t, uint64_t i)
{
	cJSON *codes = cJSON_AddObjectToObject(row, t->codes_name);
	char code[24];

	for (uint64_t k = 0; k < t->code_count; k++) {
		if (t->codes[k][0] != i)
			continue;
		snprintf(code, sizeof(code), "%llu", (unsigned long long)t->codes[k][1]);
		cJSON_AddNumberToObject(codes, code, (double)t->codes[k][2]);
	}
}

static void add_row_hist(cJSON *row, const struct results_row_hists *h, uint64_t i)
{
	char key[RESULTS_NAME_BYTES + 4];
	cJSON *one;

	snprintf(key, sizeof(key), "%s_ns", h->name);
	one = cJSON_AddObjectToObject(row, key);
	json_add_number(one, "count", (double)results_row_count(h, i));
	for (int q = 0; q < QUANTILES; q++)
		json_add_number(one, quantile_kinds[q].name,
				results_row_quantile(h, i, quantile_kinds[q].share));
}

/* The first column of a table by texts is the number of the text. */
static cJSON *row_object(const struct results_rows *t, uint64_t i)
{
	cJSON *row = cJSON_CreateObject();
	double wall_ns = results_value(&t->table, i, "wall_ns");

	if (t->names)
		cJSON_AddStringToObject(row, "name", t->names[i]);
	for (uint32_t c = t->names ? 1 : 0; c < t->table.column_count; c++) {
		if (results_undone(&t->table, i, c))
			cJSON_AddNullToObject(row, t->table.columns[c].name);
		else
			json_cell(row, &t->table, i, c);
	}
	if (!isnan(wall_ns) && results_column(&t->table, "seconds") < 0)
		json_add_number(row, "seconds", wall_ns / 1e9);
	if (t->spread) {
		json_add_number(row, "au_min", t->spread[i].least);
		json_add_number(row, "au_max", t->spread[i].most);
		json_add_number(row, "rank_of_au_min", t->spread[i].least_rank);
	}
	if (t->codes)
		add_codes(row, t, i);
	for (uint32_t h = 0; h < t->hist_count; h++)
		add_row_hist(row, &t->hists[h], i);
	return row;
}

/* Evaluations are left out: they are not epochs of training. */
static void add_table(cJSON *to, const struct results_rows *t)
{
	cJSON *rows = cJSON_AddArrayToObject(to, t->name), *evaluations = NULL;

	for (uint64_t i = 0; i < t->table.row_count; i++) {
		bool apart = results_role_value(&t->table, i, ROLE_EVALUATION) > 0;

		if (apart && !evaluations)
			evaluations = cJSON_AddArrayToObject(to, "evaluations");
		cJSON_AddItemToArray(apart ? evaluations : rows, row_object(t, i));
	}
}

void json_tables(cJSON *to, const struct results_phase_read *p)
{
	/* The key is promised for every phase. */
	if (!results_find_table(p, "epochs"))
		cJSON_AddArrayToObject(to, "epochs");
	p = results_whole(p);
	for (uint32_t i = 0; i < p->table_count; i++)
		add_table(to, &p->tables[i]);
}

/* Folds several rows of the file into one: the mean of means, the largest of maxima. */
static double folded(const double *values, uint64_t first, uint64_t end, bool most)
{
	double sum = 0, largest = NAN;
	uint64_t n = 0;

	for (uint64_t i = first; i < end; i++) {
		if (isnan(values[i]))
			continue;
		largest = n && largest > values[i] ? largest : values[i];
		sum += values[i];
		n++;
	}
	return most ? largest : n ? sum / (double)n : NAN;
}

static void add_folded(cJSON *to, const char *key, const double *values, uint64_t rows,
		       uint64_t fold, bool most, double divisor)
{
	cJSON *list = cJSON_AddArrayToObject(to, key);

	for (uint64_t i = 0; i < rows; i += fold) {
		double value = folded(values, i, min_u64(i + fold, rows), most);

		cJSON_AddItemToArray(list, json_number(value / divisor));
	}
}

/* How long the intervals of some rows were together. */
static double timeline_seconds(const struct results_timeline *t, uint64_t first, uint64_t end)
{
	double seconds = (double)(end - first) * t->interval_s;

	return end == t->rows && t->last_s > 0 ? seconds - t->interval_s + t->last_s : seconds;
}

/* One column: what was counted, over the time in which it was; or the mean of shares of that
 * time. */
static void add_over_time(cJSON *to, const char *key, const struct results_timeline *t, int column,
			  uint64_t fold)
{
	cJSON *list = cJSON_AddArrayToObject(to, key);

	for (uint64_t i = 0; i < t->rows; i += fold) {
		uint64_t end = min_u64(i + fold, t->rows);
		double sum = 0;

		for (uint64_t k = i; k < end; k++)
			sum += t->column[column][k] *
			       (column == SECOND_STALLED_NS ? timeline_seconds(t, k, k + 1) : 1);
		cJSON_AddItemToArray(list, json_number(sum / timeline_seconds(t, i, end)));
	}
}

/* Bytes and operations are given per second, since rows may be folded. */
void json_timeline(cJSON *to, const struct results_phase_read *p, uint32_t rows_max)
{
	const struct results_timeline *t = &results_whole(p)->timeline;
	uint64_t fold = (t->rows + rows_max - 1) / rows_max;
	cJSON *timeline, *times;

	if (!t->rows) {
		cJSON_AddNullToObject(to, "timeline");
		return;
	}
	timeline = cJSON_AddObjectToObject(to, "timeline");
	json_add_number(timeline, "interval_s", t->interval_s * (double)fold);
	times = cJSON_AddArrayToObject(timeline, "time_s");
	for (uint64_t i = 0; i < t->rows; i += fold)
		cJSON_AddItemToArray(times, json_number((double)i * t->interval_s));
	for (int c = 0; c < SECOND_WORDS; c++) {
		bool mean = c == SECOND_STALLED_NS;
		char key[RESULTS_NAME_BYTES];

		snprintf(key, sizeof(key), "%s%s", second_kinds[c].name, mean ? "" : "_per_second");
		if (t->column[c])
			add_over_time(timeline, key, t, c, fold);
	}
}

void json_steps(cJSON *to, const struct results_phase_read *p, uint32_t rows_max)
{
	const struct results_steps *s = &results_whole(p)->steps;
	uint64_t fold = (s->rows + rows_max - 1) / rows_max;
	char key[RESULTS_NAME_BYTES];
	cJSON *steps, *first;

	if (!s->rows) {
		cJSON_AddNullToObject(to, "steps");
		return;
	}
	steps = cJSON_AddObjectToObject(to, "steps");
	json_add_number(steps, "steps_per_row", (double)(s->steps_per_row * fold));
	first = cJSON_AddArrayToObject(steps, "step");
	for (uint64_t i = 0; i < s->rows; i += fold)
		cJSON_AddItemToArray(first, cJSON_CreateNumber(s->step[i]));
	for (int k = 0; k < STEP_PARTS; k++) {
		snprintf(key, sizeof(key), "%s_ns", step_part_kinds[k].name);
		add_folded(steps, key, s->mean_ns[k], s->rows, fold, false, 1);
		snprintf(key, sizeof(key), "%s_max_ns", step_part_kinds[k].name);
		add_folded(steps, key, s->max_ns[k], s->rows, fold, true, 1);
	}
}

/* Buckets of a histogram that are taken together in a distribution; 64 of them make a doubling of
 * the time. Percentiles come from single buckets. */
enum { DISTRIBUTION_FOLD = 8 };

static cJSON *distribution_object(const struct hist *h, unsigned first, unsigned last)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *edges = cJSON_AddArrayToObject(o, "edges"),
	      *counts = cJSON_AddArrayToObject(o, "counts");
	unsigned i;

	for (i = first / DISTRIBUTION_FOLD * DISTRIBUTION_FOLD; i <= last; i += DISTRIBUTION_FOLD) {
		uint64_t sum = 0;

		for (unsigned k = i; k < i + DISTRIBUTION_FOLD; k++)
			sum += h->bucket[k];
		cJSON_AddItemToArray(edges, json_number((double)hist_edge(i)));
		cJSON_AddItemToArray(counts, json_number((double)sum));
	}
	cJSON_AddItemToArray(edges, json_number((double)hist_edge(i)));
	return o;
}

void json_distributions(cJSON *to, const struct results_phase_read *p)
{
	cJSON *all = cJSON_AddObjectToObject(to, "distribution_ns");
	unsigned first, last;

	p = results_whole(p);
	for (uint32_t i = 0; i < p->hist_count; i++)
		if (hist_range(&p->hists[i].hist, &first, &last) == 0)
			cJSON_AddItemToObject(all, p->hists[i].name,
					      distribution_object(&p->hists[i].hist, first, last));
}
