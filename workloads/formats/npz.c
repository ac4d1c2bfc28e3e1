/* SPDX-License-Identifier: Apache-2.0 */
/* npz: a zip file with two stored members, as numpy.savez writes it: x.npy, the samples, and y.npy,
 * a label (0) for each of them.
 *
 *   local header x | npy header | payload | local header y | npy header | labels | directory
 *   0                           data_offset                             the gap
 *   `-------- header ---------´           `------------------ trailer --------------------´
 *
 * data_offset is a multiple of 64, by padding in the local header.
 *
 * The CRC-32 of x is in front of it, and ranks that make only a part of the file must know it. So
 * the payload is cut into blocks of 64 KiB (crc32.h), and four bytes of each block bring the
 * CRC register back to where it was before the block: the CRC of the member is that of its npy
 * header. The four bytes are as near to the block's end as possible without touching an id:
 *
 *   | id | random …            | id | random …      patch | … |
 *   block begin                                     block end
 *
 * Samples of 8 to 11 bytes have no four free bytes beside their ids: they are filled up with zeros,
 * and the CRC of consecutive numbers is computed in logarithmic time (npz_ids_register).
 *
 * Files of nearly 4 GiB and more use zip64 for every size and offset. */
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/crc32.h"
#include "workloads/formats/npy.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/zip.h"

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

static const struct walk_ops npz_walk = {npz_walk_take, npz_walk_end, true};

enum {
	COUNTED_MAX = ID_BYTES + CRC32_PATCH_BYTES, /* below: no room beside a sample's id */
	NPZ_ALIGNMENT = 64,
	EXTRA_PADDING = 0xd935, /* the id by which zipalign pads */
	VERSION_PLAIN = 20,
	NPZ_HEADERS_MAX = 2560,
	NPZ_LABEL_BYTES = 8,
	MEMBER_NAME_BYTES = 5, /* "x.npy" */
	LOCAL_BYTES = ZIP_LOCAL_BYTES + MEMBER_NAME_BYTES,
	LOCAL_ZIP64_BYTES = ZIP_EXTRA_BYTES + 16, /* more, with zip64 */
	/* Two rows and the end; with zip64 a field in each row and two more records. */
	DIRECTORY_BYTES = 2 * (ZIP_ROW_BYTES + MEMBER_NAME_BYTES) + ZIP_END_BYTES,
	DIRECTORY_ZIP64_BYTES = 2 * (ZIP_EXTRA_BYTES + 24) + ZIP_END64_BYTES,
	ID_BITS = 64
};
/* A last block that is short must have room for a patch and an id: 3 bytes free, an id, 4 bytes
 * free. */
_Static_assert((int)CRC32_BLOCK_LEAST >= 3 + (int)ID_BYTES + (int)CRC32_PATCH_BYTES,
	       "room beside an id");
/* Files from here on use zip64, so that no 32-bit field of a smaller one can overflow. NPZ_HEADERS_MAX
 * is more than a file has beside payload and labels; the number is part of the format's layout. */
#define ZIP64_FROM 0xffff0000u

static void npz_layout(struct layout *l);
static uint32_t npz_extents(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX]);
static void npz_header(const struct layout *l, uint8_t *out);
static void npz_trailer(const struct layout *l, uint8_t *out);
static void npz_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

const struct format_ops format_npz = {
	.magic = {.bytes = "PK\x03\x04", .count = 4},
	.layout = npz_layout,
	.extents = npz_extents,
	.header = npz_header,
	.trailer = npz_trailer,
	.payload = npz_payload,
	.walk = &npz_walk,
	.count = npz_count,
};

/* What must be known of the checksums before any byte is made. */
struct npz_sums {
	uint32_t block_register; /* the CRC's register that each block returns to */
	uint32_t x_crc, y_crc;
	uint32_t directory_bytes;
	bool zip64;
};

/* A file of one sample is read in one range. Of other files a reader takes the directory first,
 * then the header, then the sample. */
static uint32_t npz_extents(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX])
{
	uint64_t directory = LAYOUT_STATE(const struct npz_sums, l)->directory_bytes;

	if (l->samples == 1) {
		out[0] = (struct extent){.offset = 0, .length = l->size};
		return 1;
	}
	out[0] = (struct extent){.offset = l->size - directory, .length = directory};
	out[1] = (struct extent){.offset = 0, .length = l->data_offset};
	out[2] = (struct extent){.offset = l->data_offset + sample * l->sample_bytes,
				 .length = l->sample_bytes};
	return 3;
}

/* Whether samples have an id and less than CRC32_PATCH_BYTES more. */
static bool npz_counted(const struct layout *l)
{
	return l->sample_bytes >= ID_BYTES && l->sample_bytes < COUNTED_MAX;
}

static uint32_t npz_ids_register(uint32_t reg, uint64_t first, uint64_t count,
				 uint64_t sample_bytes);

