/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a file, counted: records, rows, arrays. See count.h. */
#include "workloads/formats/count.h"

#include <errno.h>
#include <string.h>

#include "workloads/formats/thrift.h"
#include "workloads/formats/walk.h"

enum {
	NPY_FRONT_BYTES = 10,
	NPY_DIMENSIONS_MAX = 8,
	RECORD_FRAME_BYTES = 16, /* length, its checksum, the data's checksum */
	RECORDS_MAX = 4096,      /* that are followed from one to the next */
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

/* The dimensions of "'shape': (3, 4, 5)". */
static unsigned npy_dimensions(const char *text, uint32_t n, uint64_t out[NPY_DIMENSIONS_MAX])
{
	static const char what[] = "'shape': (";
	const char *at = memmem(text, n, what, sizeof(what) - 1), *end = text + n;
	unsigned count = 0;

	for (at = at ? at + sizeof(what) - 1 : end; at < end && *at != ')'; at++) {
		if (*at < '0' || *at > '9')
			continue;
		if (count == NPY_DIMENSIONS_MAX)
			return 0;
		for (out[count] = 0; at < end && *at >= '0' && *at <= '9'; at++)
			out[count] = out[count] * 10 + (uint64_t)(*at - '0');
		at--;
		count++;
	}
	return count;
}

/* npy.h's text of an array as bytes: how many samples its shape means. For npz, too. */
static uint64_t npy_count_shape(const struct count_file *f, const uint8_t *text, uint32_t n,
				bool labels)
{
	uint64_t d[NPY_DIMENSIONS_MAX];
	unsigned count = npy_dimensions((const char *)text, n, d);

	if (!count)
		return 0;
	if (d[0] == f->expected || d[count - 1] == f->expected)
		return f->expected;
	if (labels)
		return count == 1 && (f->dlio || f->expected > 1) ? d[0] : 0;
	/* One sample of several dimensions looks like several samples of fewer. */
	if (f->dlio)
		return count > 2 ? d[count - 1] : 1;
	if (f->expected == 1)
		return 0;
	return count > 2 ? 0 : count == 2 ? d[0] : 1;
}

int npy_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint8_t bytes[COUNT_READ_BYTES];
	uint32_t n = count_least(f->size, sizeof(bytes));
	int rc = f->read(f->user, 0, bytes, n);

	*samples = 0;
	*wrong = NULL;
	if (rc == 0 && n > NPY_FRONT_BYTES)
		*samples = npy_count_shape(f, bytes, n, false);
	return rc;
}

/* The directory's row of an array: "y.npy" where there is one. Returns where its member begins. */
static bool npz_row(const uint8_t *at, const uint8_t *end, uint64_t rows, uint64_t *member,
		    bool *labels)
{
	bool found = false;

	while (rows-- && at + MEMBER_ROW_BYTES <= end && walk_little(at, 4) == 0x02014b50) {
		uint64_t name = walk_little(at + 28, 2), extra = walk_little(at + 30, 2);
		const uint8_t *field = at + MEMBER_ROW_BYTES + name;
		uint64_t begin = walk_little(at + 42, 4);

		if (field + extra > end)
			break;
		/* In a zip64 field, the place follows the two sizes where these are there, too. */
		if (begin == UINT32_MAX && extra >= 12 && walk_little(field, 2) == 1)
			begin = walk_little(field + extra - 8, 8);
		*labels = name == 5 && memcmp(at + MEMBER_ROW_BYTES, "y.npy", 5) == 0;
		if ((*labels || !found) && walk_little(at + 10, 2) == 0) {
			*member = begin;
			found = true;
		}
		if (*labels)
			break;
		at = field + extra + walk_little(at + 32, 2);
	}
	return found;
}

/* The end of the directory, within the last bytes. NULL: it is not there. */
static const uint8_t *npz_end(const uint8_t *bytes, uint32_t n)
{
	for (uint32_t i = n < MEMBER_END_BYTES ? 0 : n - MEMBER_END_BYTES + 1; i-- > 0;)
		if (walk_little(bytes + i, 4) == 0x06054b50)
			return bytes + i;
	return NULL;
}

