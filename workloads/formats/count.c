/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a file, counted: rows, arrays, pictures. See count.h; files with an index or with
 * records are in count_records.c, HDF5 in count_hdf5.c. */
#include "workloads/formats/count.h"

#include <errno.h>
#include <string.h>

#include "workloads/formats/thrift.h"
#include "workloads/formats/walk.h"

enum {
	NPY_FRONT_BYTES = 10,
	MEMBERS_MAX = 64, /* of a zip that are looked at */
	CSV_BYTES_MAX = 16 << 20,
	FOOTER_BYTES_MAX = 1 << 20,
	/* Of zip: zip.h has them for the formats, which use this file. */
	MEMBER_END_BYTES = 22,
	MEMBER_ROW_BYTES = 46,
	MEMBER_LOCAL_BYTES = 30
};

static uint32_t count_least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

void count_array(struct count_arrays *a, bool labels, const uint64_t *dimensions, unsigned count)
{
	if (labels && !a->labels && count) {
		a->labels = dimensions[0];
		return;
	}
	if (!count)
		return;
	if (!a->arrays++) {
		a->first = dimensions[0];
		a->last = dimensions[count - 1];
		a->dimensions = count;
	} else if (dimensions[0] != a->first) {
		a->differ = true;
	}
}

/* One sample of several dimensions looks like several samples of fewer. */
static uint64_t count_without_labels(const struct count_arrays *a, const struct count_file *f)
{
	if (!a->arrays || a->differ)
		return 0;
	if (f->dlio && a->dimensions > 2)
		return a->last == f->expected ? a->last : a->first == f->expected ? 0 : a->last;
	if (f->dlio)
		return a->first == f->expected && f->expected > 1 ? 0 : 1;
	if (a->first == f->expected)
		return f->expected;
	if (f->expected == 1)
		return 0;
	return a->dimensions > 2 && a->arrays == 1 ? 0 : a->dimensions > 1 ? a->first : 1;
}

uint64_t count_of_arrays(const struct count_arrays *a, const struct count_file *f, bool sure)
{
	if (!a->labels)
		return count_without_labels(a, f);
	if (f->expected == 1 && a->labels != 1 && !f->dlio && !sure)
		return 0; /* a sample may have several labels */
	if (a->labels != f->expected || f->expected == 1)
		return a->labels;
	return !a->differ && (!a->arrays || a->first == a->labels || a->last == a->labels)
		       ? a->labels
		       : 0;
}

/* What comes behind the "'name':" of a dictionary in text. NULL: it is not there. */
static const char *npy_value(const char *text, const char *end, const char *name)
{
	const char *at = memmem(text, (size_t)(end - text), name, strlen(name));

	return at ? at + strlen(name) : NULL;
}

/* The dimensions of "(3, 4, 5)". */
static unsigned npy_dimensions(const char *at, const char *end, uint64_t out[COUNT_DIMENSIONS_MAX])
{
	unsigned count = 0;

	for (; at < end && *at != ')'; at++) {
		if (*at < '0' || *at > '9')
			continue;
		if (count == COUNT_DIMENSIONS_MAX)
			return 0;
		for (out[count] = 0; at < end && *at >= '0' && *at <= '9'; at++)
			out[count] = out[count] * 10 + (uint64_t)(*at - '0');
		at--;
		count++;
	}
	return count;
}

/* Bytes of an element, by a type such as "<f4" or "|u1"; 0: of one that has several parts. */
static uint64_t npy_element(const char *at, const char *end)
{
	uint64_t bytes = 0;
	bool wide;

	if (!at || end - at < 4 || *at != '\'')
		return 0;
	wide = at[2] == 'U';
	for (at += 3; at < end && *at >= '0' && *at <= '9'; at++)
		bytes = bytes * 10 + (uint64_t)(*at - '0');
	return wide ? 4 * bytes : bytes;
}

/* An array of the file whose header is in text: its shape, and how many bytes there are of it, 0
 * where that cannot be told. */
struct npy_array {
	uint64_t dimensions[COUNT_DIMENSIONS_MAX], bytes;
	unsigned count;
};

