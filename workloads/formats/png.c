/* SPDX-License-Identifier: Apache-2.0 */
/* png: one picture of red, green and blue per file, of exactly the size requested. Its pixels are
 * random and stored, not compressed.
 *
 *   signature, IHDR | haUl: id u64, padding | IDAT: zlib head | IDAT … | IDAT: Adler-32 | IEND
 *   0                 33   41                                  each one stored block of 8 KiB
 *   `--------------- header --------'`------------------- data part ------------------------'
 *
 * The sample is the file, and the sample's size is the file's. The id is in the first 8 bytes of a
 * private chunk, haUl, little-endian, at position 41 of the file. The padding behind it is random
 * too, less than a row of pixels, and makes the size exact.
 *
 * The data part consists of pieces of at most PIECE_MAX bytes with a checksum each, made on their
 * own. Only the Adler-32 covers all pixels: a range that holds bytes of it and does not begin
 * before the first block makes the pixels once more.
 *
 * A reader takes the whole file. */
#include <isa-l/igzip_lib.h>
#include <math.h>
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/crc32.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

enum { PNG_SIGNATURE, PNG_HEAD, PNG_DATA, PNG_SUM, PNG_END };
#define CHUNK_MAX 0x7fffffffu

struct png_walk {
	uint32_t chunks;
	uint32_t sum; /* of the chunk, so far */
	bool last;    /* the chunk is IEND */
	uint8_t bytes[8];
};

static const char *png_walk_head(struct walk *w, struct png_walk *s)
{
	uint64_t length = walk_big(s->bytes, 4);
	const uint8_t *type = s->bytes + 4;
	bool first = s->chunks == 0;

	for (unsigned i = 0; i < 4; i++)
		if ((type[i] | 32) < 'a' || (type[i] | 32) > 'z')
			return "a chunk's type is not a word";
	if (length > CHUNK_MAX)
		return "a chunk is longer than chunks can be";
	if (first != (memcmp(type, "IHDR", 4) == 0) || (first && length != 13))
		return "does not begin with one IHDR chunk";
	s->last = memcmp(type, "IEND", 4) == 0;
	s->sum = crc32_run(CRC32_START, type, 4);
	s->chunks = 1;
	walk_part(w, PNG_DATA, length);
	return NULL;
}

static const char *png_walk_sum(struct walk *w, const struct png_walk *s)
{
	walk_part(w, s->last ? PNG_END : PNG_HEAD, 0);
	return walk_big(s->bytes, 4) == (uint32_t)~s->sum
		       ? NULL
		       : "a chunk's CRC is not that of its bytes";
}

static const char *png_walk_take(struct walk *w, struct walk_piece *p)
{
	struct png_walk *s = WALK_STATE(struct png_walk, w);
	const char *wrong = NULL;
	const uint8_t *span;
	uint64_t n;

	while (!wrong && (p->left || (w->part == PNG_DATA && !w->left))) {
		switch (w->part) {
		case PNG_SIGNATURE:
			if (!walk_gather(w, p, s->bytes, sizeof(s->bytes), 8))
				break;
			if (memcmp(s->bytes, "\x89PNG\r\n\x1a\n", 8) != 0)
				wrong = "has no PNG signature";
			walk_part(w, PNG_HEAD, 0);
			break;
		case PNG_HEAD:
			if (walk_gather(w, p, s->bytes, sizeof(s->bytes), 8))
				wrong = png_walk_head(w, s);
			break;
		case PNG_DATA:
			n = walk_span(w, p, &span);
			s->sum = crc32_run(s->sum, span, n);
			if (!w->left)
				walk_part(w, PNG_SUM, 0);
			break;
		case PNG_SUM:
			if (walk_gather(w, p, s->bytes, sizeof(s->bytes), 4))
				wrong = png_walk_sum(w, s);
			break;
		default:
			return "goes on behind IEND";
		}
	}
	return wrong;
}

