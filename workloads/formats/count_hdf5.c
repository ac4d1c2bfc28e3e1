/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of an HDF5 file, counted: the rows of the data sets of its root group, in both formats of
 * a file: links in object headers (superblocks 2 and 3), and symbol tables (0 and 1), as h5py writes
 * them if nothing else is said. Groups within the root, and links of more than a few data sets in a
 * heap, are not followed: then the count is unknown.
 *
 * Source: HDF5 File Format Specification 3.0, sections II, III.A to III.D, IV.A. */
#include <string.h>

#include "workloads/formats/count.h"
#include "workloads/formats/walk.h"

enum {
	COUNT_BLOCKS_MAX = 16, /* of an object header that are followed */
	COUNT_LINKS_MAX = 32,
	COUNT_NODES_MAX = 256, /* of a symbol table */
	COUNT_NAME_BYTES = 16,
	COUNT_SYMBOL_BYTES = 40,
	COUNT_MESSAGE_DATASPACE = 1,
	COUNT_MESSAGE_LINK_INFO = 2,
	COUNT_MESSAGE_DATATYPE = 3,
	COUNT_MESSAGE_LINK = 6,
	COUNT_MESSAGE_LAYOUT = 8,
	COUNT_MESSAGE_FILTERS = 11,
	COUNT_MESSAGE_CONTINUATION = 16,
	COUNT_MESSAGE_SYMBOLS = 17,
	COUNT_FLAG_TIMES = 0x20,
	COUNT_FLAG_ATTRIBUTES = 0x10,
	COUNT_FLAG_ORDER = 4
};
static const uint64_t count_nowhere = UINT64_MAX;

struct hdf5_link {
	uint64_t header;
	bool labels, records;
};

/* What was found in the object header that was read last, and in the root. */
struct hdf5_look {
	const struct count_file *file;
	/* Of a data set. */
	uint64_t dimensions[COUNT_DIMENSIONS_MAX], element, place, stored;
	unsigned dimension_count;
	bool filters;
	/* Of a group. */
	struct hdf5_link links[COUNT_LINKS_MAX];
	uint32_t link_count;
	uint64_t tree, heap; /* of its symbol table */
	uint32_t nodes;      /* of it that were read */
	bool more;           /* it has links that were not followed */
	/* The next block of the header; bytes 0: none. */
	uint64_t at, bytes;
	uint32_t message_head; /* bytes in front of a message; 8: the first format */
};

static int count_hdf5_read(const struct hdf5_look *l, uint64_t at, uint8_t *out, uint32_t room,
			   uint32_t *n)
{
	const struct count_file *f = l->file;

	*n = at >= f->size ? 0 : f->size - at < room ? (uint32_t)(f->size - at) : room;
	memset(out + *n, 0, room - *n);
	return *n ? f->read(f->user, at, out, *n) : 0;
}

static void count_hdf5_link(struct hdf5_look *l, const char *name, uint32_t length, uint64_t header)
{
	if (l->link_count == COUNT_LINKS_MAX) {
		l->more = true;
		return;
	}
	l->links[l->link_count++] =
		(struct hdf5_link){.header = header,
				   .labels = length == 6 && memcmp(name, "labels", 6) == 0,
				   .records = (length == 9 && memcmp(name, "records_0", 9) == 0) ||
					      (length == 7 && memcmp(name, "records", 7) == 0)};
}

/* A link message: version, flags, and what the flags say is there, up to the address of a hard
 * link. */
static void count_hdf5_link_message(struct hdf5_look *l, const uint8_t *m, uint32_t n)
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
	count_hdf5_link(l, (const char *)m + at, length, walk_little(m + at + length, 8));
}

static void count_hdf5_dataspace(struct hdf5_look *l, const uint8_t *m, uint32_t n)
{
	uint32_t head = m[0] == 1 ? 8 : 4, count = m[1];

	if (count > COUNT_DIMENSIONS_MAX || n < head + 8 * count)
		return;
	l->dimension_count = count;
	for (uint32_t i = 0; i < count; i++)
		l->dimensions[i] = walk_little(m + head + 8 * i, 8);
}

/* Where the data are: of the versions since 1.6.3, contiguous or in chunks. */
static void count_hdf5_layout(struct hdf5_look *l, const uint8_t *m)
{
	if (m[0] < 3)
		return;
	if (m[1] == 1) {
		l->place = walk_little(m + 2, 8);
		l->stored = walk_little(m + 10, 8);
	} else if (m[1] == 2 && m[0] == 3) {
		l->place = walk_little(m + 3, 8);
	}
}