/* The CRC's register after the payload, from the one before it. */
static uint32_t npz_payload_register(const struct layout *l, uint32_t reg)
{
	uint8_t few[CRC32_PATCH_BYTES];

	if (npz_counted(l))
		return npz_ids_register(reg, l->first_id, l->samples, l->sample_bytes);
	if (payload_bytes(l) >= CRC32_PATCH_BYTES)
		return reg;
	fill(l->key, 0, few, payload_bytes(l));
	return crc32_run(reg, few, payload_bytes(l));
}

/* x.npy, or y.npy with the labels; npy gets the member's own header, of *npy_bytes. */
static struct zip_member npz_member(const struct layout *l, bool labels,
				    uint8_t npy[NPY_HEADER_MAX], uint32_t *npy_bytes)
{
	const struct npz_sums *sums = LAYOUT_STATE(const struct npz_sums, l);
	struct zip_member m = {.name = labels ? "y.npy" : "x.npy",
			       .name_bytes = MEMBER_NAME_BYTES,
			       .crc = labels ? sums->y_crc : sums->x_crc,
			       .version = sums->zip64 ? ZIP_VERSION_64 : VERSION_PLAIN,
			       .date = ZIP_DOS_1980,
			       .sizes64 = sums->zip64,
			       .offset64 = sums->zip64,
			       .padding_id = EXTRA_PADDING};

	_Static_assert((NPZ_ALIGNMENT - LOCAL_BYTES) % NPZ_ALIGNMENT >= ZIP_EXTRA_BYTES &&
			       (NPZ_ALIGNMENT - (LOCAL_BYTES + LOCAL_ZIP64_BYTES)) %
					       NPZ_ALIGNMENT >=
				       ZIP_EXTRA_BYTES,
		       "room for the padding's own head");
	if (labels) {
		*npy_bytes = npy_header(npy, "<i8", l->samples, 0);
		m.size = *npy_bytes + l->samples * NPZ_LABEL_BYTES;
		m.offset = l->data_offset + payload_bytes(l);
	} else {
		*npy_bytes = npy_header(npy, "|u1", l->samples, l->sample_bytes);
		m.size = *npy_bytes + payload_bytes(l);
		m.padding = (NPZ_ALIGNMENT - zip_local_bytes(&m) % NPZ_ALIGNMENT) % NPZ_ALIGNMENT;
	}
	return m;
}

static void npz_header(const struct layout *l, uint8_t *out)
{
	uint8_t npy[NPY_HEADER_MAX];
	uint32_t npy_bytes;
	struct zip_member x = npz_member(l, false, npy, &npy_bytes);

	memcpy(zip_put_local(out, &x), npy, npy_bytes);
}

static void npz_trailer(const struct layout *l, uint8_t *out)
{
	const struct npz_sums *sums = LAYOUT_STATE(const struct npz_sums, l);
	uint8_t npy[NPY_HEADER_MAX];
	uint32_t npy_bytes;
	struct zip_member x = npz_member(l, false, npy, &npy_bytes);
	struct zip_member y = npz_member(l, true, npy, &npy_bytes);
	struct zip_end end = {.members = 2,
			      .bytes = zip_row_bytes(&x) + zip_row_bytes(&y),
			      .offset = y.offset + l->gap_at + l->gap_bytes,
			      .zip64 = sums->zip64,
			      .hide_offset = sums->zip64,
			      .made_by_64 = ZIP_VERSION_64};
	uint8_t *at = zip_put_local(out, &y);

	memcpy(at, npy, npy_bytes);
	zip_put_end(zip_put_row(zip_put_row(at + npy_bytes, &x), &y), &end);
}

static void npz_layout(struct layout *l)
{
	struct npz_sums *sums = LAYOUT_STATE(struct npz_sums, l);
	uint8_t npy_x[NPY_HEADER_MAX], npy_y[NPY_HEADER_MAX];
	uint32_t x_bytes = npy_header(npy_x, "|u1", l->samples, l->sample_bytes);
	uint32_t y_bytes = npy_header(npy_y, "<i8", l->samples, 0);
	uint64_t labels = l->samples * NPZ_LABEL_BYTES;
	uint32_t local;

	sums->zip64 = x_bytes + payload_bytes(l) + y_bytes + labels >= ZIP64_FROM - NPZ_HEADERS_MAX;
	sums->block_register = crc32_run(CRC32_START, npy_x, x_bytes);
	sums->x_crc = ~npz_payload_register(l, sums->block_register);
	sums->y_crc = ~crc32_multiply(crc32_run(CRC32_START, npy_y, y_bytes), crc32_zeros(labels));
	sums->directory_bytes = DIRECTORY_BYTES + (sums->zip64 ? DIRECTORY_ZIP64_BYTES : 0);

	local = LOCAL_BYTES + (sums->zip64 ? LOCAL_ZIP64_BYTES : 0);
	l->data_offset = (local + NPZ_ALIGNMENT - 1) / NPZ_ALIGNMENT * NPZ_ALIGNMENT + x_bytes;
	payload_contiguous(l);
	l->gap_at = local + y_bytes;
	l->gap_bytes = labels;
	l->size = l->data_offset + l->data_bytes + l->gap_at + labels + sums->directory_bytes;
}