static const char *png_walk_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == PNG_END ? NULL : "ends before IEND";
}

static const struct walk_ops png_walk = {png_walk_take, png_walk_end, true};

enum {
	PNG_CHUNK_BYTES = 12, /* of a PNG chunk beside its data: length, type, CRC-32 */
	PNG_CRC_BYTES = 4,
	TYPE_BYTES = 4,
	IHDR_BYTES = 13,
	SIGNATURE_BYTES = 8,
	PADDING_AT = SIGNATURE_BYTES + PNG_CHUNK_BYTES + IHDR_BYTES, /* of its chunk */
	ZLIB_HEAD_BYTES = 2,
	ADLER_BYTES = 4,
	STORED_HEAD_BYTES = 5, /* of a stored deflate block */
	PNG_BLOCK = 8 << 10,   /* of pixels; libpng's own size of a chunk */
	BLOCK_EXTRA = PNG_CHUNK_BYTES + STORED_HEAD_BYTES,
	PNG_FIXED_BYTES = PADDING_AT + PNG_CHUNK_BYTES + ID_BYTES + PNG_CHUNK_BYTES +
			  ZLIB_HEAD_BYTES + PNG_CHUNK_BYTES + ADLER_BYTES + PNG_CHUNK_BYTES,
	PIXEL_BYTES = 3,
	PNG_WIDTH_MAX = 2730, /* a row, and so the padding, is at most a block */
	PNG_HEADER_BYTES = PADDING_AT + PNG_CHUNK_BYTES - PNG_CRC_BYTES + ID_BYTES,
	PNG_SIZE_MIN = PNG_FIXED_BYTES + BLOCK_EXTRA + 1 + PIXEL_BYTES,
	PIECE_MAX = PNG_BLOCK + 64
};

static int png_check(const void *options, uint64_t samples, uint64_t smallest, uint64_t largest,
		     struct err *err);
static void png_layout(struct layout *l);
static void png_make_header(const struct layout *l, uint8_t *out);
static void png_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

const struct format_ops format_png = {
	.magic = {.bytes = "\x89PNG\r\n\x1a\n", .count = 8},
	.check = png_check,
	.layout = png_layout,
	.extents = payload_whole_file,
	.header = png_make_header,
	.payload = png_payload,
	.walk = &png_walk,
	.count = picture_count,
};

/* In pixels. */
struct png_shape {
	uint64_t width, height;
};

static int png_check(const void *options, uint64_t samples, uint64_t smallest, uint64_t largest,
		     struct err *err)
{
	(void)options;
	return picture_check("png", samples, smallest, largest, PNG_SIZE_MIN, err);
}

/* The data part's pieces: the padding with the zlib head; blocks; the end. */
struct png_pieces {
	uint64_t row_bytes, pixel_bytes, blocks;
	uint64_t padding, blocks_at, end_at; /* positions in the file */
};

static struct png_pieces png_pieces_of(const struct layout *l)
{
	const struct png_shape *shape = LAYOUT_STATE(const struct png_shape, l);
	struct png_pieces p = {.row_bytes = 1 + shape->width * PIXEL_BYTES};

	p.pixel_bytes = p.row_bytes * shape->height;
	p.blocks = (p.pixel_bytes + PNG_BLOCK - 1) / PNG_BLOCK;
	p.padding = l->size - PNG_FIXED_BYTES - p.pixel_bytes - p.blocks * BLOCK_EXTRA;
	p.blocks_at =
		l->data_offset + p.padding + PNG_CRC_BYTES + PNG_CHUNK_BYTES + ZLIB_HEAD_BYTES;
	p.end_at = p.blocks_at + p.pixel_bytes + p.blocks * BLOCK_EXTRA;
	return p;
}

