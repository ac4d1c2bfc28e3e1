/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of an HDF5 file: the first dimension of "labels" or "records_0", which DLIO writes in the
 * latest layout (links in the root's object header). Files of other layouts do not tell. Source:
 * HDF5 File Format Specification 3.0, sections II.A, IV.A. */
#include <string.h>

#include "workloads/formats/count.h"
#include "workloads/formats/walk.h"

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
