/* SPDX-License-Identifier: Apache-2.0 */
/* npz: a stored zip. Members with the CRC-32 of their bytes, then one row of the directory per
 * member, then its end; sizes are in the local headers, or in their zip64 field.
 *
 * A file of several samples is read in ranges, as haul reads its own: the directory, the first
 * member's header, then a sample. The CRC covers all bytes and cannot be checked then; directory,
 * header and array are compared with each other. */
#include "workloads/formats/crc32.h"
#include "workloads/formats/npy.h"

enum {
	NPZ_SIGNATURE,
	NPZ_LOCAL,
	NPZ_NAME,
	NPZ_EXTRA,
	NPZ_DATA,
	NPZ_ROW,
	NPZ_PASS,
	NPZ_END64,
	NPZ_END64_PLACE,
	NPZ_END,
	NPZ_COMMENT,
	NPZ_ARRAY,
	NPZ_TEXT,
	NPZ_RANGE
};
enum { ZIP64_FIELD = 20, NAME_MAX = NPY_TEXT_MAX - ZIP64_FIELD };

struct npz_walk {
	uint64_t directory_at; /* 0: the file is read whole */
	uint64_t first;        /* CRC and size of the first member, as the directory says */
	uint64_t size;         /* of the member under way */
	uint32_t crc, sum;     /* of it: as its header says, and so far */
	uint32_t members, rows;
	uint32_t name_bytes; /* of the member's name and zip64 field; 0: it has no such field */
	struct npy_text text;
};

/* 30 bytes: what the member's name and field say of it is still to come. */
static const char *npz_walk_local(struct walk *w, struct npz_walk *s)
{
	const uint8_t *b = s->text.bytes;
	uint32_t name = (uint32_t)walk_little(b + 26, 2), extra = (uint32_t)walk_little(b + 28, 2);
	bool zip64 = walk_little(b + 18, 4) == UINT32_MAX;

	if (walk_little(b + 6, 2) & 9 || walk_little(b + 8, 2) != 0)
		return "has a member that is not simply stored";
	if (s->rows)
		return "has a member behind its directory";
	if (zip64 && (extra < ZIP64_FIELD || name > NAME_MAX))
		return "has a member without its size";
	if (s->directory_at && walk_little(b + 14, 8) != s->first)
		return "a member is not what its directory says";
	s->size = walk_little(b + 18, 4);
	s->crc = (uint32_t)walk_little(b + 14, 4);
	s->name_bytes = zip64 ? name + ZIP64_FIELD : 0;
	s->sum = CRC32_START;
	s->members++;
	walk_part(w, zip64 ? NPZ_NAME : NPZ_EXTRA, (uint64_t)name + extra - s->name_bytes);
	return NULL;
}

/* Name and zip64 field: id, length, size, stored size. */
static const char *npz_walk_name(struct walk *w, struct npz_walk *s)
{
	const uint8_t *field = s->text.bytes + s->name_bytes - ZIP64_FIELD;

	if (walk_little(field, 2) != 1 || walk_little(field + 2, 2) < 16)
		return "has a member without its size";
	s->size = walk_little(field + 12, 8);
	w->have = 0;
	w->part = NPZ_EXTRA;
	return NULL;
}

static const char *npz_walk_row(struct walk *w, struct npz_walk *s)
{
	const uint8_t *b = s->text.bytes;

	if (!s->rows++) {
		s->first = walk_little(b + 16, 8);
		if (s->directory_at && walk_little(b + 42, 4) != 0)
			return "has another first member";
	}
	walk_part(w, NPZ_PASS,
		  walk_little(b + 28, 2) + walk_little(b + 30, 2) + walk_little(b + 32, 2));
	return NULL;
}

static const char *npz_walk_directory_end(struct walk *w, struct npz_walk *s)
{
	const uint8_t *b = s->text.bytes;
	uint64_t begin = walk_little(b + 16, 4);

	if (s->directory_at && begin != UINT32_MAX && begin != s->directory_at)
		return "has its directory elsewhere";
	if ((s->rows != s->members && !s->directory_at) ||
	    walk_little(b + 10, 2) != (s->rows & UINT16_MAX))
		return "has a directory of other members";
	walk_part(w, NPZ_COMMENT, walk_little(b + 20, 2));
	return NULL;
}

static const char *npz_walk_signature(struct walk *w, struct npz_walk *s)
{
	switch (walk_little(s->text.bytes, 4)) {
	case 0x04034b50:
		w->part = NPZ_LOCAL;
		return NULL;
	case 0x02014b50:
		w->part = NPZ_ROW;
		return NULL;
	case 0x06064b50:
		w->part = NPZ_END64;
		return NULL;
	case 0x07064b50:
		w->part = NPZ_END64_PLACE;
		return NULL;
	case 0x06054b50:
		w->part = NPZ_END;
		return NULL;
	default:
		return "has no part of a zip where one must begin";
	}
}

