/* npz: a stored zip. Members with the CRC-32 of their bytes, then as many rows of the directory, then its end;
 * sizes in the local headers, or in their zip64 field.
 *
 * Of several samples it is read in ranges, as haul reads it: the directory, the first member's header, then a
 * sample. The sum is of all bytes and cannot be known; what directory, header and array say of them is. */
#include "workloads/formats/crc32.h"
#include "workloads/formats/npy_walk.h"

enum {
	SIGNATURE,
	LOCAL,
	NAME,
	EXTRA,
	DATA,
	ROW,
	PASS,
	END64,
	END64_PLACE,
	END,
	COMMENT,
	ARRAY,
	TEXT,
	RANGE
};
enum { ZIP64_FIELD = 20, NAME_MAX = WALK_BYTES - ZIP64_FIELD };

static const char *signature(struct walk *w)
{
	switch (walk_little(w->bytes, 4)) {
	case 0x04034b50:
		w->part = LOCAL;
		return NULL;
	case 0x02014b50:
		w->part = ROW;
		return NULL;
	case 0x06064b50:
		w->part = END64;
		return NULL;
	case 0x07064b50:
		w->part = END64_PLACE;
		return NULL;
	case 0x06054b50:
		w->part = END;
		return NULL;
	default:
		return "has no part of a zip where one must begin";
	}
}

/* 30 bytes: what the member's name and field say of it is still to come. */
static const char *local(struct walk *w)
{
	const uint8_t *b = w->bytes;
	uint32_t name = (uint32_t)walk_little(b + 26, 2), extra = (uint32_t)walk_little(b + 28, 2);
	bool zip64 = walk_little(b + 18, 4) == UINT32_MAX;

	if (walk_little(b + 6, 2) & 9 || walk_little(b + 8, 2) != 0)
		return "has a member that is not simply stored";
	if (w->depth)
		return "has a member behind its directory";
	if (zip64 && (extra < ZIP64_FIELD || name > NAME_MAX))
		return "has a member without its size";
	if (w->pass && walk_little(b + 14, 8) != w->at)
		return "a member is not what its directory says";
	w->value = walk_little(b + 18, 4);
	w->shift = (uint32_t)walk_little(b + 14, 4); /* the CRC */
	w->field = zip64 ? name + ZIP64_FIELD : 0;
	w->sum = CRC32_START;
	w->count++;
	walk_part(w, zip64 ? NAME : EXTRA, (uint64_t)name + extra - w->field);
	return NULL;
}

/* Name and zip64 field: id, length, size, stored size. */
static const char *name64(struct walk *w)
{
	const uint8_t *field = w->bytes + w->field - ZIP64_FIELD;

	if (walk_little(field, 2) != 1 || walk_little(field + 2, 2) < 16)
		return "has a member without its size";
	w->value = walk_little(field + 12, 8);
	w->have = 0;
	w->part = EXTRA;
	return NULL;
}

static const char *row(struct walk *w)
{
	const uint8_t *b = w->bytes;

	if (!w->depth++) {
		w->at = walk_little(b + 16, 8); /* CRC and size */
		if (w->pass && walk_little(b + 42, 4) != 0)
			return "has another first member";
	}
	walk_part(w, PASS,
		  walk_little(b + 28, 2) + walk_little(b + 30, 2) + walk_little(b + 32, 2));
	return NULL;
}

static const char *end(struct walk *w)
{
	uint64_t begins = walk_little(w->bytes + 16, 4);

	if (w->pass && begins != UINT32_MAX && begins != w->pass)
		return "has its directory elsewhere";
	if ((w->depth != w->count && !w->pass) ||
	    walk_little(w->bytes + 10, 2) != (w->depth & UINT16_MAX))
		return "has a directory of other members";
	walk_part(w, COMMENT, walk_little(w->bytes + 20, 2));
	return NULL;
}

static const char *summed(struct walk *w)
{
	bool same = w->shift == (uint32_t)~w->sum;

	walk_part(w, SIGNATURE, 0);
	return same ? NULL : "a member's CRC is not that of its bytes";
}

/* Parts of a fixed size, and what they say. */
static const struct {
	uint32_t bytes;
	const char *(*take)(struct walk *w);
} fixed[] = {
	[SIGNATURE] = {4, signature}, [LOCAL] = {30, local}, [ROW] = {46, row}, [END] = {22, end}};

/* What is passed over, summed or not. */
static const char *passed(struct walk *w, struct walk_piece *p)
{
	const uint8_t *span;
	uint64_t n = walk_span(w, p, &span);

	if (w->part == DATA)
		w->sum = crc32_run(w->sum, span, n);
	if (w->left)
		return NULL;
	if (w->part == DATA)
		return summed(w);
	if (w->part == EXTRA)
		walk_part(w, w->pass ? ARRAY : DATA, w->value);
	else if (w->part == PASS)
		walk_part(w, SIGNATURE, 0);
	return NULL;
}

/* A range begins elsewhere than where the one before ended. */
static const char *range(struct walk *w, const struct walk_piece *p)
{
	if (w->part == SIGNATURE && !w->have && !w->count && !w->depth) {
		w->pass = p->offset; /* where the directory begins */
	} else if (w->pass && w->part == COMMENT && !w->left && !p->offset) {
		w->depth = 0;
		walk_part(w, SIGNATURE, 0);
	} else if (w->part != RANGE) {
		return "has its parts elsewhere than its directory says";
	}
	return NULL;
}

static const char *array(struct walk *w, struct walk_piece *p)
{
	const char *wrong = NULL;
	uint64_t text = 0;

	if (w->part == RANGE) {
		p->left = 0;
	} else if (w->part == TEXT) {
		if (!walk_gather(w, p, (uint32_t)w->left))
			return NULL;
		wrong = walk_npy_text(w->bytes, w->left, w->value);
		walk_part(w, RANGE, 0);
	} else if (walk_npy_head(w, p, &wrong, &text) && !wrong) {
		if (text > WALK_BYTES || w->have + text > w->value)
			return "has an array's header longer than numpy's";
		w->value -= w->have + text;
		walk_part(w, TEXT, text);
	}
	return wrong;
}

const char *walk_npz(struct walk *w, struct walk_piece *p)
{
	const char *wrong = walk_jumps(w, p) ? range(w, p) : NULL;

	while (!wrong) {
		bool passes = w->part == EXTRA || w->part == DATA || w->part == PASS;

		if (!p->left && !(passes && !w->left))
			return NULL;
		if (passes || (w->part == COMMENT && w->left))
			wrong = passed(w, p);
		else if (w->part >= ARRAY)
			wrong = array(w, p);
		else if (w->part == COMMENT)
			wrong = "goes on behind its end";
		else if (w->part == NAME)
			wrong = walk_gather(w, p, w->field) ? name64(w) : NULL;
		else if (w->part == END64 && walk_gather(w, p, 12))
			walk_part(w, PASS, walk_little(w->bytes + 4, 8));
		else if (w->part == END64_PLACE && walk_gather(w, p, 20))
			walk_part(w, SIGNATURE, 0);
		else if (w->part != END64 && w->part != END64_PLACE &&
			 walk_gather(w, p, fixed[w->part].bytes))
			wrong = fixed[w->part].take(w);
	}
	return wrong;
}

const char *walk_npz_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	if (w->pass)
		return w->part == RANGE ? NULL : "ends before its array does";
	return w->part == COMMENT && !w->left ? NULL : "ends before its directory does";
}
