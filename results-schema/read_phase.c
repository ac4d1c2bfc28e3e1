/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a phase of a results file: see read_phase.h. */
#include "results-schema/read_phase.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/curves.h"
#include "results-schema/h5.h"
#include "results-schema/rows.h"

/* Reading tables: compound data sets of whole numbers and reals, with units and roles. */

/* Reads the columns that are chosen; NULL: all. Refuses more rows. */
typedef bool (*column_choice)(const struct results_column *column);

enum { COLUMN_TEXT_BYTES = RESULTS_NAME_BYTES };

static void read_tables_free(struct results_phase_read *p);
static uint64_t read_tables_bytes(const struct results_phase_read *p);
static void read_tables(struct h5_reader *r, struct results_phase_read *p);

static void put_unit(struct results_column *c, const char *text)
{
	snprintf(c->unit, sizeof(c->unit), "%s", text);
}

static void put_role(struct results_column *c, const char *text)
{
	c->role = role_of(text);
}

static void put_counted_by(struct results_column *c, const char *text)
{
	snprintf(c->counted_by, sizeof(c->counted_by), "%s", text);
}

/* An attribute with a text for each column. */
static void read_column_texts(struct h5_reader *r, const char *name, struct results_table *t,
			      void (*put)(struct results_column *c, const char *text))
{
	uint32_t count;
	char *texts = h5r_texts(r, name, COLUMN_TEXT_BYTES, &count);

	if (texts && count != t->column_count)
		h5r_error(r, -EINVAL, "%s has %u texts for %u columns", name, count,
			  t->column_count);
	for (uint32_t i = 0; r->rc == 0 && i < count; i++)
		put(&t->columns[i], texts + (size_t)i * COLUMN_TEXT_BYTES);
	free(texts);
}

/* Makes columns from the members of a compound type. */
static void make_columns(struct h5_reader *r, struct results_table *t)
{
	hid_t found = H5Dget_type(h5r_at(r));
	int members = H5Tget_class(found) == H5T_COMPOUND ? H5Tget_nmembers(found) : 0;

	if (members <= 0)
		h5r_error(r, -EINVAL, "it has no columns");
	else
		t->columns = h5r_room(r, (uint64_t)members, sizeof(*t->columns));
	for (int i = 0; r->rc == 0 && i < members; i++) {
		char *name = H5Tget_member_name(found, (unsigned)i);

		t->columns[i].real = H5Tget_member_class(found, (unsigned)i) == H5T_FLOAT;
		if (!name || strlen(name) >= sizeof(t->columns[i].name))
			h5r_failed(r, "its columns cannot be read");
		else
			strcpy(t->columns[i].name, name);
		H5free_memory(name);
	}
	t->column_count = r->rc == 0 ? (uint32_t)members : 0;
	h5_close(found);
}

/* Leaves only the chosen columns; NULL: all. */
static void choose_columns(struct results_table *t, column_choice choice)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; choice && i < t->column_count; i++)
		if (choice(&t->columns[i]))
			t->columns[kept++] = t->columns[i];
	if (choice)
		t->column_count = kept;
}

/* The memory type with which the columns are read: of each a word. HDF5 finds them by their
 * names. */
static hid_t memory_type(struct h5_reader *r, const struct results_table *t)
{
	hid_t type;

	if (!t->column_count)
		h5r_error(r, -EINVAL, "it has none of the columns that are wanted");
	if (r->rc < 0)
		return H5I_INVALID_HID;
	type = H5Tcreate(H5T_COMPOUND, 8 * (size_t)t->column_count);
	for (uint32_t i = 0; i < t->column_count; i++)
		if (H5Tinsert(type, t->columns[i].name, 8 * (size_t)i,
			      t->columns[i].real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT64) < 0)
			h5r_failed(r, "its columns cannot be read");
	return type;
}

