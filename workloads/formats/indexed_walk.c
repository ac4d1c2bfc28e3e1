/* indexed_binary and mmap_indexed_binary: of the offsets, and of the sizes of the same samples behind them, that
 * each sample ends where the next begins, and the last where its file does. The tables may be long and are not
 * held: offsets must ascend, and a polynomial of their steps is that of the sizes. The last size of a page in the
 * middle ends where nobody looks. */
#include "workloads/formats/walk.h"

enum { TABLES, SIZES, DATA };
enum { OBJECT_DATA, OBJECT_OFFSETS, ENTRY_BYTES = 8 };
#define STEP_FACTOR 0x9e3779b97f4a7c15u /* odd, of many bits */

static const char *offset(struct walk *w)
{
	uint64_t value = walk_little(w->bytes, ENTRY_BYTES);

	if (value > w->size || (w->count && value < w->value))
		return "an offset is not where a sample can begin";
	if (!w->count++)
		w->at = value;
	else
		w->ends[0] = w->ends[0] * STEP_FACTOR + value - w->value;
	w->value = value;
	return NULL;
}

static const char *size(struct walk *w)
{
	uint64_t value = walk_little(w->bytes, ENTRY_BYTES);

	if (!w->left)
		return "has more sizes than offsets";
	if (w->left == 1 && (w->at != w->value || w->ends[0] != w->ends[1]))
		return "sizes are not the steps of the offsets";
	if (value > w->size - w->at)
		return "a sample's size is more than its file has";
	w->ends[1] = w->ends[1] * STEP_FACTOR + value;
	w->at += value;
	if (!--w->left)
		w->part = DATA;
	return NULL;
}

/* Another table, or another part of one: a page, with the entries from w->pass on. */
static const char *begin(struct walk *w, const struct walk_piece *p)
{
	if (p->object == OBJECT_OFFSETS) {
		walk_part(w, TABLES, 0);
		w->count = 0;
		w->ends[0] = 0;
		w->ends[1] = 0;
		w->pass = p->offset;
		return NULL;
	}
	if (w->part != TABLES || w->have || p->offset != w->pass || !w->count)
		return "has sizes without their offsets";
	walk_part(w, SIZES, w->count);
	return NULL;
}

const char *walk_indexed(struct walk *w, struct walk_piece *p)
{
	const char *wrong = walk_jumps(w, p) && p->object != OBJECT_DATA ? begin(w, p) : NULL;

	if (p->object == OBJECT_DATA) {
		p->left = 0;
		return w->part == DATA ? NULL : "sizes end before the offsets do";
	}
	while (!wrong && p->left) {
		if (!walk_gather(w, p, ENTRY_BYTES))
			break;
		wrong = p->object == OBJECT_OFFSETS ? offset(w) : size(w);
		w->have = 0;
	}
	return wrong;
}

/* Where the last of the tables were read. */
const char *walk_indexed_end(const struct walk *w, uint64_t samples)
{
	if (w->part != DATA)
		return "sizes end before the offsets do";
	if (w->pass / ENTRY_BYTES + w->count == samples && w->at != w->size)
		return "the last sample does not end where its file does";
	return NULL;
}
