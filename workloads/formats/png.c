/* png: one picture of red, green and blue a file, of exactly the size asked for, its pixels
 * random and stored, not compressed.
 *
 *   signature, IHDR | haUl: id u64, padding | IDAT: zlib head | IDAT … | IDAT: Adler-32 | IEND
 *   0                 33   41                                  each one stored block of 8 KiB
 *   `--------------- header --------'`------------------- data part ------------------------'
 *
 * The sample is the file: its size is that of the sample. Its id stands, little-endian, in the
 * first 8 bytes of a private chunk, haUl, at position 41 of the file. The padding behind it,
 * random too, is less than a row of pixels and makes the size exact.
 *
 * The data part consists of pieces with a checksum each, at most PIECE_MAX bytes, made on their
 * own. Only the Adler-32 sums all: a range with bytes of it that does not begin before the first
 * block makes the pixels once more.
 *
 * A reader takes the file whole. */
#include <math.h>
#include <string.h>

#include <isa-l/igzip_lib.h>

#include "core/content/fill.h"
#include "workloads/formats/crc32.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

enum {
	CHUNK_BYTES = 12, /* of a PNG chunk beside its data: length, type, CRC-32 */
	CRC_BYTES = 4,
	TYPE_BYTES = 4,
	IHDR_BYTES = 13,
	SIGNATURE_BYTES = 8,
	PADDING_AT = SIGNATURE_BYTES + CHUNK_BYTES + IHDR_BYTES, /* of its chunk */
	ZLIB_HEAD_BYTES = 2,
	ADLER_BYTES = 4,
	STORED_HEAD_BYTES = 5, /* of a stored deflate block */
	BLOCK = 8 << 10,       /* of pixels; libpng's own size of a chunk */
	BLOCK_EXTRA = CHUNK_BYTES + STORED_HEAD_BYTES,
	FIXED_BYTES = PADDING_AT + CHUNK_BYTES + ID_BYTES + CHUNK_BYTES + ZLIB_HEAD_BYTES +
		      CHUNK_BYTES + ADLER_BYTES + CHUNK_BYTES,
	PIXEL_BYTES = 3,
	WIDTH_MAX = 2730, /* a row, and so the padding, is at most a block */
	SIZE_MIN = FIXED_BYTES + BLOCK_EXTRA + 1 + PIXEL_BYTES,
	PIECE_MAX = BLOCK + 64
};

static int png_check(const struct format_options *options, uint64_t samples, uint64_t least,
		     uint64_t largest, struct err *err);
static void png_layout(struct layout *l);
static void png_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

const struct format_ops format_png = {
	.name = "png",
	.help = "one picture a file, of exactly the sample's size, stored",
	.begins = "\x89PNG\r\n\x1a\n",
	.begins_bytes = 8,
	.unit = PIECE_MAX,
	.check = png_check,
	.layout = png_layout,
	.extents = payload_whole_file,
	.payload = png_payload,
	.walk = walk_png,
	.walk_end = walk_png_end,
};

static int png_check(const struct format_options *options, uint64_t samples, uint64_t least,
		     uint64_t largest, struct err *err)
{
	(void)options;
	return payload_check_picture("png", samples, least, largest, SIZE_MIN, err);
}

/* The data part's pieces: the padding with the zlib head; blocks; the end. */
struct pieces {
	uint64_t row_bytes, pixel_bytes, blocks;
	uint64_t padding, blocks_at, end_at; /* positions in the file */
};

static struct pieces pieces_of(const struct layout *l)
{
	struct pieces p = {.row_bytes = 1 + (uint64_t)l->width * PIXEL_BYTES};

	p.pixel_bytes = p.row_bytes * l->height;
	p.blocks = (p.pixel_bytes + BLOCK - 1) / BLOCK;
	p.padding = l->size - FIXED_BYTES - p.pixel_bytes - p.blocks * BLOCK_EXTRA;
	p.blocks_at = l->data_offset + p.padding + CRC_BYTES + CHUNK_BYTES + ZLIB_HEAD_BYTES;
	p.end_at = p.blocks_at + p.pixel_bytes + p.blocks * BLOCK_EXTRA;
	return p;
}

/* Nearly as wide as high, and as many rows as there is room for. */
static void choose_shape(struct layout *l)
{
	uint64_t room = l->size - FIXED_BYTES;
	uint64_t width = (uint64_t)sqrt((double)(room - BLOCK_EXTRA) / PIXEL_BYTES);
	uint64_t pixel_bytes = room / (BLOCK + BLOCK_EXTRA) * BLOCK;
	uint64_t rest = room % (BLOCK + BLOCK_EXTRA);

	if (rest > BLOCK_EXTRA)
		pixel_bytes += rest - BLOCK_EXTRA;
	width = width < 1 ? 1 : width > WIDTH_MAX ? WIDTH_MAX : width;
	l->width = (uint32_t)width;
	l->height = (uint32_t)(pixel_bytes / (1 + width * PIXEL_BYTES));
}

/* A chunk's length and type; its data follows. */
static uint8_t *put_chunk(uint8_t *at, const char type[TYPE_BYTES + 1], uint64_t length)
{
	at = put_big(at, length, 4);
	memcpy(at, type, TYPE_BYTES);
	return at + TYPE_BYTES;
}

/* The CRC-32 of the chunk whose data, of that length, ends here. */
static uint8_t *put_crc(uint8_t *end, uint64_t length)
{
	uint32_t reg =
		crc32_run(CRC32_START, end - length - TYPE_BYTES, (size_t)length + TYPE_BYTES);

	return put_big(end, ~reg, CRC_BYTES);
}

