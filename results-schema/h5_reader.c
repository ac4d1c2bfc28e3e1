/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of HDF5 files: see h5_reader.h. */
#include "results-schema/h5_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5.h"
#include "results-schema/results_read.h"

hid_t h5r_file(const char *path)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = H5I_INVALID_HID;

	h5_quiet();
	/* Locks fail on file systems that are mounted without them, and a published file never
	 * changes. */
	if (H5Pset_file_locking(access, false, true) >= 0)
		file = H5Fopen(path, H5F_ACC_RDONLY, access);
	h5_close(access);
	return file;
}

void h5r_begin(struct h5_reader *r, hid_t object, struct err *err)
{
	*r = (struct h5_reader){.open = {object}, .err = err};
}

int h5r_finish(struct h5_reader *r)
{
	for (unsigned i = r->depth + 1; i-- > 0;)
		h5_close(r->open[i]);
	H5Eclear2(H5E_DEFAULT);
	return r->rc;
}

/* Adds to the first error where it was met. */
static void reader_note_place(struct h5_reader *r)
{
	char path[256];

	if (H5Iget_name(r->open[r->depth], path, sizeof(path)) > 1)
		err_wrap(r->err, r->rc, "%s", path);
}

void h5r_error(struct h5_reader *r, int rc, const char *format, ...)
{
	char sentence[512];
	va_list arguments;

	if (r->rc < 0)
		return;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	r->rc = err_set(r->err, rc, "%s", sentence);
	reader_note_place(r);
}

void h5r_failed(struct h5_reader *r, const char *format, ...)
{
	va_list arguments;

	if (r->rc < 0)
		return;
	va_start(arguments, format);
	r->rc = h5_vfail(r->err, format, arguments);
	va_end(arguments);
	reader_note_place(r);
}

hid_t h5r_at(const struct h5_reader *r)
{
	return r->rc < 0 ? H5I_INVALID_HID : r->open[r->depth];
}

void *h5r_room(struct h5_reader *r, uint64_t count, size_t size)
{
	void *room = r->rc < 0 ? NULL : calloc(count + 1, size);

	if (!room)
		h5r_error(r, -ENOMEM, "no memory for it");
	return room;
}

void h5r_enter_open(struct h5_reader *r, hid_t object, const char *name)
{
	if (r->rc == 0 && object >= 0 && r->depth + 1 < H5R_DEPTH) {
		r->open[++r->depth] = object;
		return;
	}
	h5r_failed(r, "%s cannot be read", name);
	h5_close(object);
}

void h5r_enter(struct h5_reader *r, const char *name)
{
	if (r->rc == 0)
		h5r_enter_open(r, H5Oopen(h5r_at(r), name, H5P_DEFAULT), name);
}

void h5r_leave(struct h5_reader *r)
{
	if (r->rc == 0)
		h5_close(r->open[r->depth--]);
}

bool h5r_has(const struct h5_reader *r, const char *name)
{
	return r->rc == 0 && H5Lexists(h5r_at(r), name, H5P_DEFAULT) > 0;
}

bool h5r_has_attribute(const struct h5_reader *r, const char *name)
{
	return r->rc == 0 && H5Aexists(h5r_at(r), name) > 0;
}

uint64_t h5r_members(struct h5_reader *r, uint64_t most)
{
	H5G_info_t info = {.nlinks = 0};

	if (r->rc == 0 && H5Gget_info(h5r_at(r), &info) < 0)
		h5r_failed(r, "it cannot be read");
	if (info.nlinks > most)
		h5r_error(r, -EINVAL,
			  "it holds %llu objects; a results file has at most %llu there",
			  (unsigned long long)info.nlinks, (unsigned long long)most);
	return r->rc < 0 ? 0 : info.nlinks;
}

void h5r_member(struct h5_reader *r, uint64_t i, char *name, size_t size)
{
	name[0] = '\0';
	if (r->rc == 0 && H5Lget_name_by_idx(h5r_at(r), ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
					     size, H5P_DEFAULT) < 0)
		h5r_failed(r, "it cannot be read");
}

enum h5r_kind h5r_kind_of(const struct h5_reader *r, const char *name)
{
	hid_t object = H5Oopen(h5r_at(r), name, H5P_DEFAULT), space, type;
	enum h5r_kind kind = H5R_OTHER;

	if (H5Iget_type(object) == H5I_GROUP)
		kind = H5R_GROUP;
	else if (H5Iget_type(object) == H5I_DATASET) {
		space = H5Dget_space(object);
		type = H5Dget_type(object);
		kind = H5Sget_simple_extent_ndims(space) == 2 && H5Tget_class(type) == H5T_INTEGER
			       ? H5R_GRID
			       : H5R_DATA_SET;
		h5_close(type);
		h5_close(space);
	}
	h5_close(object);
	return kind;
}

