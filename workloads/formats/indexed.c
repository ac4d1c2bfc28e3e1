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
#include "workloads/formats/walk.h"

enum { INDEXED_OFFSETS, INDEXED_SIZES, INDEXED_DATA };
enum { WALK_OBJECT_DATA, WALK_OBJECT_OFFSETS, WALK_ENTRY_BYTES = 8 };
#define STEP_FACTOR 0x9e3779b97f4a7c15u /* odd, of many bits */

struct indexed_walk {
	uint64_t table_at;                 /* where the part of the tables that is read begins */
	uint64_t offsets;                  /* read of it */
	uint64_t offset;                   /* the last of them */
	uint64_t ends;                     /* the sample before, by the sizes */
	uint64_t offset_steps, size_steps; /* polynomials */
	uint8_t bytes[WALK_ENTRY_BYTES];
};

static const char *indexed_walk_offset(const struct walk *w, struct indexed_walk *s)
{
	uint64_t value = walk_little(s->bytes, WALK_ENTRY_BYTES);

	if (value > w->size || (s->offsets && value < s->offset))
		return "an offset is not where a sample can begin";
	if (!s->offsets++)
		s->ends = value;
	else
		s->offset_steps = s->offset_steps * STEP_FACTOR + value - s->offset;
	s->offset = value;
	return NULL;
}

/* w->left: sizes to come. */
static const char *indexed_walk_size(struct walk *w, struct indexed_walk *s)
{
	uint64_t value = walk_little(s->bytes, WALK_ENTRY_BYTES);

	if (!w->left)
		return "has more sizes than offsets";
	if (w->left == 1 && (s->ends != s->offset || s->offset_steps != s->size_steps))
		return "sizes are not the steps of the offsets";
	if (value > w->size - s->ends)
		return "a sample's size is more than its file has";
	s->size_steps = s->size_steps * STEP_FACTOR + value;
	s->ends += value;
	if (!--w->left)
		w->part = INDEXED_DATA;
	return NULL;
}

/* Another table, or another part of one: a page, with the entries from table_at on. */
static const char *indexed_walk_table(struct walk *w, struct indexed_walk *s,
				      const struct walk_piece *p)
{
	if (p->object == WALK_OBJECT_OFFSETS) {
		walk_part(w, INDEXED_OFFSETS, 0);
		s->offsets = 0;
		s->offset_steps = 0;
		s->size_steps = 0;
		s->table_at = p->offset;
		return NULL;
	}
	if (w->part != INDEXED_OFFSETS || w->have || p->offset != s->table_at || !s->offsets)
		return "has sizes without their offsets";
	walk_part(w, INDEXED_SIZES, s->offsets);
	return NULL;
}

static const char *indexed_walk_take(struct walk *w, struct walk_piece *p)
{
	struct indexed_walk *s = WALK_STATE(struct indexed_walk, w);
	const char *wrong = NULL;

	if (p->object == WALK_OBJECT_DATA) {
		p->left = 0;
		return w->part == INDEXED_DATA ? NULL : "sizes end before the offsets do";
	}
	if (p->jumps)
		wrong = indexed_walk_table(w, s, p);
	while (!wrong && p->left) {
		if (!walk_gather(w, p, s->bytes, sizeof(s->bytes), WALK_ENTRY_BYTES))
			break;
		wrong = p->object == WALK_OBJECT_OFFSETS ? indexed_walk_offset(w, s)
							 : indexed_walk_size(w, s);
		w->have = 0;
	}
	return wrong;
}

/* Where the ends of the tables were read, the last sample's end is known. */
static const char *indexed_walk_end(const struct walk *w, uint64_t samples)
{
	const struct indexed_walk *s = WALK_STATE(const struct indexed_walk, w);

	if (w->part != INDEXED_DATA)
		return "sizes end before the offsets do";
	if (s->table_at / WALK_ENTRY_BYTES + s->offsets == samples && s->ends != w->size)
		return "the last sample does not end where its file does";
	return NULL;
}

static const struct walk_ops indexed_walk = {indexed_walk_take, indexed_walk_end, false};

enum { OBJECT_DATA, OBJECT_OFFSETS, OBJECT_SIZES };
enum { ENTRY_BYTES = 8, PAGE_BYTES = 4096 };