int npz_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint8_t bytes[COUNT_READ_BYTES];
	uint32_t n = count_least(f->size, sizeof(bytes)), local;
	uint64_t member = 0, begin;
	const uint8_t *end;
	bool labels = false;
	int rc = f->read(f->user, f->size - n, bytes, n);

	*samples = 0;
	*wrong = NULL;
	end = rc == 0 ? npz_end(bytes, n) : NULL;
	if (!end) {
		*wrong = rc == 0 ? "ends without the directory of a zip: it is cut short" : NULL;
		return rc;
	}
	begin = walk_little(end + 12, 4);
	if (begin > (uint64_t)(end - bytes) ||
	    !npz_row(end - begin, end, walk_little(end + 10, 2), &member, &labels) ||
	    member + MEMBER_LOCAL_BYTES > f->size)
		return 0;
	local = count_least(f->size - member, sizeof(bytes));
	rc = f->read(f->user, member, bytes, local);
	if (rc == 0)
		*samples = npy_count_shape(f, bytes, local, labels);
	return rc;
}

static int record_bytes(const struct count_file *f, uint64_t at, uint64_t *bytes)
{
	uint8_t head[8];
	int rc;

	*bytes = 0;
	if (f->size - at < RECORD_FRAME_BYTES)
		return 0;
	rc = f->read(f->user, at, head, sizeof(head));
	*bytes = walk_little(head, 8);
	*bytes = *bytes > f->size - at - RECORD_FRAME_BYTES ? 0 : *bytes + RECORD_FRAME_BYTES;
	return rc;
}

/* Records of one length are counted by it, others one by one. */
int tfrecord_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint64_t first, last, at, bytes, n = 0;
	int rc = record_bytes(f, 0, &first);

	*samples = 0;
	*wrong = NULL;
	/* Records of no bytes are a hole in a file. */
	if (rc == 0 && first == RECORD_FRAME_BYTES)
		return 0;
	if (rc == 0 && first && f->size % first == 0) {
		rc = record_bytes(f, f->size - first, &last);
		*samples = last == first ? f->size / first : 0;
	}
	for (at = 0; rc == 0 && !*samples && at < f->size && n < RECORDS_MAX; at += bytes, n++) {
		rc = record_bytes(f, at, &bytes);
		/* The first length is garbage where the file is no tfrecord at all. */
		if (rc == 0 && !bytes && !n)
			return 0;
		if (rc == 0 && !bytes) {
			*wrong =
				"holds a record that ends behind the file's end: it is cut short, or no tfrecord";
			return 0;
		}
	}
	if (rc == 0 && !*samples && at == f->size)
		*samples = n;
	return rc;
}

int csv_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint8_t bytes[COUNT_READ_BYTES];
	uint64_t at, rows = 0, first = 0;
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
			first = first || open ? first : at + i + 1;
		}
		at += n;
	}
	if (rc == 0 && at == f->size)
		*samples = rows + open;
	else if (rc == 0 && first && f->size % first == 0)
		*samples = f->size / first; /* rows of one length */
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

/* Eight bytes per sample in the index. DLIO's own may be a little longer where ranks wrote one file
 * together. */
int indexed_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	uint64_t bytes = 0;
	int rc = f->beside(f->user, ".sz.idx", &bytes);

	*samples = 0;
	*wrong = NULL;
	if (rc == -ENOENT)
		return 0;
	*samples = bytes / 8;
	if (*samples > f->expected && *samples - f->expected <= f->expected / 100)
		*samples = f->expected;
	return rc;
}

int picture_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	(void)f;
	*wrong = NULL;
	*samples = 1;
	return 0;
}

enum {
	HEADER_PREFIX_BYTES = 6,
	COUNT_HEADERS_MAX = 16, /* blocks of an object header that are followed */
	COUNT_MESSAGE_DATASPACE = 1,
	COUNT_MESSAGE_LINK = 6,
	MESSAGE_CONTINUATION = 16,
	FLAG_TIMES = 0x20,
	FLAG_ATTRIBUTES = 0x10,
	FLAG_ORDER = 4
};

/* What is looked for in an object header. */
struct hdf5_look {
	const struct count_file *file;
	uint64_t found[2];     /* object headers of "labels" and of the records; 0: none */
	uint64_t rows;         /* first dimension of the dataspace; 0: none */
	uint64_t at, bytes;    /* the next block; bytes 0: none */
	uint32_t message_head; /* bytes in front of a message */
};

/* A link message: version, flags, and what the flags say is there, up to the address of a hard
 * link. */
