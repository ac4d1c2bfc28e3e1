/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg: one grey picture per file (baseline, JFIF), of exactly the size requested, made so that any
 * random byte is a coefficient.
 *
 *   SOI APP0 DQT SOF0 DHT DHT DRI | COM: id, padding | SOS | row, RST0 | row, RST1 | … row, EOI
 *   `---------------- header ------------'`---------------------- data part ----------------'
 *
 * The sample is the file, and the sample's size is the file's. The id is in the first 8 bytes of a
 * comment segment (COM), little-endian: the last 8 bytes of the header. The padding behind it is
 * random too, less than a row of blocks, and makes the size exact.
 *
 * A row is one row of blocks of 8 x 8 pixels, each block 64 bytes. The first byte is the difference
 * between its mean and that of the block before it, the others are the 63 coefficients. The code of
 * a coefficient of s bits is 7 - s ones and a zero, so code and bits together are a byte, and every
 * byte but 0xfe and 0xff is one:
 *
 *   0xxxxxxx  7 bits     10xxxxxx  6 bits     …     1111110x  1 bit
 *
 * Those two are made 0x7e and 0x7f: 7.99 bits of a byte are random, no byte is 0xff, which would
 * have to be stuffed, and each byte can be made on its own. Differences of means have 7 bits and
 * their sign alternates, so that means stay small; a restart marker ends each row.
 *
 * A reader takes the whole file. */
#include <math.h>
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

enum { JPEG_BEGIN, JPEG_MARKER, JPEG_LENGTH, JPEG_SEGMENT, JPEG_SCAN, JPEG_STUFFED, JPEG_END };
enum { SOI = 0xd8, EOI = 0xd9, SOS = 0xda, RST0 = 0xd0, RST7 = 0xd7 };

struct jpeg_walk {
	uint8_t marker; /* of the segment */
	uint8_t bytes[2];
};

/* The second byte of a marker. */
static const char *jpeg_walk_marker(struct walk *w, struct jpeg_walk *s, uint8_t code)
{
	s->marker = code;
	walk_part(w, code == EOI ? JPEG_END : JPEG_LENGTH, 0);
	if (code < 0xc0 || (code >= RST0 && code <= SOI))
		return "has a marker where none may stand";
	return NULL;
}

static const char *jpeg_walk_length(struct walk *w, const struct jpeg_walk *s)
{
	uint64_t n = walk_big(s->bytes, 2);

	if (n < 2)
		return "a segment is shorter than its length";
	walk_part(w, n > 2 ? JPEG_SEGMENT : s->marker == SOS ? JPEG_SCAN : JPEG_MARKER, n - 2);
	return NULL;
}

/* Coded data, as far as the piece goes. */
static void jpeg_walk_scan(struct walk *w, struct walk_piece *p)
{
	const uint8_t *found = memchr(p->at, 0xff, p->left);
	uint64_t n = found ? (uint64_t)(found - p->at) + 1 : p->left;

	p->at += n;
	p->left -= n;
	if (found)
		w->part = JPEG_STUFFED;
}

static const char *jpeg_walk_stuffed(struct walk *w, struct jpeg_walk *s, struct walk_piece *p)
{
	uint8_t code = *p->at++;

	p->left--;
	if (code == 0xff)
		return NULL;
	w->part = JPEG_SCAN;
	if (code == 0 || (code >= RST0 && code <= RST7))
		return NULL;
	return jpeg_walk_marker(w, s, code);
}

/* Two bytes that have come. */
static const char *jpeg_walk_gathered(struct walk *w, struct jpeg_walk *s)
{
	if (w->part == JPEG_LENGTH)
		return jpeg_walk_length(w, s);
	if (w->part == JPEG_MARKER)
		return s->bytes[0] == 0xff ? jpeg_walk_marker(w, s, s->bytes[1])
					   : "has no marker behind a segment";
	walk_part(w, JPEG_MARKER, 0);
	return s->bytes[0] == 0xff && s->bytes[1] == SOI ? NULL : "does not begin with SOI";
}

static const char *jpeg_walk_take(struct walk *w, struct walk_piece *p)
{
	struct jpeg_walk *s = WALK_STATE(struct jpeg_walk, w);
	const char *wrong = NULL;
	const uint8_t *span;

	while (!wrong && p->left) {
		switch (w->part) {
		case JPEG_BEGIN:
		case JPEG_MARKER:
		case JPEG_LENGTH:
			if (walk_gather(w, p, s->bytes, sizeof(s->bytes), 2))
				wrong = jpeg_walk_gathered(w, s);
			break;
		case JPEG_SEGMENT:
			walk_span(w, p, &span);
			if (!w->left)
				walk_part(w, s->marker == SOS ? JPEG_SCAN : JPEG_MARKER, 0);
			break;
		case JPEG_SCAN:
			jpeg_walk_scan(w, p);
			break;
		case JPEG_STUFFED:
			wrong = jpeg_walk_stuffed(w, s, p);
			break;
		default:
			return "goes on behind EOI";
		}
	}
	return wrong;
}