static void read_table(struct h5_reader *r, const char *name, uint64_t rows_max,
		       column_choice choice, struct results_table *t)
{
	hid_t type;

	h5r_enter(r, name);
	make_columns(r, t);
	read_column_texts(r, "units", t, put_unit);
	read_column_texts(r, "roles", t, put_role);
	/* Tables without times that may be of nothing do not tell. */
	if (h5r_has_attribute(r, "counted_by"))
		read_column_texts(r, "counted_by", t, put_counted_by);
	h5r_leave(r);
	choose_columns(t, choice);
	type = memory_type(r, t);
	t->cells = h5r_list(r, name, type, rows_max, 8 * (size_t)t->column_count, &t->row_count);
	h5_close(type);
}

static void read_cell(struct h5_reader *r, struct results_column *column, union results_cell *cell)
{
	hid_t attr = H5Aopen(h5r_at(r), column->name, H5P_DEFAULT), type = H5Aget_type(attr);

	column->real = H5Tget_class(type) == H5T_FLOAT;
	h5_close(type);
	h5_close(attr);
	if (column->real)
		h5r_real(r, column->name, &cell->real);
	else
		h5r_u64(r, column->name, &cell->count);
}

/* Reads the attributes that the group's attribute "columns" names, as a table of one row. */
static void read_headline_row(struct h5_reader *r, struct results_table *t)
{
	uint32_t count;
	char *names = h5r_texts(r, "columns", RESULTS_NAME_BYTES, &count);

	t->columns = h5r_room(r, count, sizeof(*t->columns));
	t->cells = h5r_room(r, count, sizeof(*t->cells));
	t->column_count = r->rc == 0 ? count : 0;
	t->row_count = 1;
	read_column_texts(r, "units", t, put_unit);
	read_column_texts(r, "roles", t, put_role);
	for (uint32_t i = 0; r->rc == 0 && i < count; i++) {
		memcpy(t->columns[i].name, names + (size_t)i * RESULTS_NAME_BYTES,
		       RESULTS_NAME_BYTES);
		read_cell(r, &t->columns[i], &t->cells[i]);
	}
	free(names);
}

static void read_table_free(struct results_table *t)
{
	free(t->columns);
	free(t->cells);
	*t = (struct results_table){.column_count = 0};
}

static uint64_t read_table_bytes(const struct results_table *t)
{
	return t->column_count * sizeof(*t->columns) +
	       t->row_count * t->column_count * sizeof(*t->cells);
}

static void drop_absent(struct results_table *t);
static void load_timeline(struct h5_reader *r, struct results_phase_read *p);
static void load_steps(struct h5_reader *r, struct results_phase_read *p);
static void load_client(struct h5_reader *r, struct results_phase_read *p);
static void load_hists(struct h5_reader *r, struct results_phase_read *p);
static void load_failures(struct h5_reader *r, struct results_phase_read *p);

/* Whether reports use the column of the ranks' rows: all that have a role, what tells the ranks
 * apart, and the number of operations. The rows of many ranks have many columns that nobody looks
 * at. */
static bool rank_column_is_used(const struct results_column *c)
{
	const char *const used[] = {"rank", "node", PHASE_PRESENT,
				    tally_common_columns.measures[TALLY_OPERATIONS].name,
				    tally_common_columns.measures[TALLY_STORE_REQUESTS].name};

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		if (strcmp(c->name, used[i]) == 0)
			return true;
	return c->role != ROLE_NONE;
}

/* Reads a list of records, with a zero byte at the end of each text. */
static void *load_records(struct h5_reader *r, const char *name, const struct record_shape *shape,
			  uint64_t rows_max, uint32_t *count)
{
	hid_t type = rows_record_type(shape);
	uint64_t rows;
	void *records = h5r_list(r, name, type, rows_max, shape->size, &rows);

	rows_end_texts(shape, records, rows);
	*count = (uint32_t)rows;
	h5_close(type);
	return records;
}

void read_headline(struct h5_reader *r, struct results_phase_read *p)
{
	phase_record_init(&p->record);
	h5r_record(r, phase_record_members, phase_record_member_count, &p->record);
	if (h5r_has_attribute(r, "sets"))
		p->sets = (void *)h5r_texts(r, "sets", RECORD_SET_BYTES, &p->set_count);
	read_headline_row(r, &p->merged);
	if (h5r_has(r, "targets"))
		p->targets =
			load_records(r, "targets", &rows_target, TARGETS_MAX, &p->target_count);
	/* A part of a phase does not tell whether the whole one meets a target. */
	for (uint32_t i = 0; i < p->target_count && !results_ended_well(p->record.status); i++) {
		p->targets[i].found = NAN;
		p->targets[i].met = 0;
	}
}