static void png_layout(struct layout *l)
{
	uint8_t *at = l->header;

	l->size = l->sample_bytes;
	choose_shape(l);
	memcpy(at, "\x89PNG\r\n\x1a\n", SIGNATURE_BYTES);
	at = put_chunk(at + SIGNATURE_BYTES, "IHDR", IHDR_BYTES);
	at = put_big(at, l->width, 4);
	at = put_big(at, l->height, 4);
	*at++ = 8; /* bits a colour */
	*at++ = 2; /* red, green, blue */
	at = put_little(at, 0, 3);
	at = put_crc(at, IHDR_BYTES);
	l->data_offset = PADDING_AT + CHUNK_BYTES - CRC_BYTES + ID_BYTES;
	at = put_chunk(at, "haUl", ID_BYTES + pieces_of(l).padding);
	at = put_little(at, l->first_id, ID_BYTES);

	l->header_bytes = (uint32_t)(at - l->header);
	l->data_bytes = l->size - l->data_offset;
	l->stride = l->size;
	l->id_at = l->data_offset - ID_BYTES;
	l->id_bytes = ID_BYTES;
	l->trailer_bytes = 0;
	l->gap_at = 0;
	l->gap_bytes = 0;
}

/* The padding, behind the id, and the zlib head. */
static void make_padding(const struct layout *l, const struct pieces *p, uint8_t *out)
{
	uint32_t reg =
		crc32_run(CRC32_START, l->header + PADDING_AT + 4, (size_t)TYPE_BYTES + ID_BYTES);

	fill(l->key, PICTURE_PADDING_STREAM, out, p->padding);
	reg = crc32_run(reg, out, p->padding);
	out = put_big(out + p->padding, ~reg, CRC_BYTES);
	out = put_chunk(out, "IDAT", ZLIB_HEAD_BYTES);
	out = put_big(out, 0x7801, ZLIB_HEAD_BYTES);
	put_crc(out, ZLIB_HEAD_BYTES);
}

/* Pixels as deflate sees them: each row begins with its filter, 0. */
static void make_pixels(const struct layout *l, const struct pieces *p, uint64_t at, uint8_t *out,
			uint64_t length)
{
	fill(l->key, at, out, length);
	for (uint64_t i = (p->row_bytes - at % p->row_bytes) % p->row_bytes; i < length;
	     i += p->row_bytes)
		out[i] = 0;
}

static uint64_t block_bytes(const struct pieces *p, uint64_t block)
{
	uint64_t rest = p->pixel_bytes - block * BLOCK;

	return rest < BLOCK ? rest : BLOCK;
}

/* The Adler-32 of the pixels so far, one block after the other from the first. */
struct running {
	uint64_t next;
	uint32_t adler;
};

static void sum_block(const struct pieces *p, uint64_t block, const uint8_t *pixels,
		      struct running *sum)
{
	if (block == 0)
		*sum = (struct running){.adler = 1};
	if (block != sum->next)
		return;
	sum->adler = isal_adler32(sum->adler, pixels, block_bytes(p, block));
	sum->next++;
}

static void make_block(const struct layout *l, const struct pieces *p, uint64_t block, uint8_t *out,
		       struct running *sum)
{
	uint64_t bytes = block_bytes(p, block);

	out = put_chunk(out, "IDAT", bytes + STORED_HEAD_BYTES);
	*out++ = block + 1 == p->blocks;
	out = put_little(out, bytes, 2);
	out = put_little(out, ~bytes, 2);
	make_pixels(l, p, block * BLOCK, out, bytes);
	sum_block(p, block, out, sum);
	put_crc(out + bytes, bytes + STORED_HEAD_BYTES);
}

static void sum_again(const struct layout *l, const struct pieces *p, struct running *sum)
{
	uint8_t pixels[BLOCK];

	for (uint64_t block = 0; block < p->blocks; block++) {
		make_pixels(l, p, block * BLOCK, pixels, block_bytes(p, block));
		sum_block(p, block, pixels, sum);
	}
}

static void make_end(const struct layout *l, const struct pieces *p, uint8_t *out,
		     struct running *sum)
{
	if (sum->next != p->blocks)
		sum_again(l, p, sum);
	out = put_chunk(out, "IDAT", ADLER_BYTES);
	out = put_big(out, sum->adler, ADLER_BYTES);
	out = put_crc(out, ADLER_BYTES);
	put_crc(put_chunk(out, "IEND", 0), 0);
}

/* The piece that holds position at of the file: returns how long it is. */
static uint64_t piece_at(const struct layout *l, const struct pieces *p, uint64_t at,
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
	block = (at - p->blocks_at) / (BLOCK + BLOCK_EXTRA);
	*begin = p->blocks_at + block * (BLOCK + BLOCK_EXTRA);
	return block_bytes(p, block) + BLOCK_EXTRA;
}

static void make_piece(const struct layout *l, const struct pieces *p, uint64_t begin, uint8_t *out,
		       struct running *sum)
{
	if (begin == l->data_offset)
		make_padding(l, p, out);
	else if (begin == p->end_at)
		make_end(l, p, out, sum);
	else
		make_block(l, p, (begin - p->blocks_at) / (BLOCK + BLOCK_EXTRA), out, sum);
}

static void png_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	struct pieces p = pieces_of(l);
	struct running sum = {.next = UINT64_MAX};
	uint8_t part[PIECE_MAX];
	uint8_t *out = data;

	while (length) {
		uint64_t begin, bytes = piece_at(l, &p, offset, &begin);
		uint64_t from = offset - begin;
		uint64_t n = bytes - from < length ? bytes - from : length;

		make_piece(l, &p, begin, n == bytes ? out : part, &sum);
		if (n != bytes)
			memcpy(out, part + from, n);
		out += n;
		offset += n;
		length -= n;
	}
}
