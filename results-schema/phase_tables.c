/* SPDX-License-Identifier: Apache-2.0 */
/* /phases/N_name/<table>: each table of the phase that has rows. See phase.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5.h"
#include "results-schema/phase_tables.h"

bool phase_table_is_group(const struct table_kind *kind)
{
	return kind->key == TABLE_TEXT || kind->codes || kind->hist_count;
}

void phase_table_shape(const struct table_kind *kind, struct row_shape *shape)
{
	*shape = (struct row_shape){&kind->key_name, kind->key_name ? 1 : 0, &kind->columns};
}

/* The position of row i's measures among a table's words. */
static const uint64_t *row_of(const struct merged_table *t, const uint64_t *words, uint32_t i)
{
	return words + (size_t)i * table_row_words(t->kind) + table_key_words(t->kind);
}

/* The key of a row by text is its number in "names", from 0. */
uint64_t *phase_table_rows(const struct merged_table *t, const uint64_t *words)
{
	struct row_shape shape;
	uint64_t *rows;
	size_t size;

	phase_table_shape(t->kind, &shape);
	size = rows_words(&shape);
	rows = calloc(t->rows * size + 1, sizeof(*rows));
	for (uint32_t i = 0; rows && i < t->rows; i++) {
		const uint64_t *row = row_of(t, words, i);
		uint64_t key = t->kind->key == TABLE_TEXT ? i : *table_key(t->kind, row);

		rows_fill(&shape, &key, row, rows + i * size);
	}
	return rows;
}

static void write_rows(struct h5_writer *w, const char *name, const struct merged_table *t)
{
	uint64_t *rows = phase_table_rows(t, t->words);
	struct row_shape shape;

	if (!rows)
		h5w_error(w, -ENOMEM, "no memory for the rows of a table");
	phase_table_shape(t->kind, &shape);
	rows_write(w, name, &shape, t->rows, rows);
	if (t->left_out)
		h5w_u64(w, "left_out", t->left_out);
	h5w_leave(w);
	free(rows);
}

static void write_names(struct h5_writer *w, const struct merged_table *t)
{
	char(*names)[TABLE_TEXT_BYTES] = h5w_room(w, t->rows, sizeof(*names));
	hid_t type = h5_text_type(TABLE_TEXT_BYTES);

	for (uint32_t i = 0; names && i < t->rows; i++)
		memcpy(names[i], table_key(t->kind, row_of(t, t->words, i)), sizeof(names[i]));
	h5w_array(w, "names", type, t->rows, names, NULL);
	h5_close(type);
}

/* Lists each code that a row has counted: row, code, count. Returns how many there are. rows may be
 * NULL. */
static uint64_t list_codes(const struct merged_table *t, uint64_t (*rows)[3])
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->rows; i++) {
		const uint64_t *codes = row_of(t, t->words, i) + table_codes_at(t->kind);

		for (uint32_t c = 0; c < t->kind->codes->codes; c++) {
			if (!codes[c])
				continue;
			if (rows)
				memcpy(rows[n], (uint64_t[]){i, c, codes[c]}, sizeof(rows[n]));
			n++;
		}
	}
	return n;
}

static void write_codes(struct h5_writer *w, const struct merged_table *t)
{
	const struct code_kind *kind = t->kind->codes;
	const char *columns[] = {t->kind->key_name ? t->kind->key_name : "row", kind->code,
				 kind->count};
	hsize_t dims[2] = {list_codes(t, NULL), 3};
	uint64_t(*rows)[3] = h5w_room(w, dims[0], sizeof(*rows));

	if (!rows)
		return;
	list_codes(t, rows);
	h5w_dataset(w, kind->name, H5T_NATIVE_UINT64, 2, dims);
	h5w_texts(w, "columns", columns, 3);
	h5w_data(w, H5T_NATIVE_UINT64, rows);
	h5w_leave(w);
}

/* The buckets of one kind of histogram that are written: a coarse one has all, the other those that
 * any row has used. */
struct hist_range {
	unsigned first, count;
};

static const uint64_t *hist_of(const struct merged_table *t, uint32_t hist, uint32_t row)
{
	return row_of(t, t->words, row) + table_hist_at(t->kind, hist);
}

static struct hist_range range_of(const struct merged_table *t, uint32_t hist)
{
	unsigned first, last, low = HIST_BUCKETS - 1, high = 0;