/* The register after ids first, first + 1, … each followed by zeros up to sample_bytes. Over GF(2)
 * one id takes the register r to r X + f(id), f linear. Of 2^j ids from a multiple b of 2^j it is r
 * X_j + f(b) S_j + C_j, as b + i = b xor i; two such halves make the next j. */
static uint32_t npz_ids_register(uint32_t reg, uint64_t first, uint64_t count,
				 uint64_t sample_bytes)
{
	uint32_t x[ID_BITS], s[ID_BITS], c[ID_BITS];
	uint32_t zeros = crc32_zeros(sample_bytes - ID_BYTES);
	unsigned levels = ID_BITS - (unsigned)__builtin_clzll(count);
	uint8_t bytes[ID_BYTES];

	x[0] = crc32_zeros(sample_bytes);
	s[0] = CRC32_ONE;
	c[0] = 0;
	for (unsigned j = 1; j < levels; j++) {
		uint32_t half;

		put_little(bytes, (uint64_t)1 << (j - 1), ID_BYTES);
		half = crc32_multiply(crc32_run(0, bytes, ID_BYTES), zeros);
		x[j] = crc32_multiply(x[j - 1], x[j - 1]);
		s[j] = crc32_multiply(s[j - 1], x[j - 1] ^ CRC32_ONE);
		c[j] = crc32_multiply(c[j - 1], x[j - 1] ^ CRC32_ONE) ^
		       crc32_multiply(half, s[j - 1]);
	}
	while (count) {
		unsigned j = ID_BITS - 1 - (unsigned)__builtin_clzll(count);
		uint32_t f;

		if (first && (unsigned)__builtin_ctzll(first) < j)
			j = (unsigned)__builtin_ctzll(first);
		put_little(bytes, first, ID_BYTES);
		f = crc32_multiply(crc32_run(0, bytes, ID_BYTES), zeros);
		reg = crc32_multiply(reg, x[j]) ^ crc32_multiply(f, s[j]) ^ c[j];
		first += (uint64_t)1 << j;
		count -= (uint64_t)1 << j;
	}
	return reg;
}

/* Where the four bytes are that fix the CRC of the payload's block which ends at end. */
static uint64_t npz_patch_at(const struct layout *l, uint64_t end)
{
	uint64_t at = end - CRC32_PATCH_BYTES;
	uint64_t into;

	if (l->sample_bytes < ID_BYTES)
		return at;
	into = at % l->sample_bytes;
	if (into + CRC32_PATCH_BYTES > l->sample_bytes) { /* reaches into the next sample's id */
		at -= into + CRC32_PATCH_BYTES - l->sample_bytes;
		into = l->sample_bytes - CRC32_PATCH_BYTES;
	}
	if (into < ID_BYTES) /* in this sample's own id: the end of the sample before is free */
		at -= into + CRC32_PATCH_BYTES;
	return at;
}

static void npz_make_block(const struct layout *l, uint64_t begin, uint64_t bytes, uint8_t *out)
{
	uint32_t block_register = LAYOUT_STATE(const struct npz_sums, l)->block_register;
	uint64_t patch = npz_patch_at(l, begin + bytes) - begin;

	fill(l->key, begin, out, bytes);
	payload_stamp_ids(l, l->sample_bytes, begin, out, bytes);
	crc32_block_patch(out, bytes, patch, block_register, block_register);
}

/* Part of a block. Without the four bytes it needs nothing of the rest. */
static __attribute__((noinline)) void npz_make_part(const struct layout *l, uint64_t begin,
						    uint64_t bytes, uint64_t from, void *out,
						    uint64_t length)
{
	uint64_t patch = npz_patch_at(l, begin + bytes) - begin;
	uint8_t block[CRC32_BLOCK_BYTES];

	if (from + length <= patch || from >= patch + CRC32_PATCH_BYTES) {
		fill(l->key, begin + from, out, length);
		payload_stamp_ids(l, l->sample_bytes, begin + from, out, length);
		return;
	}
	npz_make_block(l, begin, bytes, block);
	memcpy(out, block + from, length);
}

static void npz_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	uint64_t at = offset - l->data_offset;
	uint64_t total = payload_bytes(l);
	uint8_t *out = data;

	if (npz_counted(l)) {
		memset(data, 0, length);
		payload_stamp_ids(l, l->sample_bytes, at, data, length);
		return;
	}
	if (total < CRC32_PATCH_BYTES) {
		fill(l->key, at, data, length);
		return;
	}
	while (length) {
		uint64_t begin, bytes = crc32_block_at(total, at, &begin);
		uint64_t from = at - begin;
		uint64_t n = bytes - from < length ? bytes - from : length;

		if (n == bytes)
			npz_make_block(l, begin, bytes, out);
		else
			npz_make_part(l, begin, bytes, from, out, n);
		out += n;
		at += n;
		length -= n;
	}
}