static const char *jpeg_walk_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == JPEG_END ? NULL : "ends before EOI";
}

static const struct walk_ops jpeg_walk = {jpeg_walk_take, jpeg_walk_end, true};

enum {
	JPEG_BLOCK = 64,
	BLOCK_SIDE = 8,
	MARKER_BYTES = 2,
	SOS_BYTES = 10,
	APP0_BYTES = 18,
	DQT_BYTES = 69,
	SOF_BYTES = 13,
	DHT_DC_BYTES = 22,
	DHT_AC_BYTES = 28,
	DRI_BYTES = 6,
	COM_BYTES = 4 + ID_BYTES,
	JPEG_HEADER_BYTES = MARKER_BYTES + APP0_BYTES + DQT_BYTES + SOF_BYTES + DHT_DC_BYTES +
			    DHT_AC_BYTES + DRI_BYTES + COM_BYTES,
	JPEG_FIXED_BYTES = JPEG_HEADER_BYTES + SOS_BYTES,
	JPEG_WIDTH_MAX = 1000, /* blocks: a row fits into a comment, whose length is 16 bits */
	JPEG_SIZE_MIN = JPEG_FIXED_BYTES + JPEG_BLOCK + MARKER_BYTES,
	RESTARTS = 8
};
/* In each byte. */
#define TOP_BITS UINT64_C(0x8080808080808080)
#define LOW_BITS UINT64_C(0x0101010101010101)

static int jpeg_check(const void *options, uint64_t samples, uint64_t smallest, uint64_t largest,
		      struct err *err);
static void jpeg_layout(struct layout *l);
static void jpeg_make_header(const struct layout *l, uint8_t *out);
static void jpeg_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

const struct format_ops format_jpeg = {
	.magic = {.bytes = "\xff\xd8\xff", .count = 3},
	.check = jpeg_check,
	.layout = jpeg_layout,
	.extents = payload_whole_file,
	.header = jpeg_make_header,
	.payload = jpeg_payload,
	.walk = &jpeg_walk,
	.count = picture_count,
};

/* Width and height in blocks of 8 x 8; bytes of the padding behind the id. */
struct jpeg_shape {
	uint64_t width, height, padding;
};

static int jpeg_check(const void *options, uint64_t samples, uint64_t smallest, uint64_t largest,
		      struct err *err)
{
	(void)options;
	return picture_check("jpeg", samples, smallest, largest, JPEG_SIZE_MIN, err);
}

static void jpeg_layout(struct layout *l)
{
	struct jpeg_shape *shape = LAYOUT_STATE(struct jpeg_shape, l);
	uint64_t room = l->sample_bytes - JPEG_FIXED_BYTES;
	double width = sqrt((double)room / JPEG_BLOCK);

	shape->width = width < JPEG_WIDTH_MAX ? (uint64_t)width : JPEG_WIDTH_MAX;
	shape->height = room / (shape->width * JPEG_BLOCK + MARKER_BYTES);
	shape->padding = room - shape->height * (shape->width * JPEG_BLOCK + MARKER_BYTES);
	picture_layout(l, JPEG_HEADER_BYTES);
}

static uint8_t *jpeg_put_segment(uint8_t *at, uint8_t marker, uint64_t bytes)
{
	*at++ = 0xff;
	*at++ = marker;
	return put_big(at, bytes - MARKER_BYTES, 2);
}

/* A code table of count codes, one of each length from 1 on, for the symbols in their order. */
static uint8_t *jpeg_put_codes(uint8_t *at, uint8_t table, unsigned bytes, const uint8_t *symbols,
			       unsigned count)
{
	at = jpeg_put_segment(at, 0xc4, bytes);
	*at++ = table;
	for (unsigned i = 0; i < 16; i++)
		*at++ = i < count;
	memcpy(at, symbols, count);
	return at + count;
}

static uint8_t *jpeg_put_tables(uint8_t *at)
{
	static const uint8_t bits[] = {7, 6, 5, 4, 3, 2, 1};

	at = jpeg_put_segment(at, 0xdb, DQT_BYTES);
	*at++ = 0;
	memset(at, 1, JPEG_BLOCK);
	at = jpeg_put_codes(at + JPEG_BLOCK, 0x00, DHT_DC_BYTES, bits, 1);
	return jpeg_put_codes(at, 0x10, DHT_AC_BYTES, bits, sizeof(bits));
}

