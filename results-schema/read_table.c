/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tables: see read_table.h. */
#include "results-schema/read_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5.h"

enum { COLUMN_TEXT_BYTES = RESULTS_NAME_BYTES };

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

void read_table(struct h5_reader *r, const char *name, uint64_t rows_max, column_choice choice,
		struct results_table *t)
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

void read_headline_row(struct h5_reader *r, struct results_table *t)
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

void read_table_free(struct results_table *t)
{
	free(t->columns);
	free(t->cells);
	*t = (struct results_table){.column_count = 0};
}

uint64_t read_table_bytes(const struct results_table *t)
{
	return t->column_count * sizeof(*t->columns) +
	       t->row_count * t->column_count * sizeof(*t->cells);
}
