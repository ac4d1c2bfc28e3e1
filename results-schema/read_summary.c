/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of a series whose side files stayed behind: what the results file itself says of them in
 * /summary. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "results-schema/h5.h"
#include "results-schema/read_phase.h"
#include "results-schema/rows.h"

/* The columns of a merged row that /summary has, too, and where they are in its rows. */
static const struct known {
	const char *name, *unit;
	enum role role;
	double times; /* from the unit of /summary */
	size_t offset;
} known[] = {
	{"au", "fraction", ROLE_UTILISATION, 1, offsetof(struct summary_row, au)},
	{"bytes_rate", "bytes per second", ROLE_BYTE_RATE, 1e9,
	 offsetof(struct summary_row, gb_per_s)},
	{"operations_rate", "per second", ROLE_OPERATION_RATE, 1,
	 offsetof(struct summary_row, operations_per_s)},
};
enum { KNOWN = sizeof(known) / sizeof(*known) };

static void fill_merged(struct h5_reader *r, struct results_table *t, const struct summary_row *row)
{
	t->columns = h5r_room(r, KNOWN + 1, sizeof(*t->columns));
	t->cells = h5r_room(r, KNOWN + 1, sizeof(*t->cells));
	if (r->rc < 0)
		return;
	for (size_t i = 0; i < KNOWN; i++) {
		struct results_column *c = &t->columns[i];

		utf8_copy(c->name, sizeof(c->name), known[i].name);
		utf8_copy(c->unit, sizeof(c->unit), known[i].unit);
		c->role = known[i].role;
		c->real = true;
		t->cells[i].real =
			known[i].times * *(const double *)((const char *)row + known[i].offset);
	}
	utf8_copy(t->columns[KNOWN].name, sizeof(t->columns[KNOWN].name),
		  tally_common_columns.measures[TALLY_ERRORS].name);
	t->cells[KNOWN].count = row->errors;
	t->column_count = KNOWN + 1;
	t->row_count = 1;
}

/* What sweeps set, as one text, is one of the phase's sets here. Each text that is new is a
 * combination. */
static void fill_sets(struct h5_reader *r, struct results_phase_read *p)
{
	if (!p->record.sweep[0])
		return;
	p->sets = h5r_room(r, 1, sizeof(*p->sets));
	if (!p->sets)
		return;
	utf8_copy(p->sets[0], sizeof(p->sets[0]), p->record.sweep);
	p->set_count = 1;
}

static uint64_t combination_of(const struct results_file *f, uint32_t i)
{
	uint64_t most = 0;

	for (uint32_t k = 0; k < i; k++) {
		if (strcmp(f->phases[k].record.sweep, f->phases[i].record.sweep) == 0)
			return f->phases[k].record.combination;
		if (f->phases[k].record.combination > most)
			most = f->phases[k].record.combination;
	}
	return most + 1;
}

static void fill_record(const struct results_file *f, struct phase_record *to,
			const struct summary_row *row)
{
	size_t name = strlen(row->phase), alone = strlen(RESULTS_ALONE);

	to->alone = name > alone && strcmp(row->phase + name - alone, RESULTS_ALONE) == 0;
	utf8_copy(to->name, sizeof(to->name), row->phase);
	if (to->alone)
		to->name[name - alone] = '\0';
	utf8_copy(to->kind, sizeof(to->kind), row->kind);
	utf8_copy(to->sweep, sizeof(to->sweep), row->sweep);
	utf8_copy(to->proof, sizeof(to->proof), row->samples);
	/* Of a run that is done, all phases are. */
	utf8_copy(to->status, sizeof(to->status),
		  strcmp(f->status, "done") == 0 ? "done" : "unknown");
	to->seconds = row->seconds;
	to->run = row->run;
	to->repeat = row->repeat;
	to->warmup = row->warmup;
}

void read_summary(struct h5_reader *r, struct results_file *f)
{
	struct summary_row *rows;
	uint64_t count, gone = 0;
	hid_t type;

	for (uint32_t i = 0; i < f->phase_count; i++)
		gone += f->phases[i].gone;
	if (!gone)
		return;
	type = rows_record_type(&rows_summary);
	rows = h5r_list(r, "summary", type, RESULTS_PHASES_MAX, sizeof(*rows), &count);
	h5_close(type);
	if (count != f->phase_count)
		h5r_error(r, -EINVAL, "summary has %llu rows for %u phases",
			  (unsigned long long)count, f->phase_count);
	rows_end_texts(&rows_summary, rows, count);
	for (uint32_t i = 0; r->rc == 0 && i < f->phase_count; i++) {
		struct results_phase_read *p = &f->phases[i];

		if (!p->gone)
			continue;
		fill_record(f, &p->record, &rows[i]);
		p->record.combination = combination_of(f, i);
		fill_sets(r, p);
		fill_merged(r, &p->merged, &rows[i]);
		for (int q = 0; q < QUANTILES; q++)
			p->gone_ns[q] = round(1e6 * rows[i].quantile_ms[q]);
	}
	free(rows);
}

static const char spread_table[] = "epochs", spread_rows[] = "epoch_ranks";

static struct results_rows *spread_find(struct results_phase_read *p)
{
	for (uint32_t i = 0; i < p->table_count; i++)
		if (strcmp(p->tables[i].name, spread_table) == 0)
			return &p->tables[i];
	return NULL;
}

