/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the tables of a phase, by the names that the file itself gives. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5.h"
#include "results-schema/read_phase.h"
#include "results-schema/read_table.h"

void read_tables_free(struct results_phase_read *p)
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

uint64_t read_tables_bytes(const struct results_phase_read *p)
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

void read_tables(struct h5_reader *r, struct results_phase_read *p)
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