static void hdf5_link(struct hdf5_look *l, const uint8_t *m, uint32_t n)
{
	uint32_t at = 2, length_bytes, length;

	if (n < 4 || m[0] != 1)
		return;
	if (m[1] & 8) { /* the type; 0 is a hard link */
		if (m[at++] != 0)
			return;
	}
	at += (m[1] & 4 ? 8u : 0) + (m[1] & 16 ? 1u : 0);
	length_bytes = 1u << (m[1] & 3);
	if (at + length_bytes > n || length_bytes > 4)
		return;
	length = (uint32_t)walk_little(m + at, length_bytes);
	at += length_bytes;
	if (length > n || at + length + 8 > n)
		return;
	if (length == 6 && memcmp(m + at, "labels", 6) == 0)
		l->found[0] = walk_little(m + at + length, 8);
	if ((length == 9 && memcmp(m + at, "records_0", 9) == 0) ||
	    (length == 7 && memcmp(m + at, "records", 7) == 0))
		l->found[1] = walk_little(m + at + length, 8);
}

static void hdf5_message(struct hdf5_look *l, uint32_t type, const uint8_t *m, uint32_t n)
{
	uint32_t head = n && m[0] == 1 ? 8 : 4; /* of a dataspace of version 1, or of 2 */

	if (type == COUNT_MESSAGE_LINK)
		hdf5_link(l, m, n);
	else if (type == COUNT_MESSAGE_DATASPACE && n >= head + 8 && m[1] > 0)
		l->rows = walk_little(m + head, 8);
	else if (type == MESSAGE_CONTINUATION && n >= 16 && !l->bytes) {
		l->at = walk_little(m, 8);
		l->bytes = walk_little(m + 8, 8);
	}
}

static void hdf5_messages(struct hdf5_look *l, const uint8_t *at, const uint8_t *end)
{
	while (at + l->message_head <= end) {
		uint32_t n = (uint32_t)walk_little(at + 1, 2);

		if (at + l->message_head + n > end)
			return;
		hdf5_message(l, at[0], at + l->message_head, n);
		at += l->message_head + n;
	}
}

/* An object header of version 2, with the blocks that continue it. */
static int hdf5_object(struct hdf5_look *l, uint64_t address)
{
	const struct count_file *f = l->file;
	uint8_t bytes[COUNT_READ_BYTES];
	uint32_t n, size_bytes, at = HEADER_PREFIX_BYTES;
	uint64_t size;
	int rc;

	l->rows = l->bytes = 0;
	if (address >= f->size)
		return 0;
	n = f->size - address < sizeof(bytes) ? (uint32_t)(f->size - address) : sizeof(bytes);
	rc = f->read(f->user, address, bytes, n);
	if (rc < 0 || n < 32 || memcmp(bytes, "OHDR\x02", 5) != 0)
		return rc;
	size_bytes = 1u << (bytes[5] & 3);
	l->message_head = bytes[5] & FLAG_ORDER ? 6 : 4;
	at += (bytes[5] & FLAG_TIMES ? 16u : 0) + (bytes[5] & FLAG_ATTRIBUTES ? 4u : 0);
	size = walk_little(bytes + at, size_bytes);
	at += size_bytes;
	hdf5_messages(l, bytes + at, bytes + (size < n - at ? at + size : n));
	for (unsigned i = 0; rc == 0 && l->bytes && i < COUNT_HEADERS_MAX; i++) {
		uint64_t begin = l->at, length = l->bytes;

		l->bytes = 0;
		if (length < 12 || begin >= f->size || length > f->size - begin)
			break;
		n = length < sizeof(bytes) ? (uint32_t)length : sizeof(bytes);
		rc = f->read(f->user, begin, bytes, n);
		if (rc == 0 && memcmp(bytes, "OCHK", 4) == 0)
			hdf5_messages(l, bytes + 4, bytes + n - (n == length ? 4 : 0));
	}
	return rc;
}

int hdf5_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	struct hdf5_look look = {.file = f};
	uint8_t bytes[48];
	int rc;

	*samples = 0;
	*wrong = NULL;
	if (f->size < sizeof(bytes))
		return 0;
	rc = f->read(f->user, 0, bytes, sizeof(bytes));
	/* Superblocks of versions 2 and 3, with addresses of eight bytes. */
	if (rc < 0 || (bytes[8] != 2 && bytes[8] != 3) || bytes[9] != 8)
		return rc;
	if (walk_little(bytes + 28, 8) > f->size) {
		*wrong = "ends before the place that its superblock names: it is cut short";
		return 0;
	}
	rc = hdf5_object(&look, walk_little(bytes + 36, 8));
	for (unsigned i = 0; rc == 0 && !*samples && i < 2; i++) {
		uint64_t address = look.found[i];

		if (!address)
			continue;
		rc = hdf5_object(&look, address);
		*samples = look.rows;
	}
	return rc;
}
