/* SPDX-License-Identifier: Apache-2.0 */
/* Look-up of columns, histograms and tables in results that were read. See results_read.h. */
#include <math.h>
#include <string.h>

#include "results-schema/read_phase.h"

int results_column(const struct results_table *table, const char *name)
{
	for (uint32_t i = 0; i < table->column_count; i++)
		if (strcmp(table->columns[i].name, name) == 0)
			return (int)i;
	return -1;
}

int results_role(const struct results_table *table, enum role role)
{
	for (uint32_t i = 0; i < table->column_count; i++)
		if (table->columns[i].role == role)
			return (int)i;
	return -1;
}

double results_cell(const struct results_table *table, uint64_t row, int column)
{
	const union results_cell *cell;

	if (column < 0 || row >= table->row_count)
		return NAN;
	cell = &table->cells[row * table->column_count + (uint32_t)column];
	return table->columns[column].real ? cell->real : (double)cell->count;
}

double results_value(const struct results_table *table, uint64_t row, const char *name)
{
	return results_cell(table, row, results_column(table, name));
}

double results_role_value(const struct results_table *table, uint64_t row, enum role role)
{
	return results_cell(table, row, results_role(table, role));
}

bool results_undone(const struct results_table *table, uint64_t row, uint32_t column)
{
	const char *by = table->columns[column].counted_by;

	return *by && !(results_value(table, row, by) > 0);
}

const struct results_hist *read_hist_named(const struct results_phase_read *phase, const char *name)
{
	for (uint32_t i = 0; i < phase->hist_count; i++)
		if (strcmp(phase->hists[i].name, name) == 0)
			return &phase->hists[i];
	return NULL;
}

const struct results_hist *read_hist_of_role(const struct results_phase_read *phase, enum role role)
{
	for (uint32_t i = 0; i < phase->hist_count; i++)
		if (phase->hists[i].role == role)
			return &phase->hists[i];
	return NULL;
}

uint64_t results_row_count(const struct results_row_hists *h, uint64_t row)
{
	const uint64_t *counts = h->counts + row * h->bucket_count;
	uint64_t count = 0;

	for (uint32_t i = 0; i < h->bucket_count; i++)
		count += counts[i];
	return count;
}

double results_row_quantile(const struct results_row_hists *h, uint64_t row, double q)
{
	const uint64_t *counts = h->counts + row * h->bucket_count;
	uint64_t count = results_row_count(h, row), seen = 0;
	double wanted = ceil(q * (double)count - 1e-9);

	if (!count)
		return 0;
	for (uint32_t i = 0; i < h->bucket_count; i++) {
		seen += counts[i];
		if ((double)seen >= wanted && seen)
			return ((double)h->edges_ns[i] + (double)h->edges_ns[i + 1] - 1) / 2;
	}
	return (double)h->edges_ns[h->bucket_count];
}

double results_measured_s(const struct results_phase_read *p)
{
	/* The seconds of a file of an earlier version are the whole phase. */
	double done_s = results_role_value(&p->merged, 0, ROLE_RANK_DONE) / 1e9;

	return done_s > 0 ? done_s : p->record.seconds;
}