/* An attribute that is open, and what is known of it. Close with attribute_close. */
struct attribute {
	hid_t id, type;
	uint64_t count; /* of its values; 0: it cannot be read */
};

static struct attribute attribute_open(const struct h5_reader *r, const char *name)
{
	struct attribute a = {H5I_INVALID_HID, H5I_INVALID_HID, 0};
	hid_t space;
	hssize_t n;

	if (!h5r_has_attribute(r, name))
		return a;
	a.id = H5Aopen(h5r_at(r), name, H5P_DEFAULT);
	a.type = H5Aget_type(a.id);
	space = H5Aget_space(a.id);
	n = H5Sget_simple_extent_npoints(space);
	a.count = n > 0 ? (uint64_t)n : 0;
	h5_close(space);
	return a;
}

static void attribute_close(const struct attribute *a)
{
	h5_close(a->type);
	h5_close(a->id);
}

static void no_attribute(struct h5_reader *r, const char *name)
{
	h5r_error(r, -EINVAL, "the attribute %s is missing or of the wrong type", name);
}

static void scalar(struct h5_reader *r, const char *name, hid_t type, H5T_class_t class,
		   void *value)
{
	struct attribute a = attribute_open(r, name);

	if (a.count != 1 || H5Tget_class(a.type) != class || H5Aread(a.id, type, value) < 0)
		no_attribute(r, name);
	attribute_close(&a);
}

void h5r_u64(struct h5_reader *r, const char *name, uint64_t *value)
{
	scalar(r, name, H5T_NATIVE_UINT64, H5T_INTEGER, value);
}

void h5r_real(struct h5_reader *r, const char *name, double *value)
{
	scalar(r, name, H5T_NATIVE_DOUBLE, H5T_FLOAT, value);
}

/* Reads count fixed-length texts of width bytes, and a zero byte behind all of them. */
static char *read_texts(struct h5_reader *r, const char *name, uint64_t *count, size_t *width)
{
	struct attribute a = attribute_open(r, name);
	char *texts = NULL;

	*width = 0;
	if (a.count && H5Tget_class(a.type) == H5T_STRING && H5Tis_variable_str(a.type) == 0)
		*width = H5Tget_size(a.type);
	*count = a.count;
	if (!*width || *width > H5_TEXT_MAX / a.count)
		no_attribute(r, name);
	else
		texts = h5r_room(r, *count * *width, 1);
	if (texts && H5Aread(a.id, a.type, texts) < 0)
		h5r_failed(r, "the attribute %s cannot be read", name);
	attribute_close(&a);
	return texts;
}

char *h5r_text(struct h5_reader *r, const char *name)
{
	uint64_t count;
	size_t width;

	return read_texts(r, name, &count, &width);
}

void h5r_text_into(struct h5_reader *r, const char *name, char *text, size_t size)
{
	char *all = h5r_text(r, name);

	snprintf(text, size, "%s", all ? all : "");
	free(all);
}

char *h5r_texts(struct h5_reader *r, const char *name, size_t bytes, uint32_t *count)
{
	uint64_t found;
	size_t width;
	char *all = read_texts(r, name, &found, &width), *texts = h5r_room(r, found, bytes);

	for (uint64_t i = 0; texts && i < found; i++)
		snprintf(texts + i * bytes, bytes, "%.*s", (int)width, all + i * width);
	*count = texts ? (uint32_t)found : 0;
	free(all);
	return texts;
}

void h5r_record(struct h5_reader *r, const struct member *members, size_t count, void *record)
{
	for (const struct member *m = members; m < members + count; m++) {
		void *value = (char *)record + m->offset;

		if (!h5r_has_attribute(r, m->name))
			continue;
		if (m->kind == MEMBER_TEXT)
			h5r_text_into(r, m->name, value, m->bytes);
		else if (m->kind == MEMBER_REAL)
			h5r_real(r, m->name, value);
		else
			h5r_u64(r, m->name, value);
	}
}