/* Nearly as wide as high, and as many rows as there is room for. */
static void png_layout(struct layout *l)
{
	struct png_shape *shape = LAYOUT_STATE(struct png_shape, l);
	uint64_t room = l->sample_bytes - PNG_FIXED_BYTES;
	uint64_t width = (uint64_t)sqrt((double)(room - BLOCK_EXTRA) / PIXEL_BYTES);
	uint64_t pixel_bytes = room / (PNG_BLOCK + BLOCK_EXTRA) * PNG_BLOCK;
	uint64_t rest = room % (PNG_BLOCK + BLOCK_EXTRA);

	if (rest > BLOCK_EXTRA)
		pixel_bytes += rest - BLOCK_EXTRA;
	shape->width = width < 1 ? 1 : width > PNG_WIDTH_MAX ? PNG_WIDTH_MAX : width;
	shape->height = pixel_bytes / (1 + shape->width * PIXEL_BYTES);
	picture_layout(l, PNG_HEADER_BYTES);
}

/* A chunk's length and type; its data follows. */
static uint8_t *png_put_chunk(uint8_t *at, const char type[TYPE_BYTES + 1], uint64_t length)
{
	at = put_big(at, length, 4);
	memcpy(at, type, TYPE_BYTES);
	return at + TYPE_BYTES;
}

/* The CRC-32 of the chunk whose data, of that length, ends here. */
static uint8_t *png_put_crc(uint8_t *end, uint64_t length)
{
	uint32_t reg =
		crc32_run(CRC32_START, end - length - TYPE_BYTES, (size_t)length + TYPE_BYTES);

	return put_big(end, ~reg, PNG_CRC_BYTES);
}

/* Begins the chunk with id and padding. */
static uint8_t *png_put_id(uint8_t *at, const struct layout *l, const struct png_pieces *p)
{
	at = png_put_chunk(at, "haUl", ID_BYTES + p->padding);
	return put_little(at, l->first_id, ID_BYTES);
}

static void png_make_header(const struct layout *l, uint8_t *out)
{
	const struct png_shape *shape = LAYOUT_STATE(const struct png_shape, l);
	struct png_pieces p = png_pieces_of(l);
	uint8_t *at = out + SIGNATURE_BYTES;

	memcpy(out, "\x89PNG\r\n\x1a\n", SIGNATURE_BYTES);
	at = png_put_chunk(at, "IHDR", IHDR_BYTES);
	at = put_big(at, shape->width, 4);
	at = put_big(at, shape->height, 4);
	*at++ = 8; /* bits per colour */
	*at++ = 2; /* red, green, blue */
	at = put_little(at, 0, 3);
	png_put_id(png_put_crc(at, IHDR_BYTES), l, &p);
}

/* The padding, behind the id, and the zlib head. */
static void png_make_padding(const struct layout *l, const struct png_pieces *p, uint8_t *out)
{
	uint8_t id[PNG_CHUNK_BYTES - PNG_CRC_BYTES + ID_BYTES];
	uint32_t reg;

	png_put_id(id, l, p);
	reg = crc32_run(CRC32_START, id + 4, (size_t)TYPE_BYTES + ID_BYTES);
	fill(l->key, PICTURE_PADDING_STREAM, out, p->padding);
	reg = crc32_run(reg, out, p->padding);
	out = put_big(out + p->padding, ~reg, PNG_CRC_BYTES);
	out = png_put_chunk(out, "IDAT", ZLIB_HEAD_BYTES);
	out = put_big(out, 0x7801, ZLIB_HEAD_BYTES);
	png_put_crc(out, ZLIB_HEAD_BYTES);
}

/* Pixels as deflate sees them: each row begins with its filter, 0. */
static void png_make_pixels(const struct layout *l, const struct png_pieces *p, uint64_t at,
			    uint8_t *out, uint64_t length)
{
	fill(l->key, at, out, length);
	for (uint64_t i = (p->row_bytes - at % p->row_bytes) % p->row_bytes; i < length;
	     i += p->row_bytes)
		out[i] = 0;
}

static uint64_t png_block_bytes(const struct png_pieces *p, uint64_t block)
{
	uint64_t rest = p->pixel_bytes - block * PNG_BLOCK;

	return rest < PNG_BLOCK ? rest : PNG_BLOCK;
}

