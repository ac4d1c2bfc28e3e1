/* SPDX-License-Identifier: Apache-2.0 */
/* indexed_binary and mmap_indexed_binary: the samples one after another, and in two files beside
 * them where each sample begins and how long it is, 8 bytes little-endian each, as DLIO writes
 * them.
 *
 *   NAME           sample 0 | sample 1 | sample 2 | …
 *   NAME.off.idx      0     |    B     |   2 B    | …
 *   NAME.sz.idx       B     |    B     |    B     | …
 *
 * A reader of indexed_binary reads both indexes whole when it opens the file, then records. A
 * reader of mmap_indexed_binary maps the indexes, and reads a page of each with the first sample
 * whose entry is on the page. Here all samples of a file have one size, so any index entry is a
 * product. */
#include <string.h>

#include "workloads/formats/payload.h"

enum { OBJECT_DATA, OBJECT_OFFSETS, OBJECT_SIZES };
enum { ENTRY_BYTES = 8, PAGE_BYTES = 4096 };

static void indexed_layout(struct layout *l);
static uint32_t indexed_extents(const struct layout *l, uint64_t sample,
				struct extent out[FORMAT_EXTENTS_MAX]);
static void mmap_layout(struct layout *l);
static uint32_t mmap_extents(const struct layout *l, uint64_t sample,
			     struct extent out[FORMAT_EXTENTS_MAX]);
static void indexed_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

extern const struct walk_ops indexed_walk;

const struct format_ops format_indexed_binary = {
	.stays_open = true,
	.beside = {".off.idx", ".sz.idx"},
	.layout = indexed_layout,
	.extents = indexed_extents,
	.payload = indexed_payload,
	.walk = &indexed_walk,
	.count = indexed_count,
};

const struct format_ops format_mmap_indexed_binary = {
	.stays_open = true,
	.beside = {".off.idx", ".sz.idx"},
	.layout = mmap_layout,
	.extents = mmap_extents,
	.payload = indexed_payload,
	.walk = &indexed_walk,
	.count = indexed_count,
};

static void indexed_layout(struct layout *l)
{
	payload_contiguous(l);
	if (l->object == OBJECT_DATA)
		return;
	l->data_bytes = l->samples * ENTRY_BYTES;
	l->size = l->data_bytes;
	l->id_bytes = 0;
}

static void mmap_layout(struct layout *l)
{
	indexed_layout(l);
	l->group_samples = PAGE_BYTES / ENTRY_BYTES;
}

static uint32_t indexed_put_record(const struct layout *l, uint64_t sample, struct extent *out)
{
	*out = (struct extent){.offset = sample * l->stride, .length = l->stride};
	return 1;
}

static uint32_t indexed_extents(const struct layout *l, uint64_t sample,
				struct extent out[FORMAT_EXTENTS_MAX])
{
	uint32_t n = 0;

	for (uint32_t object = OBJECT_OFFSETS; object <= OBJECT_SIZES; object++)
		out[n++] = (struct extent){.length = l->samples * ENTRY_BYTES,
					   .object = object,
					   .cache = CACHE_FOR_FILE};
	return n + indexed_put_record(l, sample, &out[n]);
}

static uint32_t mmap_extents(const struct layout *l, uint64_t sample,
			     struct extent out[FORMAT_EXTENTS_MAX])
{
	uint64_t page = sample * ENTRY_BYTES / PAGE_BYTES * PAGE_BYTES;
	uint64_t left = l->samples * ENTRY_BYTES - page;
	uint32_t n = 0;

	for (uint32_t object = OBJECT_OFFSETS; object <= OBJECT_SIZES; object++)
		out[n++] = (struct extent){.offset = page,
					   .length = left < PAGE_BYTES ? left : PAGE_BYTES,
					   .object = object,
					   .cache = CACHE_FOR_GROUP};
	return n + indexed_put_record(l, sample, &out[n]);
}

static void indexed_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	uint8_t *out = data, entry[ENTRY_BYTES];

	if (l->object == OBJECT_DATA) {
		payload_plain(l, offset, data, length);
		return;
	}
	while (length) {
		uint64_t i = offset / ENTRY_BYTES, from = offset % ENTRY_BYTES;
		uint64_t n = ENTRY_BYTES - from < length ? ENTRY_BYTES - from : length;

		put_little(entry, l->object == OBJECT_SIZES ? l->sample_bytes : i * l->sample_bytes,
			   ENTRY_BYTES);
		memcpy(out, entry + from, n);
		out += n;
		offset += n;
		length -= n;
	}
}
