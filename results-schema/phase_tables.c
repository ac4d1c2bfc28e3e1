/* /phases/N_kind/<table>: each table of the phase that has rows. See phase.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5.h"
#include "results-schema/nexus.h"
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

static int write_rows(hid_t at, const char *name, const struct merged_table *t, struct err *err)
{
	uint64_t *rows = phase_table_rows(t, t->words);
	hid_t dataset = H5I_INVALID_HID;
	struct row_shape shape;
	int rc = rows ? 0 : err_set(err, -ENOMEM, "no memory for the rows of %s", t->kind->name);

	phase_table_shape(t->kind, &shape);
	if (rc == 0)
		rc = rows_write(at, name, &shape, t->rows, rows, &dataset, err);
	if (rc == 0 && t->left_out)
		rc = h5_attr_u64(dataset, "left_out", t->left_out, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	free(rows);
	return rc;
}

static int write_names(hid_t group, const struct merged_table *t, struct err *err)
{
	char(*names)[TABLE_TEXT_BYTES] = calloc(t->rows, sizeof(*names));
	hid_t type = h5_text_type(TABLE_TEXT_BYTES);
	int rc = names ? 0 : err_set(err, -ENOMEM, "no memory for the names of %s", t->kind->name);

	for (uint32_t i = 0; rc == 0 && i < t->rows; i++)
		memcpy(names[i], table_key(t->kind, row_of(t, t->words, i)), sizeof(names[i]));
	if (rc == 0)
		rc = h5_array(group, "names", type, t->rows, names, NULL, err);
	if (type >= 0)
		H5Tclose(type);
	free(names);
	return rc;
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

static int write_codes(hid_t group, const struct merged_table *t, struct err *err)
{
	const struct code_kind *kind = t->kind->codes;
	const char *columns[] = {t->kind->key_name ? t->kind->key_name : "row", kind->code,
				 kind->count};
	hsize_t dims[2] = {list_codes(t, NULL), 3};
	uint64_t(*rows)[3] = calloc(dims[0] + 1, sizeof(*rows));
	hid_t dataset = H5I_INVALID_HID;
	int rc = rows ? 0 : err_set(err, -ENOMEM, "no memory for the %s of a table", kind->name);

	if (rc == 0) {
		list_codes(t, rows);
		rc = h5_dataset(group, kind->name, H5T_NATIVE_UINT64, 2, dims, &dataset, err);
	}
	if (rc == 0)
		rc = h5_attr_texts(dataset, "columns", columns, 3, err);
	if (rc == 0)
		rc = h5_write(dataset, H5T_NATIVE_UINT64, rows, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	free(rows);
	return rc;
}

/* One kind of histogram over all rows: [row][bucket]. A coarse one has all buckets, the other those
 * that any row has used. */
struct hist_rows {
	unsigned first, count;
	uint64_t *buckets; /* [rows][count] */
	uint64_t edges[HIST_BUCKETS + 1];
};

static const uint64_t *hist_of(const struct merged_table *t, uint32_t hist, uint32_t row)
{
	return row_of(t, t->words, row) + table_hist_at(t->kind, hist);
}

static int hist_rows_make(struct hist_rows *h, const struct merged_table *t, uint32_t hist)
{
	bool coarse = t->kind->hists[hist].coarse;
	unsigned first, last, low = HIST_BUCKETS - 1, high = 0;

	for (uint32_t i = 0; !coarse && i < t->rows; i++) {
		if (hist_range((const void *)hist_of(t, hist, i), &first, &last) < 0)
			continue;
		low = first < low ? first : low;
		high = last > high ? last : high;
	}
	h->first = coarse ? 0 : low < high ? low : high;
	h->count = coarse ? COARSE_BUCKETS : high - h->first + 1;
	h->buckets = calloc((size_t)t->rows * h->count, sizeof(*h->buckets));
	for (uint32_t i = 0; h->buckets && i < t->rows; i++)
		memcpy(h->buckets + (size_t)i * h->count, hist_of(t, hist, i) + h->first,
		       h->count * sizeof(*h->buckets));
	for (unsigned i = 0; i <= h->count; i++)
		h->edges[i] = coarse ? coarse_edge(i) : hist_edge(h->first + i);
	return h->buckets ? 0 : -ENOMEM;
}