void read_details(struct h5_reader *r, const struct results_file *f, struct results_phase_read *p)
{
	read_table(r, "ranks", f->ranks, rank_column_is_used, &p->ranks);
	drop_absent(&p->ranks);
	load_timeline(r, p);
	load_steps(r, p);
	load_client(r, p);
	load_hists(r, p);
	read_tables(r, p);
	load_failures(r, p);
	read_latencies(r, f, p);
	read_epoch_spread(r, f, p);
}

/* Rows of ranks that took no part in the phase. */
static void drop_absent(struct results_table *t)
{
	int column = results_column(t, PHASE_PRESENT);
	uint64_t kept = 0;

	for (uint64_t i = 0; column >= 0 && i < t->row_count; i++) {
		union results_cell *row = t->cells + i * t->column_count;

		if (!row[column].count)
			continue;
		memmove(t->cells + kept++ * t->column_count, row, t->column_count * sizeof(*row));
	}
	if (column >= 0)
		t->row_count = kept;
}

void read_details_free(struct results_phase_read *p)
{
	read_table_free(&p->ranks);
	read_table_free(&p->client);
	read_tables_free(p);
	curves_free(&curves_over_time, &p->timeline);
	p->timeline = (struct results_timeline){.rows = 0};
	curves_free(&curves_over_steps, &p->steps);
	free(p->steps.step);
	p->steps = (struct results_steps){.rows = 0};
	free(p->hists);
	p->hists = NULL;
	p->hist_count = 0;
	free(p->latencies.row);
	p->latencies = (struct results_latencies){.rows = 0};
	free(p->failures);
	p->failures = NULL;
	p->failure_rows = 0;
}

void read_phase_free(struct results_phase_read *p)
{
	free(p->sets);
	free(p->targets);
	read_table_free(&p->merged);
	read_details_free(p);
}

uint64_t read_details_bytes(const struct results_phase_read *p)
{
	uint64_t bytes = read_table_bytes(&p->ranks) + read_table_bytes(&p->client);

	bytes += read_tables_bytes(p);
	bytes += p->timeline.rows * SECOND_WORDS * sizeof(double);
	bytes += p->steps.rows * (1 + 2 * STEP_PARTS) * sizeof(double);
	bytes += p->hist_count * sizeof(*p->hists) + p->latencies.rows * sizeof(*p->latencies.row);
	return bytes + p->failure_rows * sizeof(*p->failures);
}

/* The last interval ends with the phase. What is a share of an interval is a share of its own. */
static void cut_timeline(struct results_timeline *t, double seconds)
{
	double last_s = seconds - (double)(t->rows - 1) * t->interval_s;
	double *stalled = t->column[SECOND_STALLED_NS];

	if (!t->rows || !(last_s > 0) || !(last_s < t->interval_s))
		return;
	t->last_s = last_s;
	if (stalled)
		stalled[t->rows - 1] *= t->interval_s / last_s;
}

static void load_timeline(struct h5_reader *r, struct results_phase_read *p)
{
	struct results_timeline *t = &p->timeline;

	t->rows = curves_read(r, &curves_over_time, t, NULL, &t->interval_s);
	cut_timeline(t, results_measured_s(p));
}

static void load_steps(struct h5_reader *r, struct results_phase_read *p)
{
	struct results_steps *s = &p->steps;
	double per_row = 0;

	s->rows = curves_read(r, &curves_over_steps, s, &s->step, &per_row);
	s->steps_per_row = per_row < 0x1p63 ? (uint64_t)per_row : 0;
}

static void load_client(struct h5_reader *r, struct results_phase_read *p)
{
	if (!h5r_has(r, "client"))
		return;
	h5r_enter(r, "client");
	h5r_real(r, "interval_s", &p->client_interval_s);
	read_table(r, "rows", RESULTS_ROWS_MAX, NULL, &p->client);
	h5r_leave(r);
}