static void spread_of_row(struct results_spread *s, const double *values, uint64_t ranks)
{
	*s = (struct results_spread){NAN, NAN, NAN};
	for (uint64_t r = 0; r < ranks; r++) {
		if (isnan(values[r]))
			continue;
		if (isnan(s->least) || values[r] < s->least) {
			s->least = values[r];
			s->least_rank = (double)r;
		}
		if (isnan(s->most) || values[r] > s->most)
			s->most = values[r];
	}
}

/* A record of the one column in memory. Negative: the rows of the ranks do not have it. */
static hid_t spread_type(struct h5_reader *r, const char *column)
{
	hid_t found, type = H5I_INVALID_HID;

	h5r_enter(r, spread_rows);
	found = H5Dget_type(h5r_at(r));
	if (H5Tget_class(found) == H5T_COMPOUND && H5Tget_member_index(found, column) >= 0) {
		type = H5Tcreate(H5T_COMPOUND, sizeof(double));
		H5Tinsert(type, column, 0, H5T_NATIVE_DOUBLE);
	}
	h5_close(found);
	h5r_leave(r);
	return type;
}

static void spread_read(struct h5_reader *r, hid_t type, uint64_t ranks, struct results_rows *t)
{
	const struct h5_extent wanted = {2, t->table.row_count, sizeof(double)};
	struct h5r_rows rows;

	h5r_rows_begin(r, &rows, spread_rows, type, &wanted);
	if (rows.dims[0] != t->table.row_count || rows.dims[1] > ranks)
		h5r_error(r, -EINVAL, "it does not fit the rows of %s", spread_table);
	t->spread = h5r_room(r, rows.dims[0], sizeof(*t->spread));
	while (h5r_rows_next(r, &rows))
		for (uint64_t i = 0; i < rows.count; i++)
			spread_of_row(&t->spread[rows.first + i],
				      (const double *)rows.block + i * rows.dims[1], rows.dims[1]);
	h5r_rows_end(r, &rows);
}

void read_epoch_spread(struct h5_reader *r, const struct results_file *f,
		       struct results_phase_read *p)
{
	struct results_rows *t = spread_find(p);
	int column = t ? results_role(&t->table, ROLE_UTILISATION) : -1;
	hid_t type;

	if (column < 0 || !h5r_has(r, spread_rows))
		return;
	type = spread_type(r, t->table.columns[column].name);
	if (type >= 0)
		spread_read(r, type, f->ranks, t);
	h5_close(type);
}

static const double latencies_share = 0.99, latencies_errors = 3;

/* The histogram whose rows are read: that of reads, else the phase's main one. NULL: neither is in
 * the file. */
static const char *latencies_name(const struct results_phase_read *p)
{
	const struct results_hist *read = read_hist_of_role(p, ROLE_READ_LATENCY);

	if (read)
		return read->name;
	return read_hist_named(p, p->record.main_hist) ? p->record.main_hist : NULL;
}

/* The share of a sample of count that surely lies below its 99th percentile. */
static double latencies_share_least(uint64_t count)
{
	double error = sqrt(latencies_share * (1 - latencies_share) / (double)count);
	double least = latencies_share - latencies_errors * error;

	return least > 0 ? least : 0;
}

/* h: the histograms of one block of rows. */
static void latencies_fill(struct results_latency_row *row, const struct results_row_hists *h,
			   uint64_t count)
{
	for (uint64_t i = 0; i < count; i++, row++) {
		row->count = results_row_count(h, i);
		if (!row->count)
			continue;
		row->p99_ns = results_row_quantile(h, i, latencies_share);
		row->p99_least_ns = results_row_quantile(h, i, latencies_share_least(row->count));
	}
}

/* A row has hundreds of buckets, so only a block of rows is in memory. */
static void latencies_read(struct h5_reader *r, struct results_latencies *l,
			   const struct h5_extent *wanted)
{
	struct results_row_hists h = {.bucket_count = 0};
	struct h5r_rows rows;
	uint64_t edges = 0;

	/* Files of earlier versions have rows with the buckets of counts. */
	h.edges_ns = h5r_list(r, h5r_has(r, "row_edges_ns") ? "row_edges_ns" : "edges_ns",
			      H5T_NATIVE_UINT64, RESULTS_ROWS_MAX, sizeof(uint64_t), &edges);
	h5r_rows_begin(r, &rows, l->by_node ? "by_node" : "by_rank", H5T_NATIVE_UINT64, wanted);
	if (edges != rows.dims[1] + 1)
		h5r_error(r, -EINVAL, "its rows do not fit its edges");
	h.bucket_count = (uint32_t)rows.dims[1];
	h.counts = rows.block;
	l->row = h5r_room(r, rows.dims[0], sizeof(*l->row));
	while (h5r_rows_next(r, &rows))
		latencies_fill(&l->row[rows.first], &h, rows.count);
	l->rows = r->rc == 0 ? rows.dims[0] : 0;
	h5r_rows_end(r, &rows);
	free(h.edges_ns);
}

void read_latencies(struct h5_reader *r, const struct results_file *f, struct results_phase_read *p)
{
	struct results_latencies *l = &p->latencies;
	const char *name = r->rc == 0 ? latencies_name(p) : NULL;
	char path[RESULTS_NAME_BYTES + 16];

	if (!name)
		return;
	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(path, sizeof(path), "histograms/%s", l->name);
	h5r_enter(r, path);
	/* Files may lack the rows. */
	l->by_node = !h5r_has(r, "by_rank");
	if (!l->by_node || h5r_has(r, "by_node"))
		latencies_read(
			r, l,
			&(struct h5_extent){2, l->by_node ? f->nodes : f->ranks, sizeof(uint64_t)});
	h5r_leave(r);
}