	if (t->kind->hists[hist].coarse)
		return (struct hist_range){0, COARSE_BUCKETS};
	for (uint32_t i = 0; i < t->rows; i++) {
		if (hist_range((const void *)hist_of(t, hist, i), &first, &last) < 0)
			continue;
		low = first < low ? first : low;
		high = last > high ? last : high;
	}
	low = low < high ? low : high;
	return (struct hist_range){low, high - low + 1};
}

/* [row][bucket], and the edges of the buckets. */
static void write_counts(struct h5_writer *w, const struct merged_table *t, uint32_t hist)
{
	const struct hist_range r = range_of(t, hist);
	hsize_t dims[2] = {t->rows, r.count};
	uint64_t *buckets = h5w_room(w, t->rows, r.count * sizeof(*buckets));
	uint64_t edges[HIST_BUCKETS + 1];

	for (uint32_t i = 0; buckets && i < t->rows; i++)
		memcpy(buckets + (size_t)i * r.count, hist_of(t, hist, i) + r.first,
		       r.count * sizeof(*buckets));
	for (unsigned i = 0; i <= r.count; i++)
		edges[i] = t->kind->hists[hist].coarse ? coarse_edge(i) : hist_edge(r.first + i);
	h5w_packed(w, "counts", H5T_NATIVE_UINT64, 2, dims, buckets, NULL);
	dims[0] = r.count + 1;
	h5w_packed(w, "edges_ns", H5T_NATIVE_UINT64, 1, dims, edges, "ns");
}

/* The exact figures of a histogram: its sum, minimum and maximum in each row. */
static void write_exact(struct h5_writer *w, const struct merged_table *t, uint32_t hist)
{
	static const char *const names[] = {"sum_ns", "max_ns", "min_ns"};
	uint64_t *values = h5w_room(w, t->rows, sizeof(*values));

	for (int k = 0; values && k < 3; k++) {
		for (uint32_t i = 0; i < t->rows; i++) {
			const struct hist *h = (const void *)hist_of(t, hist, i);

			values[i] = k == 0          ? h->sum_ns
				    : k == 1        ? h->max_ns
				    : h->min_not_ns ? ~h->min_not_ns
						    : 0;
		}
		h5w_array(w, names[k], H5T_NATIVE_UINT64, t->rows, values, "ns");
	}
}

/* The axis along the rows: their numbers as in "names", or from 1. */
static void write_row_axis(struct h5_writer *w, const struct merged_table *t, const char *name)
{
	uint64_t *numbers = h5w_room(w, t->rows, sizeof(*numbers));

	for (uint32_t i = 0; numbers && i < t->rows; i++)
		numbers[i] = t->kind->key == TABLE_TEXT ? i : i + 1;
	h5w_array(w, name, H5T_NATIVE_UINT64, t->rows, numbers, NULL);
}

static void write_table_hist(struct h5_writer *w, const struct merged_table *t, uint32_t hist)
{
	const struct hist_kind *kind = &t->kind->hists[hist];
	const char *axes[] = {t->kind->key_name ? t->kind->key_name : "row", "edges_ns"};

	h5w_group(w, kind->name);
	h5w_nexus(w,
		  &(struct nexus){
			  .title = kind->help, .signal = "counts", .axes = axes, .axis_count = 2});
	h5w_text(w, "role", role_name(kind->role));
	write_counts(w, t, hist);
	write_row_axis(w, t, axes[0]);
	if (!kind->coarse)
		write_exact(w, t, hist);
	h5w_leave(w);
}

static void write_group(struct h5_writer *w, const struct merged_table *t)
{
	h5w_group(w, t->kind->name);
	write_rows(w, "rows", t);
	if (t->kind->key == TABLE_TEXT)
		write_names(w, t);
	if (t->kind->codes)
		write_codes(w, t);
	for (uint32_t i = 0; i < t->kind->hist_count; i++)
		write_table_hist(w, t, i);
	h5w_leave(w);
}

void phase_write_tables(struct h5_writer *w, const struct merged *m)
{
	for (uint32_t i = 0; i < m->schema->table_count; i++) {
		const struct merged_table *t = &m->tables[i];

		if (t->rows && phase_table_is_group(t->kind))
			write_group(w, t);
		else if (t->rows)
			write_rows(w, t->kind->name, t);
	}
}