static void count_hdf5_message(struct hdf5_look *l, uint32_t type, const uint8_t *m, uint32_t n)
{
	if (type == COUNT_MESSAGE_LINK)
		count_hdf5_link_message(l, m, n);
	else if (type == COUNT_MESSAGE_DATASPACE && n >= 4)
		count_hdf5_dataspace(l, m, n);
	else if (type == COUNT_MESSAGE_DATATYPE && n >= 8)
		l->element = walk_little(m + 4, 4);
	else if (type == COUNT_MESSAGE_LAYOUT && n >= 18)
		count_hdf5_layout(l, m);
	else if (type == COUNT_MESSAGE_FILTERS)
		l->filters = true;
	else if (type == COUNT_MESSAGE_LINK_INFO && n >= 18)
		l->more = l->more || walk_little(m + (m[1] & 1 ? 10 : 2), 8) != count_nowhere;
	else if (type == COUNT_MESSAGE_SYMBOLS && n >= 16) {
		l->tree = walk_little(m, 8);
		l->heap = walk_little(m + 8, 8);
	} else if (type == COUNT_MESSAGE_CONTINUATION && n >= 16 && !l->bytes) {
		l->at = walk_little(m, 8);
		l->bytes = walk_little(m + 8, 8);
	}
}

static void count_hdf5_messages(struct hdf5_look *l, const uint8_t *at, const uint8_t *end)
{
	bool first = l->message_head == 8;

	while (at + l->message_head <= end) {
		uint32_t type = first ? (uint32_t)walk_little(at, 2) : at[0];
		uint32_t n = (uint32_t)walk_little(at + (first ? 2 : 1), 2);

		if (at + l->message_head + n > end)
			return;
		count_hdf5_message(l, type, at + l->message_head, n);
		at += l->message_head + n;
	}
}

/* The blocks that continue an object header. */
static int count_hdf5_blocks(struct hdf5_look *l)
{
	uint8_t bytes[COUNT_READ_BYTES];
	uint32_t n;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && l->bytes && i < COUNT_BLOCKS_MAX; i++) {
		uint64_t begin = l->at, length = l->bytes;

		l->bytes = 0;
		rc = count_hdf5_read(l, begin, bytes,
				     length < sizeof(bytes) ? (uint32_t)length : sizeof(bytes), &n);
		if (rc == 0 && l->message_head == 8)
			count_hdf5_messages(l, bytes, bytes + n);
		else if (rc == 0 && n > 8 && memcmp(bytes, "OCHK", 4) == 0)
			count_hdf5_messages(l, bytes + 4, bytes + n - (n == length ? 4 : 0));
	}
	return rc;
}

/* An object header of version 1 or 2. */
static int count_hdf5_object(struct hdf5_look *l, uint64_t address)
{
	uint8_t bytes[COUNT_READ_BYTES];
	uint32_t n, size_bytes, at = 6;
	uint64_t size;
	int rc = count_hdf5_read(l, address, bytes, sizeof(bytes), &n);

	l->bytes = l->dimension_count = 0;
	l->element = l->stored = 0;
	l->place = count_nowhere - 1;
	l->filters = false;
	l->tree = count_nowhere;
	if (rc < 0 || n < 32)
		return rc;
	if (memcmp(bytes, "OHDR\x02", 5) == 0) {
		size_bytes = 1u << (bytes[5] & 3);
		l->message_head = bytes[5] & COUNT_FLAG_ORDER ? 6 : 4;
		at += (bytes[5] & COUNT_FLAG_TIMES ? 16u : 0) +
		      (bytes[5] & COUNT_FLAG_ATTRIBUTES ? 4u : 0);
		size = walk_little(bytes + at, size_bytes);
		at += size_bytes;
	} else if (bytes[0] == 1 && bytes[1] == 0) {
		l->message_head = 8;
		size = walk_little(bytes + 8, 4);
		at = 16;
	} else {
		return 0;
	}
	count_hdf5_messages(l, bytes + at, bytes + (size < n - at ? at + size : n));
	return count_hdf5_blocks(l);
}

/* A node of a symbol table; false: it is none, or one too many. */
static bool count_hdf5_node(struct hdf5_look *l, const uint8_t *bytes, const char *mark)
{
	l->more = l->more || memcmp(bytes, mark, 4) != 0 || ++l->nodes > COUNT_NODES_MAX;
	return !l->more;
}

/* A leaf: names, which are in the heap at names_at, and object headers. */
static int count_hdf5_symbols(struct hdf5_look *l, uint64_t address, uint64_t names_at)
{
	uint8_t bytes[COUNT_READ_BYTES], name[COUNT_NAME_BYTES + 1];
	uint32_t n, unused;
	int rc = count_hdf5_read(l, address, bytes, sizeof(bytes), &n);

	if (rc < 0 || !count_hdf5_node(l, bytes, "SNOD"))
		return rc;
	for (uint32_t i = 0; rc == 0 && !l->more && i < walk_little(bytes + 6, 2); i++) {
		const uint8_t *entry = bytes + 8 + i * COUNT_SYMBOL_BYTES;

		if (8 + (i + 1) * COUNT_SYMBOL_BYTES > n)
			break;
		if (walk_little(entry + 16, 4) == 2) /* a soft link */
			continue;
		name[COUNT_NAME_BYTES] = '\0';
		rc = count_hdf5_read(l, names_at + walk_little(entry, 8), name, COUNT_NAME_BYTES,
				     &unused);
		count_hdf5_link(l, (const char *)name, (uint32_t)strlen((const char *)name),
				walk_little(entry + 8, 8));
	}
	return rc;
}