/* The Adler-32 of the pixels so far, one block after the other from the first. */
struct png_sum {
	uint64_t next;
	uint32_t adler;
};

static void png_sum_block(const struct png_pieces *p, uint64_t block, const uint8_t *pixels,
			  struct png_sum *sum)
{
	if (block == 0)
		*sum = (struct png_sum){.adler = 1};
	if (block != sum->next)
		return;
	sum->adler = isal_adler32(sum->adler, pixels, png_block_bytes(p, block));
	sum->next++;
}

static void png_make_block(const struct layout *l, const struct png_pieces *p, uint64_t block,
			   uint8_t *out, struct png_sum *sum)
{
	uint64_t bytes = png_block_bytes(p, block);

	out = png_put_chunk(out, "IDAT", bytes + STORED_HEAD_BYTES);
	*out++ = block + 1 == p->blocks;
	out = put_little(out, bytes, 2);
	out = put_little(out, ~bytes, 2);
	png_make_pixels(l, p, block * PNG_BLOCK, out, bytes);
	png_sum_block(p, block, out, sum);
	png_put_crc(out + bytes, bytes + STORED_HEAD_BYTES);
}

static void png_sum_again(const struct layout *l, const struct png_pieces *p, struct png_sum *sum)
{
	uint8_t pixels[PNG_BLOCK];

	for (uint64_t block = 0; block < p->blocks; block++) {
		png_make_pixels(l, p, block * PNG_BLOCK, pixels, png_block_bytes(p, block));
		png_sum_block(p, block, pixels, sum);
	}
}

static void png_make_end(const struct layout *l, const struct png_pieces *p, uint8_t *out,
			 struct png_sum *sum)
{
	if (sum->next != p->blocks)
		png_sum_again(l, p, sum);
	out = png_put_chunk(out, "IDAT", ADLER_BYTES);
	out = put_big(out, sum->adler, ADLER_BYTES);
	out = png_put_crc(out, ADLER_BYTES);
	png_put_crc(png_put_chunk(out, "IEND", 0), 0);
}

/* The piece that holds position at of the file: returns how long it is. */
static uint64_t png_piece_at(const struct layout *l, const struct png_pieces *p, uint64_t at,
			     uint64_t *begin)
{
	uint64_t block;

	if (at < p->blocks_at) {
		*begin = l->data_offset;
		return p->blocks_at - *begin;
	}
	if (at >= p->end_at) {
		*begin = p->end_at;
		return l->size - *begin;
	}
	block = (at - p->blocks_at) / (PNG_BLOCK + BLOCK_EXTRA);
	*begin = p->blocks_at + block * (PNG_BLOCK + BLOCK_EXTRA);
	return png_block_bytes(p, block) + BLOCK_EXTRA;
}

static void png_make_piece(const struct layout *l, const struct png_pieces *p, uint64_t begin,
			   uint8_t *out, struct png_sum *sum)
{
	if (begin == l->data_offset)
		png_make_padding(l, p, out);
	else if (begin == p->end_at)
		png_make_end(l, p, out, sum);
	else
		png_make_block(l, p, (begin - p->blocks_at) / (PNG_BLOCK + BLOCK_EXTRA), out, sum);
}

static void png_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	struct png_pieces p = png_pieces_of(l);
	struct png_sum sum = {.next = UINT64_MAX};
	uint8_t part[PIECE_MAX];
	uint8_t *out = data;

	while (length) {
		uint64_t begin, bytes = png_piece_at(l, &p, offset, &begin);
		uint64_t from = offset - begin;
		uint64_t n = bytes - from < length ? bytes - from : length;

		png_make_piece(l, &p, begin, n == bytes ? out : part, &sum);
		if (n != bytes)
			memcpy(out, part + from, n);
		out += n;
		offset += n;
		length -= n;
	}
}
