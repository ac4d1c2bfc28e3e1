/* SPDX-License-Identifier: Apache-2.0 */
/* indexed_binary and mmap_indexed_binary: the offsets of samples, then the sizes of the same
 * samples. Each sample must end where the next one begins, and the last where its file ends. The
 * tables may be long and are not stored: offsets must ascend, and a polynomial of their steps must
 * be that of the sizes. Where only a page in the middle of the tables is read, nothing tells where
 * its last sample ends. */
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

const struct walk_ops indexed_walk = {indexed_walk_take, indexed_walk_end, false};