/* The tree of a symbol table: down to its first leaves, and from there to the right. */
static int count_hdf5_tree(struct hdf5_look *l, uint64_t address, uint64_t heap)
{
	uint8_t bytes[COUNT_READ_BYTES];
	uint64_t names_at;
	uint32_t n;
	int rc = count_hdf5_read(l, heap, bytes, 32, &n);

	names_at = walk_little(bytes + 24, 8);
	l->more = l->more || memcmp(bytes, "HEAP", 4) != 0;
	while (rc == 0 && address != count_nowhere && !l->more) {
		rc = count_hdf5_read(l, address, bytes, sizeof(bytes), &n);
		if (rc < 0 || !count_hdf5_node(l, bytes, "TREE"))
			return rc;
		if (bytes[5]) { /* its level */
			address = walk_little(bytes + 32, 8);
			continue;
		}
		for (uint32_t i = 0; rc == 0 && i < walk_little(bytes + 6, 2) && 40 + 16 * i <= n;
		     i++)
			rc = count_hdf5_symbols(l, walk_little(bytes + 32 + 16 * i, 8), names_at);
		address = walk_little(bytes + 16, 8);
	}
	return rc;
}

static const char count_hdf5_is_cut[] = "ends before its data do: it is cut short";

/* Adds the data set at that link. false: it has no data, or fewer than its shape says. */
static bool count_hdf5_add(const struct hdf5_look *l, const struct hdf5_link *link,
			   struct count_arrays *arrays, uint64_t *bytes, const char **wrong)
{
	uint64_t own = l->element;

	if (!l->dimension_count)
		return true;
	for (unsigned i = 0; i < l->dimension_count; i++)
		if (__builtin_mul_overflow(own, l->dimensions[i], &own))
			return false;
	if (l->stored && l->place != count_nowhere &&
	    (l->place > l->file->size || l->stored > l->file->size - l->place))
		*wrong = count_hdf5_is_cut;
	if (!l->filters)
		*bytes += own;
	count_array(arrays, link->labels, l->dimensions, l->dimension_count);
	return l->place != count_nowhere && *bytes <= l->file->size;
}

/* Addresses of eight bytes, and the end of the file, which the superblock names. */
static int count_hdf5_root(struct hdf5_look *l, const char **wrong)
{
	uint8_t bytes[96];
	uint64_t end, tree, heap;
	uint32_t n, first;
	int rc = count_hdf5_read(l, 0, bytes, sizeof(bytes), &n);

	l->more = true;
	if (rc < 0 || n < 48 || bytes[8] > 3 || bytes[bytes[8] < 2 ? 13 : 9] != 8)
		return rc;
	first = bytes[8] == 1 ? 4 : 0;
	end = walk_little(bytes + (bytes[8] < 2 ? 40 + first : 28), 8);
	if (end > l->file->size) {
		*wrong = "ends before the place that its superblock names: it is cut short";
		return 0;
	}
	l->more = false;
	rc = count_hdf5_object(l, walk_little(bytes + (bytes[8] < 2 ? 64 + first : 36), 8));
	tree = l->tree;
	heap = l->heap;
	return rc == 0 && tree != count_nowhere ? count_hdf5_tree(l, tree, heap) : rc;
}

int hdf5_count(const struct count_file *f, uint64_t *samples, const char **wrong)
{
	struct hdf5_look look = {.file = f};
	struct count_arrays arrays = {.labels = 0};
	struct count_file named = *f;
	uint64_t bytes = 0;
	uint32_t links;
	bool stored = true, sure = false;
	int rc;

	*samples = 0;
	*wrong = NULL;
	named.dlio = false; /* whose arrays have names here */
	rc = count_hdf5_root(&look, wrong);
	for (uint32_t i = 0; rc == 0 && i < look.link_count && !*wrong; i++) {
		struct hdf5_link link = look.links[i];

		links = look.link_count;
		rc = count_hdf5_object(&look, link.header);
		if (rc < 0)
			break;
		/* A group has a symbol table, or links. */
		look.more = look.more || look.tree != count_nowhere || look.link_count != links;
		stored = count_hdf5_add(&look, &link, &arrays, &bytes, wrong) && stored;
		sure = sure || link.labels;
		if (link.records && look.dimension_count && !arrays.labels && !sure) {
			arrays.labels = look.dimensions[0];
			sure = true;
		}
	}
	if (rc == 0 && !*wrong && !look.more && stored)
		*samples = count_of_arrays(&arrays, &named, sure);
	return rc;
}