char *h5r_text_data(struct h5_reader *r, const char *name)
{
	char *text = NULL;
	size_t size;
	hid_t type;

	h5r_enter(r, name);
	type = H5Dget_type(h5r_at(r));
	size = H5Tget_class(type) == H5T_STRING ? H5Tget_size(type) : 0;
	if (!size || size >= RESULTS_BYTES_MAX)
		h5r_error(r, -EINVAL, "it is not a text");
	else
		text = h5r_room(r, size, 1);
	if (text && H5Dread(h5r_at(r), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0)
		h5r_failed(r, "it cannot be read");
	h5_close(type);
	h5r_leave(r);
	return text;
}

/* Enters a data set of that shape. */
static void enter_shape(struct h5_reader *r, const char *name, const struct h5_extent *wanted,
			hsize_t dims[2])
{
	hid_t data_set, space;
	int rank;

	dims[0] = 0;
	dims[1] = 1;
	if (r->rc < 0)
		return;
	data_set = h5r_has(r, name) ? H5Dopen2(h5r_at(r), name, H5P_DEFAULT) : H5I_INVALID_HID;
	space = H5Dget_space(data_set);
	rank = H5Sget_simple_extent_ndims(space);
	if (rank == wanted->rank)
		H5Sget_simple_extent_dims(space, dims, NULL);
	h5_close(space);
	if (rank != wanted->rank)
		h5r_error(r, -EINVAL, "the data set %s is missing or of the wrong shape", name);
	else if (dims[0] > wanted->rows_max)
		h5r_error(r, -EINVAL, "%s has %llu rows; a results file has at most %llu", name,
			  (unsigned long long)dims[0], (unsigned long long)wanted->rows_max);
	h5r_enter_open(r, data_set, name);
}

void *h5r_grid(struct h5_reader *r, const char *name, hid_t type, const struct h5_extent *wanted,
	       uint64_t dims[2])
{
	hsize_t found[2];
	void *data = NULL;
	hid_t transfer;

	enter_shape(r, name, wanted, found);
	/* Refuses what no results file of haul may have. */
	if (found[1] > RESULTS_BYTES_MAX ||
	    (found[0] && found[1] * wanted->size > RESULTS_BYTES_MAX / found[0]))
		h5r_error(r, -EINVAL, "it is larger than %d MiB", RESULTS_BYTES_MAX >> 20);
	else
		data = h5r_room(r, found[0] * found[1], wanted->size);
	if (data && found[0]) {
		transfer = h5_transfer(h5r_at(r), type, (hssize_t)(found[0] * found[1]));
		if (H5Dread(h5r_at(r), type, H5S_ALL, H5S_ALL, transfer, data) < 0)
			h5r_failed(r, "it cannot be read");
		h5_close(transfer);
	}
	h5r_leave(r);
	if (r->rc < 0) {
		free(data);
		data = NULL;
	}
	dims[0] = data ? found[0] : 0;
	dims[1] = data ? found[1] : 0;
	return data;
}

void *h5r_list(struct h5_reader *r, const char *name, hid_t type, uint64_t rows_max, size_t size,
	       uint64_t *count)
{
	const struct h5_extent wanted = {1, rows_max, size};
	uint64_t dims[2];
	void *data = h5r_grid(r, name, type, &wanted, dims);

	*count = dims[0];
	return data;
}

void h5r_rows_begin(struct h5_reader *r, struct h5r_rows *rows, const char *name, hid_t type,
		    const struct h5_extent *wanted)
{
	uint64_t row_bytes;

	*rows = (struct h5r_rows){.type = type, .rank = wanted->rank};
	enter_shape(r, name, wanted, rows->dims);
	if (r->rc < 0)
		return;
	if (!rows->dims[1] || rows->dims[1] > RESULTS_BYTES_MAX / wanted->size) {
		h5r_error(r, -EINVAL, "its rows have %llu elements",
			  (unsigned long long)rows->dims[1]);
		return;
	}
	row_bytes = rows->dims[1] * wanted->size;
	rows->block_rows = row_bytes < H5_BLOCK_BYTES ? H5_BLOCK_BYTES / row_bytes : 1;
	if (rows->block_rows > rows->dims[0])
		rows->block_rows = rows->dims[0];
	rows->block = h5r_room(r, rows->block_rows, row_bytes);
}

bool h5r_rows_next(struct h5_reader *r, struct h5r_rows *rows)
{
	hsize_t start[2] = {rows->first + rows->count, 0}, size[2] = {0, rows->dims[1]};
	hid_t file, memory, transfer;

	if (r->rc < 0)
		return false;
	rows->first = start[0];
	rows->count = rows->dims[0] - rows->first;
	if (rows->count > rows->block_rows)
		rows->count = rows->block_rows;
	if (!rows->count)
		return false;
	size[0] = rows->count;
	file = H5Dget_space(h5r_at(r));
	memory = H5Screate_simple(rows->rank, size, NULL);
	transfer = h5_transfer(h5r_at(r), rows->type, (hssize_t)(size[0] * size[1]));
	if (H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, size, NULL) < 0 ||
	    H5Dread(h5r_at(r), rows->type, memory, file, transfer, rows->block) < 0)
		h5r_failed(r, "it cannot be read");
	h5_close(transfer);
	h5_close(memory);
	h5_close(file);
	return r->rc == 0;
}

void h5r_rows_end(struct h5_reader *r, struct h5r_rows *rows)
{
	free(rows->block);
	rows->block = NULL;
	h5r_leave(r);
}