static void npy_array_of(struct npy_array *a, const uint8_t *text, uint32_t n)
{
	const char *at = (const char *)text, *end = at + n, *shape;
	uint64_t front, element;

	memset(a, 0, sizeof(*a));
	if (n <= NPY_FRONT_BYTES + 2 || memcmp(text, "\x93NUMPY", 6) != 0)
		return;
	front = text[6] == 1 ? NPY_FRONT_BYTES + walk_little(text + 8, 2)
			     : NPY_FRONT_BYTES + 2 + walk_little(text + 8, 4);
	shape = npy_value(at, end, "'shape': (");
	a->count = shape ? npy_dimensions(shape, end, a->dimensions) : 0;
	element = npy_element(npy_value(at, end, "'descr': "), end);
	for (unsigned i = 0; i < a->count; i++)
		if (__builtin_mul_overflow(element, a->dimensions[i], &element))
			element = 0;
	a->bytes = a->count && element ? front + element : 0;
}

static const char npy_is_cut[] = "ends before its array does: it is cut short";

int npy_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	struct count_arrays arrays = {0};
	uint8_t bytes[COUNT_READ_BYTES];
	uint32_t n = count_least(f->size, sizeof(bytes));
	struct npy_array a;
	int rc = f->read(f->user, 0, bytes, n);

	*samples = 0;
	*wrong = NULL;
	if (rc < 0)
		return rc;
	npy_array_of(&a, bytes, n);
	count_array(&arrays, false, a.dimensions, a.count);
	if (a.bytes > f->size)
		*wrong = npy_is_cut;
	else if (a.bytes == f->size)
		*samples = count_of_arrays(&arrays, f, false);
	return 0;
}

/* The end of the directory, within the last bytes. NULL: it is not there. */
static const uint8_t *npz_end(const uint8_t *bytes, uint32_t n)
{
	for (uint32_t i = n < MEMBER_END_BYTES ? 0 : n - MEMBER_END_BYTES + 1; i-- > 0;)
		if (walk_little(bytes + i, 4) == 0x06054b50)
			return bytes + i;
	return NULL;
}

/* A row of the directory: adds its array, where it is not compressed. Returns the row's bytes, or a
 * negative errno; 0: the directory cannot be followed. */
static int64_t npz_row(const struct count_file *f, const uint8_t *at, const uint8_t *end,
		       struct count_arrays *arrays, const char **wrong)
{
	uint8_t bytes[COUNT_READ_BYTES];
	uint64_t name, extra, begin, packed;
	struct npy_array a;
	uint32_t n, front;
	int rc;

	if (at + MEMBER_ROW_BYTES > end || walk_little(at, 4) != 0x02014b50)
		return 0;
	name = walk_little(at + 28, 2);
	extra = walk_little(at + 30, 2);
	begin = walk_little(at + 42, 4);
	packed = walk_little(at + 20, 4);
	if (at + MEMBER_ROW_BYTES + name + extra > end || walk_little(at + 10, 2) != 0)
		return 0;
	/* In a zip64 field, the place follows the two sizes where these are there, too. */
	if (begin == UINT32_MAX && extra >= 12 && walk_little(at + MEMBER_ROW_BYTES + name, 2) == 1)
		begin = walk_little(at + MEMBER_ROW_BYTES + name + extra - 8, 8);
	if (begin > f->size || f->size - begin < MEMBER_LOCAL_BYTES)
		return 0;
	n = count_least(f->size - begin, sizeof(bytes));
	rc = f->read(f->user, begin, bytes, n);
	if (rc < 0)
		return rc;
	front = (uint32_t)(MEMBER_LOCAL_BYTES + walk_little(bytes + 26, 2) +
			   walk_little(bytes + 28, 2));
	if (walk_little(bytes, 4) != 0x04034b50 || front >= n)
		return 0;
	npy_array_of(&a, bytes + front, n - front);
	if (!a.bytes || (packed != UINT32_MAX && a.bytes != packed))
		return 0;
	if (a.bytes > f->size - begin - front)
		*wrong = npy_is_cut;
	count_array(arrays, name == 5 && memcmp(at + MEMBER_ROW_BYTES, "y.npy", 5) == 0,
		    a.dimensions, a.count);
	return (int64_t)(MEMBER_ROW_BYTES + name + extra + walk_little(at + 32, 2));
}