static void indexed_layout(struct layout *l);
static uint32_t indexed_extents(const struct layout *l, uint64_t sample,
				struct extent out[FORMAT_EXTENTS_MAX]);
static void mmap_layout(struct layout *l);
static uint32_t mmap_extents(const struct layout *l, uint64_t sample,
			     struct extent out[FORMAT_EXTENTS_MAX]);
static void indexed_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

static void indexed_parts_layout(struct layout *l);
static uint32_t indexed_parts_extents(const struct layout *l, uint64_t sample,
				      struct extent out[FORMAT_EXTENTS_MAX]);
static uint32_t mmap_parts_extents(const struct layout *l, uint64_t sample,
				   struct extent out[FORMAT_EXTENTS_MAX]);

/* Files that haul did not make: the indexes are read as of its own, the data in equal parts. */
static const struct format_ops indexed_parts = {
	.beside = {".off.idx", ".sz.idx"},
	.layout = indexed_parts_layout,
	.extents = indexed_parts_extents,
};
static const struct format_ops mmap_parts = {
	.beside = {".off.idx", ".sz.idx"},
	.layout = indexed_parts_layout,
	.extents = mmap_parts_extents,
};

const struct format_ops format_indexed_binary = {
	.stays_open = true,
	.beside = {".off.idx", ".sz.idx"},
	.layout = indexed_layout,
	.extents = indexed_extents,
	.payload = indexed_payload,
	.walk = &indexed_walk,
	.count = indexed_count,
	.parts = &indexed_parts,
};

const struct format_ops format_mmap_indexed_binary = {
	.stays_open = true,
	.beside = {".off.idx", ".sz.idx"},
	.layout = mmap_layout,
	.extents = mmap_extents,
	.payload = indexed_payload,
	.walk = &indexed_walk,
	.count = indexed_count,
	.parts = &mmap_parts,
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

/* Both indexes whole. */
static uint32_t indexed_tables(const struct layout *l, struct extent *out)
{
	uint32_t n = 0;

	for (uint32_t object = OBJECT_OFFSETS; object <= OBJECT_SIZES; object++)
		out[n++] = (struct extent){.length = l->samples * ENTRY_BYTES,
					   .object = object,
					   .cache = CACHE_FOR_FILE};
	return n;
}

/* The page of each index that has the sample's entry. */
static uint32_t mmap_pages(const struct layout *l, uint64_t sample, struct extent *out)
{
	uint64_t page = sample * ENTRY_BYTES / PAGE_BYTES * PAGE_BYTES;
	uint64_t left = l->samples * ENTRY_BYTES - page;
	uint32_t n = 0;

	for (uint32_t object = OBJECT_OFFSETS; object <= OBJECT_SIZES; object++)
		out[n++] = (struct extent){.offset = page,
					   .length = left < PAGE_BYTES ? left : PAGE_BYTES,
					   .object = object,
					   .cache = CACHE_FOR_GROUP};
	return n;
}

static uint32_t indexed_extents(const struct layout *l, uint64_t sample,
				struct extent out[FORMAT_EXTENTS_MAX])
{
	uint32_t n = indexed_tables(l, out);

	return n + indexed_put_record(l, sample, &out[n]);
}

static uint32_t mmap_extents(const struct layout *l, uint64_t sample,
			     struct extent out[FORMAT_EXTENTS_MAX])
{
	uint32_t n = mmap_pages(l, sample, out);

	return n + indexed_put_record(l, sample, &out[n]);
}

static void indexed_parts_layout(struct layout *l)
{
	format_parts.layout(l);
	l->group_samples = PAGE_BYTES / ENTRY_BYTES;
	if (l->object != OBJECT_DATA)
		l->size = l->samples * ENTRY_BYTES;
}

static uint32_t indexed_parts_extents(const struct layout *l, uint64_t sample,
				      struct extent out[FORMAT_EXTENTS_MAX])
{
	uint32_t n = indexed_tables(l, out);

	return n + format_parts.extents(l, sample, &out[n]);
}

static uint32_t mmap_parts_extents(const struct layout *l, uint64_t sample,
				   struct extent out[FORMAT_EXTENTS_MAX])
{
	uint32_t n = mmap_pages(l, sample, out);

	return n + format_parts.extents(l, sample, &out[n]);
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