static void load_hist(struct h5_reader *r, struct results_hist *one)
{
	struct hist *h = &one->hist;
	uint64_t first = 0, count = 0, *buckets;
	char role[RESULTS_NAME_BYTES];

	h5r_enter(r, one->name);
	h5r_text_into(r, "role", role, sizeof(role));
	one->role = role_of(role);
	h5r_u64(r, "first_bucket", &first);
	h5r_u64(r, "sum_ns", &h->sum_ns);
	h5r_u64(r, "clipped", &h->clipped);
	h5r_u64(r, "max_ns", &h->max_ns);
	h5r_u64(r, "min_ns", &h->min_not_ns);
	h->min_not_ns = ~h->min_not_ns;
	buckets = h5r_list(r, "counts", H5T_NATIVE_UINT64, HIST_BUCKETS, sizeof(*buckets), &count);
	if (first > HIST_BUCKETS || count > HIST_BUCKETS - first)
		h5r_error(r, -EINVAL, "counts do not fit a histogram");
	else if (buckets)
		memcpy(h->bucket + first, buckets, count * sizeof(*buckets));
	free(buckets);
	h5r_leave(r);
}

static void load_hists(struct h5_reader *r, struct results_phase_read *p)
{
	uint64_t count;

	h5r_enter(r, "histograms");
	count = h5r_members(r, RESULTS_HISTS_MAX);
	p->hists = h5r_room(r, count, sizeof(*p->hists));
	for (uint64_t i = 0; r->rc == 0 && i < count; i++) {
		struct results_hist *h = &p->hists[p->hist_count++];

		h5r_member(r, i, h->name, sizeof(h->name));
		load_hist(r, h);
	}
	h5r_leave(r);
}

static void load_failures(struct h5_reader *r, struct results_phase_read *p)
{
	if (!h5r_has(r, "errors"))
		return;
	p->failures = load_records(r, "errors", &rows_failure, RESULTS_ROWS_MAX, &p->failure_rows);
	h5r_enter(r, "errors");
	h5r_u64(r, "met", &p->failure_count);
	h5r_leave(r);
}

static void read_tables_free(struct results_phase_read *p)
{
	for (uint32_t i = 0; p->tables && i < p->table_count; i++) {
		struct results_rows *t = &p->tables[i];

		read_table_free(&t->table);
		free(t->names);
		free(t->codes);
		for (uint32_t h = 0; t->hists && h < t->hist_count; h++) {
			free(t->hists[h].edges_ns);
			free(t->hists[h].counts);
		}
		free(t->hists);
		free(t->spread);
	}
	free(p->tables);
	p->tables = NULL;
	p->table_count = 0;
}

static uint64_t rows_bytes(const struct results_rows *t)
{
	uint64_t bytes = sizeof(*t) + read_table_bytes(&t->table);

	if (t->names)
		bytes += t->table.row_count * sizeof(*t->names);
	if (t->spread)
		bytes += t->table.row_count * sizeof(*t->spread);
	for (uint32_t h = 0; h < t->hist_count; h++)
		bytes += sizeof(*t->hists) +
			 (t->table.row_count + 1) * t->hists[h].bucket_count * sizeof(uint64_t);
	return bytes + t->code_count * sizeof(*t->codes);
}

static uint64_t read_tables_bytes(const struct results_phase_read *p)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < p->table_count; i++)
		bytes += rows_bytes(&p->tables[i]);
	return bytes;
}

static void load_names(struct h5_reader *r, struct results_rows *t)
{
	hid_t type = h5_text_type(TABLE_TEXT_BYTES);
	uint64_t count;

	t->names = h5r_list(r, "names", type, RESULTS_ROWS_MAX, TABLE_TEXT_BYTES, &count);
	if (t->names && count != t->table.row_count)
		h5r_error(r, -EINVAL, "there are %llu names for %llu rows",
			  (unsigned long long)count, (unsigned long long)t->table.row_count);
	for (uint64_t i = 0; t->names && i < count; i++)
		t->names[i][TABLE_TEXT_BYTES - 1] = '\0';
	h5_close(type);
}