static const char *npz_walk_end64(struct walk *w, struct npz_walk *s)
{
	walk_part(w, NPZ_PASS, walk_little(s->text.bytes + 4, 8));
	return NULL;
}

static const char *npz_walk_end64_place(struct walk *w, struct npz_walk *s)
{
	(void)s;
	walk_part(w, NPZ_SIGNATURE, 0);
	return NULL;
}

/* Parts of a fixed size, signature included, and what they say. */
static const struct {
	uint32_t bytes;
	const char *(*take)(struct walk *w, struct npz_walk *s);
} npz_walk_fixed[] = {
	[NPZ_SIGNATURE] = {4, npz_walk_signature},
	[NPZ_LOCAL] = {30, npz_walk_local},
	[NPZ_ROW] = {46, npz_walk_row},
	[NPZ_END64] = {12, npz_walk_end64},
	[NPZ_END64_PLACE] = {20, npz_walk_end64_place},
	[NPZ_END] = {22, npz_walk_directory_end},
};

/* What is passed over, summed or not. */
static const char *npz_walk_passed(struct walk *w, struct npz_walk *s, struct walk_piece *p)
{
	const uint8_t *span;
	uint64_t n = walk_span(w, p, &span);

	if (w->part == NPZ_DATA)
		s->sum = crc32_run(s->sum, span, n);
	if (w->left)
		return NULL;
	if (w->part == NPZ_DATA) {
		walk_part(w, NPZ_SIGNATURE, 0);
		return s->crc == (uint32_t)~s->sum ? NULL
						   : "a member's CRC is not that of its bytes";
	}
	if (w->part == NPZ_EXTRA)
		walk_part(w, s->directory_at ? NPZ_ARRAY : NPZ_DATA, s->size);
	else if (w->part == NPZ_PASS)
		walk_part(w, NPZ_SIGNATURE, 0);
	return NULL;
}

/* A range begins elsewhere than where the one before ended. */
static const char *npz_walk_range(struct walk *w, struct npz_walk *s, const struct walk_piece *p)
{
	if (w->part == NPZ_SIGNATURE && !w->have && !s->members && !s->rows) {
		s->directory_at = p->offset;
	} else if (s->directory_at && w->part == NPZ_COMMENT && !w->left && !p->offset) {
		s->rows = 0;
		walk_part(w, NPZ_SIGNATURE, 0);
	} else if (w->part != NPZ_RANGE) {
		return "has its parts elsewhere than its directory says";
	}
	return NULL;
}

/* The first member's array, of a file that is read in ranges. */
static const char *npz_walk_array(struct walk *w, struct npz_walk *s, struct walk_piece *p)
{
	const char *wrong = NULL;
	uint64_t n = 0;

	if (w->part == NPZ_RANGE) {
		p->left = 0;
	} else if (w->part == NPZ_TEXT) {
		if (!walk_gather(w, p, s->text.bytes, NPY_TEXT_MAX, w->left))
			return NULL;
		wrong = npy_walk_text(&s->text, w->left, s->size);
		walk_part(w, NPZ_RANGE, 0);
	} else if (npy_walk_front(w, p, &s->text, &n, &wrong) && !wrong) {
		if (n > NPY_TEXT_MAX || w->have + n > s->size)
			return "has an array's header longer than numpy's";
		s->size -= w->have + n;
		walk_part(w, NPZ_TEXT, n);
	}
	return wrong;
}

static const char *npz_walk_take(struct walk *w, struct walk_piece *p)
{
	struct npz_walk *s = WALK_STATE(struct npz_walk, w);
	const char *wrong = p->jumps ? npz_walk_range(w, s, p) : NULL;

	while (!wrong) {
		bool passes = w->part == NPZ_EXTRA || w->part == NPZ_DATA || w->part == NPZ_PASS;

		if (!p->left && !(passes && !w->left))
			return NULL;
		if (passes || (w->part == NPZ_COMMENT && w->left))
			wrong = npz_walk_passed(w, s, p);
		else if (w->part >= NPZ_ARRAY)
			wrong = npz_walk_array(w, s, p);
		else if (w->part == NPZ_COMMENT)
			wrong = "goes on behind its end";
		else if (w->part == NPZ_NAME)
			wrong = walk_gather(w, p, s->text.bytes, NPY_TEXT_MAX, s->name_bytes)
					? npz_walk_name(w, s)
					: NULL;
		else if (walk_gather(w, p, s->text.bytes, NPY_TEXT_MAX,
				     npz_walk_fixed[w->part].bytes))
			wrong = npz_walk_fixed[w->part].take(w, s);
	}
	return wrong;
}

static const char *npz_walk_end(const struct walk *w, uint64_t samples)
{
	const struct npz_walk *s = WALK_STATE(const struct npz_walk, w);

	(void)samples;
	if (s->directory_at)
		return w->part == NPZ_RANGE ? NULL : "ends before its array does";
	return w->part == NPZ_COMMENT && !w->left ? NULL : "ends before its directory does";
}

const struct walk_ops npz_walk = {npz_walk_take, npz_walk_end, true};