static void jpeg_make_header(const struct layout *l, uint8_t *out)
{
	const struct jpeg_shape *shape = LAYOUT_STATE(const struct jpeg_shape, l);
	uint8_t *at = put_big(out, 0xffd8, MARKER_BYTES);

	at = jpeg_put_segment(at, 0xe0, APP0_BYTES);
	memcpy(at, "JFIF\0\1\1\0\0\1\0\1\0\0", APP0_BYTES - 4);
	at = jpeg_put_tables(at + APP0_BYTES - 4);
	at = jpeg_put_segment(at, 0xc0, SOF_BYTES);
	*at++ = 8; /* bits */
	at = put_big(at, shape->height * BLOCK_SIDE, 2);
	at = put_big(at, shape->width * BLOCK_SIDE, 2);
	at = put_big(at, 0x01011100, 4); /* one component, 1, sampled 1 x 1, table 0 */
	at = jpeg_put_segment(at, 0xdd, DRI_BYTES);
	at = put_big(at, shape->width, 2);
	at = jpeg_put_segment(at, 0xfe, COM_BYTES + shape->padding);
	put_little(at, l->first_id, ID_BYTES);
}

/* 0xfe and 0xff become 0x7e and 0x7f: in eight bytes at once, a byte of "ones" is 0 where all but
 * the lowest bit are set. */
static void jpeg_clear_tops(uint8_t *out, uint64_t length)
{
	uint64_t i = 0, word, ones;

	for (; i + 8 <= length; i += 8) {
		memcpy(&word, out + i, 8);
		ones = ~word & ~LOW_BITS;
		ones = ((ones & ~TOP_BITS) + ~TOP_BITS) | ones; /* top bit: not 0 */
		word ^= ~ones & TOP_BITS;
		memcpy(out + i, &word, 8);
	}
	for (; i < length; i++)
		if (out[i] >= 0xfe)
			out[i] ^= 0x80;
}

/* Bytes [at, at + length) of a row's blocks; stream is where the row begins in the key's stream. */
static void jpeg_make_blocks(const struct layout *l, uint64_t stream, uint64_t at, uint8_t *out,
			     uint64_t length)
{
	fill(l->key, stream + at, out, length);
	jpeg_clear_tops(out, length);
	for (uint64_t i = (JPEG_BLOCK - at % JPEG_BLOCK) % JPEG_BLOCK; i < length;
	     i += JPEG_BLOCK) {
		bool odd = (at + i) / JPEG_BLOCK % 2;

		out[i] = (uint8_t)((out[i] & 0x3f) | (odd ? 0 : 0x40));
	}
}

/* At most length bytes of the scan from position at. Returns how many. */
static uint64_t jpeg_make_scan(const struct layout *l, uint64_t at, uint8_t *out, uint64_t length)
{
	const struct jpeg_shape *shape = LAYOUT_STATE(const struct jpeg_shape, l);
	uint64_t blocks = shape->width * JPEG_BLOCK, row = at / (blocks + MARKER_BYTES);
	uint8_t marker[MARKER_BYTES] = {0xff, (uint8_t)(0xd0 + row % RESTARTS)};
	uint64_t n;

	at %= blocks + MARKER_BYTES;
	if (at < blocks) {
		n = blocks - at < length ? blocks - at : length;
		jpeg_make_blocks(l, row * blocks, at, out, n);
		return n;
	}
	if (row + 1 == shape->height)
		marker[1] = 0xd9;
	at -= blocks;
	n = MARKER_BYTES - at < length ? MARKER_BYTES - at : length;
	memcpy(out, marker + at, n);
	return n;
}

static void jpeg_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	static const uint8_t sos[SOS_BYTES] = {0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0};
	uint64_t at = offset - l->data_offset;
	uint64_t padding = LAYOUT_STATE(const struct jpeg_shape, l)->padding;
	uint8_t *out = data;

	while (length) {
		uint64_t n;

		if (at < padding) {
			n = padding - at < length ? padding - at : length;
			fill(l->key, PICTURE_PADDING_STREAM + at, out, n);
		} else if (at - padding < SOS_BYTES) {
			n = padding + SOS_BYTES - at;
			n = n < length ? n : length;
			memcpy(out, sos + (at - padding), n);
		} else {
			n = jpeg_make_scan(l, at - padding - SOS_BYTES, out, length);
		}
		out += n;
		at += n;
		length -= n;
	}
}