/* A data set of three columns: row, code, count. */
static void load_codes(struct h5_reader *r, const char *name, struct results_rows *t)
{
	const struct h5_extent wanted = {2, RESULTS_ROWS_MAX, sizeof(uint64_t)};
	uint64_t dims[2];

	t->codes = h5r_grid(r, name, H5T_NATIVE_UINT64, &wanted, dims);
	if (t->codes && dims[1] != 3)
		h5r_error(r, -EINVAL, "%s has %llu columns, not 3", name,
			  (unsigned long long)dims[1]);
	t->code_count = r->rc < 0 ? 0 : dims[0];
	snprintf(t->codes_name, sizeof(t->codes_name), "%s", name);
}

static void load_row_hists(struct h5_reader *r, const char *name, struct results_rows *t)
{
	const struct h5_extent all = {2, RESULTS_ROWS_MAX, sizeof(uint64_t)};
	struct results_row_hists *h = &t->hists[t->hist_count++];
	uint64_t dims[2], edges;

	snprintf(h->name, sizeof(h->name), "%s", name);
	h5r_enter(r, name);
	h->counts = h5r_grid(r, "counts", H5T_NATIVE_UINT64, &all, dims);
	h->edges_ns = h5r_list(r, "edges_ns", H5T_NATIVE_UINT64, RESULTS_ROWS_MAX, sizeof(uint64_t),
			       &edges);
	if (dims[0] != t->table.row_count || edges != dims[1] + 1)
		h5r_error(r, -EINVAL, "%s does not fit the rows", name);
	h->bucket_count = (uint32_t)dims[1];
	h5r_leave(r);
}

/* Reads what else a table's group holds: a group is a histogram, a grid of whole numbers has
 * codes. */
static void load_members(struct h5_reader *r, struct results_rows *t)
{
	uint64_t count = h5r_members(r, RESULTS_HISTS_MAX);

	t->hists = h5r_room(r, count, sizeof(*t->hists));
	for (uint64_t i = 0; r->rc == 0 && i < count; i++) {
		char name[RESULTS_NAME_BYTES];
		enum h5r_kind kind;

		h5r_member(r, i, name, sizeof(name));
		kind = h5r_kind_of(r, name);
		if (kind == H5R_GROUP)
			load_row_hists(r, name, t);
		else if (kind == H5R_GRID && !t->codes && strcmp(name, "rows") != 0 &&
			 strcmp(name, "names") != 0)
			load_codes(r, name, t);
	}
}

static void load_rows(struct h5_reader *r, const char *name, struct results_rows *t)
{
	read_table(r, name, RESULTS_ROWS_MAX, NULL, &t->table);
	h5r_enter(r, name);
	if (h5r_has_attribute(r, "left_out"))
		h5r_u64(r, "left_out", &t->left_out);
	h5r_leave(r);
}

static void load_table(struct h5_reader *r, const char *name, struct results_rows *t)
{
	snprintf(t->name, sizeof(t->name), "%s", name);
	if (h5r_kind_of(r, name) != H5R_GROUP) {
		load_rows(r, name, t);
		return;
	}
	h5r_enter(r, name);
	load_rows(r, "rows", t);
	if (h5r_has(r, "names"))
		load_names(r, t);
	load_members(r, t);
	h5r_leave(r);
}

/* Reads its tables (core/measure/table.h). */
static void read_tables(struct h5_reader *r, struct results_phase_read *p)
{
	char(*names)[RESULTS_NAME_BYTES];
	uint32_t count;

	if (!h5r_has_attribute(r, "tables"))
		return;
	names = (void *)h5r_texts(r, "tables", sizeof(*names), &count);
	if (count > RESULTS_TABLES_MAX)
		h5r_error(r, -EINVAL, "it has %u tables", count);
	p->tables = h5r_room(r, count, sizeof(*p->tables));
	for (uint32_t i = 0; r->rc == 0 && i < count; i++)
		load_table(r, names[i], &p->tables[p->table_count++]);
	free(names);
}