/* The exact figures of a histogram: its sum, minimum and maximum in each row. */
static int write_exact(hid_t group, const struct merged_table *t, uint32_t hist, struct err *err)
{
	static const char *const names[] = {"sum_ns", "max_ns", "min_ns"};
	uint64_t *values = calloc(t->rows, sizeof(*values));
	int rc =
		values ? 0 : err_set(err, -ENOMEM, "no memory for histograms of %s", t->kind->name);

	for (int k = 0; rc == 0 && k < 3; k++) {
		for (uint32_t i = 0; i < t->rows; i++) {
			const struct hist *h = (const void *)hist_of(t, hist, i);

			values[i] = k == 0          ? h->sum_ns
				    : k == 1        ? h->max_ns
				    : h->min_not_ns ? ~h->min_not_ns
						    : 0;
		}
		rc = h5_array(group, names[k], H5T_NATIVE_UINT64, t->rows, values, "ns", err);
	}
	free(values);
	return rc;
}

/* The axis along the rows: their numbers as in "names", or from 1. */
static int write_row_axis(hid_t group, const struct merged_table *t, const char *name,
			  struct err *err)
{
	uint64_t *numbers = calloc(t->rows, sizeof(*numbers));
	int rc = numbers ? 0 : err_set(err, -ENOMEM, "no memory for the rows of %s", t->kind->name);

	for (uint32_t i = 0; rc == 0 && i < t->rows; i++)
		numbers[i] = t->kind->key == TABLE_TEXT ? i : i + 1;
	if (rc == 0)
		rc = h5_array(group, name, H5T_NATIVE_UINT64, t->rows, numbers, NULL, err);
	free(numbers);
	return rc;
}

static int write_counts(hid_t group, const struct merged_table *t, const struct hist_rows *h,
			struct err *err)
{
	hsize_t dims[2] = {t->rows, h->count};
	hid_t dataset;
	int rc = h5_dataset(group, "counts", H5T_NATIVE_UINT64, 2, dims, &dataset, err);

	if (rc == 0)
		rc = h5_write(dataset, H5T_NATIVE_UINT64, h->buckets, err);
	if (rc == 0)
		rc = h5_array(group, "edges_ns", H5T_NATIVE_UINT64, h->count + 1, h->edges, "ns",
			      err);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}

static int write_hist(hid_t at, const struct merged_table *t, uint32_t hist, struct err *err)
{
	const struct hist_kind *kind = &t->kind->hists[hist];
	const char *axes[] = {t->kind->key_name ? t->kind->key_name : "row", "edges_ns"};
	const struct nexus nexus = {
		.title = kind->help, .signal = "counts", .axes = axes, .axis_count = 2};
	struct hist_rows *h = calloc(1, sizeof(*h));
	hid_t group = H5I_INVALID_HID;
	int rc = h ? hist_rows_make(h, t, hist) : -ENOMEM;

	if (rc < 0)
		err_set(err, rc, "no memory for histograms of %s", t->kind->name);
	if (rc == 0)
		rc = h5_group(at, kind->name, &group, err);
	if (rc == 0)
		rc = nexus_write(group, &nexus, err);
	if (rc == 0)
		rc = h5_attr_text(group, "role", role_name(kind->role), err);
	if (rc == 0)
		rc = write_counts(group, t, h, err);
	if (rc == 0)
		rc = write_row_axis(group, t, axes[0], err);
	if (rc == 0 && !kind->coarse)
		rc = write_exact(group, t, hist, err);
	if (group >= 0)
		H5Gclose(group);
	if (h)
		free(h->buckets);
	free(h);
	return rc;
}

static int write_group(hid_t phase, const struct merged_table *t, struct err *err)
{
	hid_t group;
	int rc = h5_group(phase, t->kind->name, &group, err);

	if (rc == 0)
		rc = write_rows(group, "rows", t, err);
	if (rc == 0 && t->kind->key == TABLE_TEXT)
		rc = write_names(group, t, err);
	if (rc == 0 && t->kind->codes)
		rc = write_codes(group, t, err);
	for (uint32_t i = 0; rc == 0 && i < t->kind->hist_count; i++)
		rc = write_hist(group, t, i, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

int phase_write_tables(hid_t phase, const struct merged *m, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < m->schema->table_count; i++) {
		const struct merged_table *t = &m->tables[i];

		if (!t->rows)
			continue;
		rc = phase_table_is_group(t->kind) ? write_group(phase, t, err)
						   : write_rows(phase, t->kind->name, t, err);
	}
	return rc;
}
