/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5: data sets records_0 … of (samples, bytes) and labels, as DLIO writes them with the latest
 * format: superblock 2, object headers 2, links in the root's header, nothing compressed.
 *
 *   superblock | root's object header | an object header per data set | records_0 | … | labels
 *   0            48                                                    data_offset     the gap
 *   `--------------------------- header -----------------------------´
 *
 * A sample is cut into as many parts as there are data sets; part i is its row in records_i. A data
 * set is contiguous or chunked. A chunk holds whole rows, or a piece of one row. Chunks use the
 * implicit index (layout message 4): all of them exist, follow each other and are found by
 * arithmetic, so a reader needs no index to find a row. The bytes that fill up a last chunk are
 * payload that belongs to no sample.
 *
 * A reader takes the metadata first, then a sample's row in each data set. Rows in chunks that fit
 * HDF5's chunk cache come with their whole chunk, as libhdf5 reads them; a row in pieces comes
 * piece by piece. Source: HDF5 File Format Specification 3.0, sections II.A, IV.A. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "workloads/formats/lookup3.h"
#include "workloads/formats/payload.h"

enum {
	SUPERBLOCK_BYTES = 48,
	SUM_BYTES = 4,
	PREFIX_BYTES = 7,       /* of an object header: "OHDR", version, flags, size in one byte */
	PREFIX_LARGE_BYTES = 8, /* … in two */
	HDF5_ALIGNMENT = 64,
	CHUNK_CACHE_BYTES = 1 << 20, /* H5Pset_cache's default: larger chunks are read in part */
	MESSAGE_DATASPACE = 1,
	MESSAGE_LINK_INFO = 2,
	MESSAGE_DATATYPE = 3,
	MESSAGE_FILL_VALUE = 5,
	MESSAGE_LINK = 6,
	MESSAGE_LAYOUT = 8,
	MESSAGE_GROUP_INFO = 10,
	MESSAGE_CONSTANT = 1, /* flag of messages that must not change: types and fill values */
	HDF5_LABEL_BYTES = 8,
	SIGNED_BIT = 8,
	/* Lengths of object headers: the root's without its links to records, a link's without the
	 * name; a data set's of two dimensions without its layout, the labels'. */
	MESSAGE_BYTES = 4,
	LINK_BYTES = MESSAGE_BYTES + 3 + 8,
	ROOT_BYTES = PREFIX_LARGE_BYTES + MESSAGE_BYTES + 18 + MESSAGE_BYTES + 2 + LINK_BYTES +
		     sizeof("labels") - 1 + SUM_BYTES,
	CONTIGUOUS_BYTES = MESSAGE_BYTES + 18,
	CHUNKED_BYTES = MESSAGE_BYTES + 26,
	DATASET_BYTES = PREFIX_BYTES + MESSAGE_BYTES + 20 + MESSAGE_BYTES + 12 + MESSAGE_BYTES + 2 +
			SUM_BYTES,
	LABELS_BYTES = DATASET_BYTES - 8 + CONTIGUOUS_BYTES
};
#define NOWHERE UINT64_MAX

enum { HDF5_DATASETS_MAX = 256 };
struct hdf5_options {
	uint64_t datasets, chunk_samples, chunk_bytes;
};
_Static_assert(sizeof(struct hdf5_options) <= FORMAT_OPTION_BYTES, "room for the options");

const struct option hdf5_options[] = {
	OPT_U64("datasets", struct hdf5_options, datasets, .def = 1, .min = 1,
		.max = HDF5_DATASETS_MAX, .help = "data sets over which a sample's bytes are cut"),
	OPT_U64("chunk_samples", struct hdf5_options, chunk_samples, .def = 0, .max = UINT32_MAX,
		.help = "samples per chunk; 0: stored contiguously"),
	OPT_BYTES("chunk_bytes", struct hdf5_options, chunk_bytes, .def = 0, .max = UINT32_MAX,
		  .help = "a sample's row in each data set is in chunks of this size; 0: whole"),
	OPT_END};

static int hdf5_check(const void *options, uint64_t samples, uint64_t smallest, uint64_t largest,
		      struct err *err);
static void hdf5_layout(struct layout *l);
static uint32_t hdf5_extents(const struct layout *l, uint64_t sample,
			     struct extent out[FORMAT_EXTENTS_MAX]);
static void hdf5_header(const struct layout *l, uint8_t *out);

extern const struct walk_ops hdf5_walk;

const struct format_ops format_hdf5 = {
	.magic = {.bytes = "\x89HDF\r\n\x1a\n", .count = 8},
	.check = hdf5_check,
	.layout = hdf5_layout,
	.extents = hdf5_extents,
	.header = hdf5_header,
	.payload = payload_plain,
	.walk = &hdf5_walk,
	.count = hdf5_count,
};

static uint64_t hdf5_datasets(const struct layout *l)
{
	const struct hdf5_options *o = l->options;

	return o->datasets;
}

static int hdf5_check(const void *options, uint64_t samples, uint64_t smallest, uint64_t largest,
		      struct err *err)
{
	const struct hdf5_options *o = options;

	if (smallest < o->datasets)
		return err_set(err, -EINVAL,
			       "a sample is cut over %" PRIu64
			       " data sets, the smallest would have %" PRIu64 " bytes",
			       o->datasets, smallest);
	if (o->chunk_samples && o->chunk_bytes)
		return err_set(err, -EINVAL,
			       "chunks hold chunk_samples whole rows or chunk_bytes of one row; "
			       "give one of them");
	if (o->chunk_samples > samples)
		return err_set(err, -EINVAL,
			       "a chunk has at most the samples of a file, %" PRIu64
			       ", chunk_samples is %" PRIu64,
			       samples, o->chunk_samples);
	if (o->chunk_samples && largest > UINT32_MAX / o->chunk_samples)
		return err_set(err, -EINVAL,
			       "a chunk has less than 4 GiB, %" PRIu64
			       " samples (chunk_samples) of up to %" PRIu64 " bytes have more",
			       o->chunk_samples, largest);
	return 0;
}

/* How one data set of records is stored. */
struct hdf5_part {
	uint64_t row;                     /* bytes of a sample in it */
	uint64_t stride;                  /* from row to row in the file */
	uint64_t chunk_rows, chunk_bytes; /* 0: contiguous. chunk_bytes: of a row */
	uint64_t span;                    /* of the data set in the file */
};

static void hdf5_part_of(const struct layout *l, uint64_t i, struct hdf5_part *p)
{
	const struct hdf5_options *o = l->options;
	unsigned __int128 bytes = l->sample_bytes;
	uint64_t rows = l->samples;

	p->row = (uint64_t)(bytes * (i + 1) / o->datasets) - (uint64_t)(bytes * i / o->datasets);
	p->stride = p->row;
	p->chunk_rows = 0;
	p->chunk_bytes = 0;
	if (o->chunk_samples) {
		p->chunk_rows = o->chunk_samples;
		p->chunk_bytes = p->row;
		rows = (rows + p->chunk_rows - 1) / p->chunk_rows * p->chunk_rows;
	} else if (o->chunk_bytes) {
		p->chunk_rows = 1;
		p->chunk_bytes = o->chunk_bytes < p->row ? o->chunk_bytes : p->row;
		p->stride = (p->row + p->chunk_bytes - 1) / p->chunk_bytes * p->chunk_bytes;
	}
	p->span = rows * p->stride;
}

static uint8_t *hdf5_put_message(uint8_t *at, uint8_t type, uint16_t bytes, uint8_t flags)
{
	*at++ = type;
	at = put_little(at, bytes, 2);
	*at++ = flags;
	return at;
}

static uint8_t *hdf5_put_sum(uint8_t *begin, uint8_t *end)
{
	return put_little(end, lookup3(begin, (size_t)(end - begin)), SUM_BYTES);
}

static uint8_t *hdf5_put_superblock(uint8_t *at, uint64_t file_bytes)
{
	uint8_t *begin = at;

	memcpy(at, "\x89HDF\r\n\x1a\n\x02\x08\x08", 12); /* and the string's zero: no flags */
	at = put_little(at + 12, 0, 8);                  /* base address */
	at = put_little(at, NOWHERE, 8);                 /* no extension */
	at = put_little(at, file_bytes, 8);
	at = put_little(at, SUPERBLOCK_BYTES, 8); /* the root's object header */
	return hdf5_put_sum(begin, at);
}

static uint8_t *hdf5_put_name(uint8_t *at, const char *name, uint64_t address)
{
	uint8_t length = (uint8_t)strlen(name);

	at = hdf5_put_message(at, MESSAGE_LINK, (uint16_t)(3 + length + 8), 0);
	*at++ = 1; /* version */
	*at++ = 0; /* a hard link, its name's length in one byte */
	*at++ = length;
	memcpy(at, name, length);
	return put_little(at + length, address, 8);
}

/* "records_0" …, "labels". */
static void hdf5_name_of(uint64_t i, uint64_t datasets, char name[16])
{
	if (i < datasets)
		snprintf(name, 16, "records_%u", (unsigned)(i % HDF5_DATASETS_MAX));
	else
		strcpy(name, "labels");
}

/* The root: a link to each data set's object header, [datasets + 1]. */
static uint8_t *hdf5_put_root(uint8_t *begin, uint64_t datasets, const uint64_t *headers)
{
	uint8_t *at = begin + PREFIX_LARGE_BYTES;

	at = hdf5_put_message(at, MESSAGE_LINK_INFO, 18, 0);
	at = put_little(at, 0, 2); /* version, flags */
	at = put_little(at, NOWHERE, 8);
	at = put_little(at, NOWHERE, 8);
	at = hdf5_put_message(at, MESSAGE_GROUP_INFO, 2, MESSAGE_CONSTANT);
	at = put_little(at, 0, 2);
	for (uint64_t i = 0; i <= datasets; i++) {
		char name[16];

		hdf5_name_of(i, datasets, name);
		at = hdf5_put_name(at, name, headers[i]);
	}
	memcpy(begin, "OHDR\x02\x01", 6);
	put_little(begin + 6, (uint64_t)(at - begin) - PREFIX_LARGE_BYTES, 2);
	return hdf5_put_sum(begin, at);
}

/* The layout message: where and how the bytes lie. */
static uint8_t *hdf5_put_layout(uint8_t *at, const struct hdf5_part *p, uint64_t address)
{
	if (!p->chunk_rows) {
		at = hdf5_put_message(at, MESSAGE_LAYOUT, 18, 0);
		*at++ = 3; /* version */
		*at++ = 1; /* contiguous */
		at = put_little(at, address, 8);
		return put_little(at, p->span, 8);
	}
	at = hdf5_put_message(at, MESSAGE_LAYOUT, 26, 0);
	*at++ = 4; /* version */
	*at++ = 2; /* chunked */
	*at++ = 0; /* flags */
	*at++ = 3; /* dimensions, the element's size among them */
	*at++ = 4; /* bytes of each */
	at = put_little(at, p->chunk_rows, 4);
	at = put_little(at, p->chunk_bytes, 4);
	at = put_little(at, 1, 4);
	*at++ = 2; /* implicit index */
	return put_little(at, address, 8);
}

/* A data set of rows x columns (0: one dimension) integers. */
static uint8_t *hdf5_put_dataset(uint8_t *begin, uint64_t rows, uint64_t columns,
				 uint64_t element_bytes, const struct hdf5_part *p,
				 uint64_t address)
{
	uint8_t *at = begin + PREFIX_BYTES;
	uint8_t rank = columns ? 2 : 1;

	at = hdf5_put_message(at, MESSAGE_DATASPACE, (uint16_t)(4 + 8 * rank), 0);
	*at++ = 2; /* version */
	*at++ = rank;
	*at++ = 0; /* as large as it can be */
	*at++ = 1; /* simple */
	at = put_little(at, rows, 8);
	if (columns)
		at = put_little(at, columns, 8);
	at = hdf5_put_message(at, MESSAGE_DATATYPE, 12, MESSAGE_CONSTANT);
	*at++ = 0x10; /* version 1, fixed point, little-endian */
	at = put_little(at, element_bytes == 1 ? 0 : SIGNED_BIT, 3);
	at = put_little(at, element_bytes, 4);
	at = put_little(at, 0, 2); /* first bit */
	at = put_little(at, 8 * element_bytes, 2);
	at = hdf5_put_message(at, MESSAGE_FILL_VALUE, 2, MESSAGE_CONSTANT);
	*at++ = 3;    /* version */
	*at++ = 0x09; /* space at once; written if set; the default value */
	at = hdf5_put_layout(at, p, address);
	memcpy(begin, "OHDR\x02", 6); /* and the string's zero: no flags */
	begin[6] = (uint8_t)(at - begin - PREFIX_BYTES);
	return hdf5_put_sum(begin, at);
}

/* Puts the object headers of all data sets; headers[datasets + 1] gets their addresses. begin is
 * the file's. */
static uint8_t *hdf5_put_datasets(const struct layout *l, const uint8_t *begin, uint8_t *at,
				  uint64_t *headers)
{
	struct hdf5_part labels = {.span = l->samples * HDF5_LABEL_BYTES};
	uint64_t n = hdf5_datasets(l), data = l->data_offset;

	for (uint64_t i = 0; i < n; i++) {
		struct hdf5_part p;

		hdf5_part_of(l, i, &p);
		headers[i] = (uint64_t)(at - begin);
		at = hdf5_put_dataset(at, l->samples, p.row, 1, &p, data);
		data += p.span;
	}
	headers[n] = (uint64_t)(at - begin);
	return hdf5_put_dataset(at, l->samples, 0, HDF5_LABEL_BYTES, &labels, data);
}

static uint64_t hdf5_root_bytes(uint64_t datasets)
{
	uint64_t digits = datasets + (datasets > 10 ? datasets - 10 : 0) +
			  (datasets > 100 ? datasets - 100 : 0);

	return ROOT_BYTES + datasets * (LINK_BYTES + sizeof("records_") - 1) + digits;
}

static uint64_t hdf5_header_bytes(const struct hdf5_options *o)
{
	uint64_t dataset = DATASET_BYTES +
			   (o->chunk_samples || o->chunk_bytes ? CHUNKED_BYTES : CONTIGUOUS_BYTES);
	uint64_t bytes = SUPERBLOCK_BYTES + hdf5_root_bytes(o->datasets) + o->datasets * dataset +
			 LABELS_BYTES;

	return (bytes + HDF5_ALIGNMENT - 1) / HDF5_ALIGNMENT * HDF5_ALIGNMENT;
}

static void hdf5_header(const struct layout *l, uint8_t *out)
{
	uint64_t headers[HDF5_DATASETS_MAX + 1];
	uint64_t n = hdf5_datasets(l);
	uint8_t *root = out + SUPERBLOCK_BYTES;
	uint8_t *end = hdf5_put_datasets(l, out, root + hdf5_root_bytes(n), headers);

	memset(end, 0, (size_t)(out + l->data_offset - end));
	hdf5_put_root(root, n, headers);
	hdf5_put_superblock(out, l->size);
}

static void hdf5_layout(struct layout *l)
{
	struct hdf5_part p;

	hdf5_part_of(l, 0, &p);
	l->data_offset = hdf5_header_bytes(l->options);
	l->stride = p.stride;
	l->id_at = l->data_offset;
	l->id_bytes = p.row < ID_BYTES ? 0 : ID_BYTES;
	for (uint64_t i = 0; i < hdf5_datasets(l); i++) {
		hdf5_part_of(l, i, &p);
		l->data_bytes += p.span;
	}
	l->gap_bytes = l->samples * HDF5_LABEL_BYTES;
	l->size = l->data_offset + l->data_bytes + l->gap_bytes;
}

/* What libhdf5 reads of a data set for one row. */
static void hdf5_part_extent(const struct hdf5_part *p, uint64_t begin, uint64_t sample,
			     struct extent *e)
{
	uint64_t chunk = p->chunk_rows * p->chunk_bytes;

	*e = (struct extent){.offset = begin + sample * p->stride, .length = p->stride};
	if (p->chunk_bytes < p->row)
		e->step = p->chunk_bytes; /* 0 where contiguous */
	else if (chunk && chunk <= CHUNK_CACHE_BYTES) {
		e->offset = begin + sample / p->chunk_rows * chunk;
		e->length = chunk;
	}
	if (e->step > CHUNK_CACHE_BYTES)
		e->length = p->row;
}

static uint32_t hdf5_extents(const struct layout *l, uint64_t sample,
			     struct extent out[FORMAT_EXTENTS_MAX])
{
	uint64_t begin = l->data_offset, n = hdf5_datasets(l);

	out[0] = (struct extent){.offset = 0, .length = l->data_offset};
	for (uint64_t i = 0; i < n; i++) {
		struct hdf5_part p;

		hdf5_part_of(l, i, &p);
		hdf5_part_extent(&p, begin, sample, &out[1 + i]);
		begin += p.span;
	}
	return (uint32_t)(1 + n);
}