int npz_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	struct count_arrays arrays = {0};
	uint8_t bytes[COUNT_READ_BYTES];
	uint32_t n = count_least(f->size, sizeof(bytes));
	const uint8_t *end, *at;
	uint64_t begin, rows;
	int64_t row = 1;
	int rc = f->read(f->user, f->size - n, bytes, n);

	*samples = 0;
	*wrong = NULL;
	end = rc == 0 ? npz_end(bytes, n) : NULL;
	if (!end) {
		*wrong = rc == 0 ? "ends without the directory of a zip: it is cut short" : NULL;
		return rc;
	}
	begin = walk_little(end + 12, 4);
	rows = walk_little(end + 10, 2);
	if (begin > (uint64_t)(end - bytes) || rows > MEMBERS_MAX)
		return 0;
	for (at = end - begin; rows-- && row > 0 && !*wrong; at += row)
		row = npz_row(f, at, end, &arrays, wrong);
	if (row > 0 && !*wrong)
		*samples = count_of_arrays(&arrays, f, false);
	return row < 0 ? (int)row : 0;
}

int csv_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint8_t bytes[COUNT_PIECE_BYTES];
	uint64_t at, rows = 0;
	bool open = false;
	int rc = 0;

	*samples = 0;
	*wrong = NULL;
	for (at = 0; rc == 0 && at < f->size && at < CSV_BYTES_MAX;) {
		uint32_t n = count_least(f->size - at, sizeof(bytes));

		rc = f->read(f->user, at, bytes, n);
		for (uint32_t i = 0; rc == 0 && i < n; i++) {
			open = bytes[i] != '\n';
			rows += !open;
		}
		at += n;
	}
	if (rc == 0 && at == f->size)
		*samples = open ? 0 : rows; /* a last row without its end may be cut */
	return rc;
}

/* Field 3 of the footer is the number of rows, behind the schema. */
int parquet_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint8_t bytes[COUNT_READ_BYTES];
	struct thrift t = {.depth = 0};
	uint64_t left, at;
	int rc;

	*samples = 0;
	*wrong = NULL;
	if (f->size < 12)
		return 0;
	rc = f->read(f->user, f->size - 8, bytes, 8);
	left = walk_little(bytes, 4);
	if (rc == 0 && (memcmp(bytes + 4, "PAR1", 4) != 0 || left > f->size - 12)) {
		*wrong = "does not end as Parquet files do: it is cut short";
		return 0;
	}
	at = f->size - 8 - left;
	for (left = count_least(left, FOOTER_BYTES_MAX); rc == 0 && left;) {
		uint32_t n = count_least(left, sizeof(bytes));
		const uint8_t *next = bytes;
		enum thrift_event event = THRIFT_MORE;

		rc = f->read(f->user, at, bytes, n);
		while (rc == 0 && (event = thrift_next(&t, &next, bytes + n)) == THRIFT_NUMBER)
			if (thrift_path(&t) == 3) {
				*samples = t.value >> 1;
				return 0;
			}
		if (rc < 0 || event != THRIFT_MORE)
			return rc;
		at += n;
		left -= n;
	}
	return rc;
}

/* Whether one of the last bytes begins what ends a picture. Others may stand behind it. */
static bool picture_ends(const uint8_t *bytes, uint32_t n, const char *mark, uint32_t length)
{
	return memmem(bytes, n, mark, length) != NULL;
}

int picture_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint8_t bytes[COUNT_READ_BYTES];
	uint32_t n = count_least(f->size, sizeof(bytes));
	bool png;
	int rc = f->size < 8 ? -ENODATA : f->read(f->user, 0, bytes, 8);

	*samples = 0;
	*wrong = NULL;
	if (rc < 0)
		return rc == -ENODATA ? 0 : rc;
	png = memcmp(bytes, "\x89PNG", 4) == 0;
	rc = f->read(f->user, f->size - n, bytes, n);
	if (rc < 0)
		return rc;
	if (png ? picture_ends(bytes, n, "IEND\xae\x42\x60\x82", 8)
		: picture_ends(bytes, n, "\xff\xd9", 2))
		*samples = 1;
	else
		*wrong = "ends without the end of its picture: it is cut short";
	return 0;
}
