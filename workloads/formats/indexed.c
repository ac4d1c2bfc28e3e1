/* indexed_binary and mmap_indexed_binary: the samples one after another, and beside them where each
 * begins and how long it is, 8 bytes little-endian a sample, as DLIO writes them.
 *
 *   NAME           sample 0 | sample 1 | sample 2 | …
 *   NAME.off.idx      0     |    B     |   2 B    | …
 *   NAME.sz.idx       B     |    B     |    B     | …
 *
 * A reader of indexed_binary reads both indexes whole when it opens the file, then records; one of
 * mmap_indexed_binary maps them, and of each a page comes with the first sample whose entry it holds.
 * Here all samples of a file have one size: index entries are sums, of any number of samples. */
#include <string.h>

#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

enum { OBJECT_DATA, OBJECT_OFFSETS, OBJECT_SIZES };
enum { ENTRY_BYTES = 8, PAGE_BYTES = 4096 };

static void indexed_layout(struct layout *l);
static uint32_t indexed_extents(const struct layout *l, uint64_t sample,
				struct extent out[FORMAT_EXTENTS_MAX]);
static void mmap_layout(struct layout *l);
static uint32_t mmap_extents(const struct layout *l, uint64_t sample,
			     struct extent out[FORMAT_EXTENTS_MAX]);
static void indexed_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

const struct format_ops format_indexed_binary = {
	.name = "indexed_binary",
	.help = "samples one after another, their offsets and sizes in files beside; indexes read "
		"whole",
	.stays_open = true,
	.beside = {".off.idx", ".sz.idx"},
	.unit = 1,
	.layout = indexed_layout,
	.extents = indexed_extents,
	.payload = indexed_payload,
	.walk = walk_indexed,
	.walk_end = walk_indexed_end,
};

const struct format_ops format_mmap_indexed_binary = {
	.name = "mmap_indexed_binary",
	.help = "the same files; of the indexes pages are read as they are needed",
	.stays_open = true,
	.beside = {".off.idx", ".sz.idx"},
	.unit = 1,
	.layout = mmap_layout,
	.extents = mmap_extents,
	.payload = indexed_payload,
	.walk = walk_indexed,
	.walk_end = walk_indexed_end,
};

static void indexed_layout(struct layout *l)
{
	l->header_bytes = 0;
	l->data_offset = 0;
	l->trailer_bytes = 0;
	l->gap_at = 0;
	l->gap_bytes = 0;
	payload_contiguous(l);
	if (l->object != OBJECT_DATA) {
		l->data_bytes = l->samples * ENTRY_BYTES;
		l->id_bytes = 0;
	}
	l->size = l->data_bytes;
}

static void mmap_layout(struct layout *l)
{
	indexed_layout(l);
	l->group_samples = PAGE_BYTES / ENTRY_BYTES;
}

static uint32_t put_record(const struct layout *l, uint64_t sample, struct extent *out)
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
	return n + put_record(l, sample, &out[n]);
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
	return n + put_record(l, sample, &out[n]);
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
