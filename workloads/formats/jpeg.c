/* jpeg: one grey picture a file (baseline, JFIF), of exactly the size asked for, made so that
 * any random byte is a coefficient.
 *
 *   SOI APP0 DQT SOF0 DHT DHT DRI | COM: id, padding | SOS | row, RST0 | row, RST1 | … row, EOI
 *   `---------------- header ------------'`---------------------- data part ----------------'
 *
 * The sample is the file: its size is that of the sample. Its id stands, little-endian, in the
 * first 8 bytes of a comment segment (COM), the last 8 bytes of the header. The padding behind
 * it, random too, is less than a row of blocks and makes the size exact.
 *
 * A row is one row of blocks of 8 x 8, each block 64 bytes. The first byte is the difference of
 * its mean to the block's before it, the others are the 63 coefficients. The code of a
 * coefficient of s bits is 7 - s ones and a zero, so code and bits together are a byte, and
 * every byte but 0xfe and 0xff is one:
 *
 *   0xxxxxxx  7 bits     10xxxxxx  6 bits     …     1111110x  1 bit
 *
 * Those two are made 0x7e and 0x7f: 7.99 bits of a byte are random, no byte is 0xff, which would
 * have to be stuffed, and each byte stands on its own. Differences of means have 7 bits and
 * their sign alternates, so that means stay small; a restart marker ends each row.
 *
 * A reader takes the file whole. */
#include <math.h>
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

enum {
	BLOCK = 64,
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
	HEADER_BYTES = MARKER_BYTES + APP0_BYTES + DQT_BYTES + SOF_BYTES + DHT_DC_BYTES +
		       DHT_AC_BYTES + DRI_BYTES + COM_BYTES,
	FIXED_BYTES = HEADER_BYTES + SOS_BYTES,
	WIDTH_MAX = 1000, /* blocks: a row fits into a comment, whose length is 16 bits */
	SIZE_MIN = FIXED_BYTES + BLOCK + MARKER_BYTES,
	RESTARTS = 8
};
/* In each byte. */
#define TOP_BITS UINT64_C(0x8080808080808080)
#define LOW_BITS UINT64_C(0x0101010101010101)

static int jpeg_check(const struct format_options *options, uint64_t samples, uint64_t least,
		      uint64_t largest, struct err *err);
static void jpeg_layout(struct layout *l);
static void jpeg_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

const struct format_ops format_jpeg = {
	.name = "jpeg",
	.help = "one grey picture a file, of exactly the sample's size",
	.begins = "\xff\xd8\xff",
	.begins_bytes = 3,
	.unit = 1,
	.check = jpeg_check,
	.layout = jpeg_layout,
	.extents = payload_whole_file,
	.payload = jpeg_payload,
	.walk = walk_jpeg,
	.walk_end = walk_jpeg_end,
};

static int jpeg_check(const struct format_options *options, uint64_t samples, uint64_t least,
		      uint64_t largest, struct err *err)
{
	(void)options;
	return payload_check_picture("jpeg", samples, least, largest, SIZE_MIN, err);
}

static uint64_t row_bytes(const struct layout *l)
{
	return (uint64_t)l->width * BLOCK + MARKER_BYTES;
}

/* Behind the id. */
static uint64_t padding_bytes(const struct layout *l)
{
	return l->size - FIXED_BYTES - l->height * row_bytes(l);
}

static uint8_t *put_segment(uint8_t *at, uint8_t marker, uint64_t bytes)
{
	*at++ = 0xff;
	*at++ = marker;
	return put_big(at, bytes - MARKER_BYTES, 2);
}

/* A table of count codes, one of each length from 1, in the order of symbols. */
static uint8_t *put_codes(uint8_t *at, uint8_t table, unsigned bytes, const uint8_t *symbols,
			  unsigned count)
{
	at = put_segment(at, 0xc4, bytes);
	*at++ = table;
	for (unsigned i = 0; i < 16; i++)
		*at++ = i < count;
	memcpy(at, symbols, count);
	return at + count;
}

static uint8_t *put_tables(uint8_t *at)
{
	static const uint8_t bits[] = {7, 6, 5, 4, 3, 2, 1};

	at = put_segment(at, 0xdb, DQT_BYTES);
	*at++ = 0;
	memset(at, 1, BLOCK);
	at = put_codes(at + BLOCK, 0x00, DHT_DC_BYTES, bits, 1);
	return put_codes(at, 0x10, DHT_AC_BYTES, bits, sizeof(bits));
}

static void jpeg_layout(struct layout *l)
{
	uint64_t room;
	double width;
	uint8_t *at = l->header;

	l->size = l->sample_bytes;
	room = l->size - FIXED_BYTES;
	width = sqrt((double)room / BLOCK);
	l->width = width < WIDTH_MAX ? (uint32_t)width : WIDTH_MAX;
	l->height = (uint32_t)(room / row_bytes(l));

	at = put_big(at, 0xffd8, MARKER_BYTES);
	at = put_segment(at, 0xe0, APP0_BYTES);
	memcpy(at, "JFIF\0\1\1\0\0\1\0\1\0\0", APP0_BYTES - 4);
	at = put_tables(at + APP0_BYTES - 4);
	at = put_segment(at, 0xc0, SOF_BYTES);
	*at++ = 8; /* bits */
	at = put_big(at, (uint64_t)l->height * BLOCK_SIDE, 2);
	at = put_big(at, (uint64_t)l->width * BLOCK_SIDE, 2);
	at = put_big(at, 0x01011100, 4); /* one component, 1, sampled 1 x 1, table 0 */
	at = put_segment(at, 0xdd, DRI_BYTES);
	at = put_big(at, l->width, 2);
	at = put_segment(at, 0xfe, COM_BYTES + padding_bytes(l));
	at = put_little(at, l->first_id, ID_BYTES);

	l->header_bytes = (uint32_t)(at - l->header);
	l->data_offset = l->header_bytes;
	l->data_bytes = l->size - l->data_offset;
	l->stride = l->size;
	l->id_at = l->data_offset - ID_BYTES;
	l->id_bytes = ID_BYTES;
	l->trailer_bytes = 0;
	l->gap_at = 0;
	l->gap_bytes = 0;
}

/* 0xfe and 0xff become 0x7e and 0x7f: in eight bytes at once, a byte of "ones" is 0 where all but
 * the lowest bit are set. */
static void clear_tops(uint8_t *out, uint64_t length)
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

/* Blocks' bytes [at, at + length) of a row; stream: where the row begins in the key's stream. */
static void make_blocks(const struct layout *l, uint64_t stream, uint64_t at, uint8_t *out,
			uint64_t length)
{
	fill(l->key, stream + at, out, length);
	clear_tops(out, length);
	for (uint64_t i = (BLOCK - at % BLOCK) % BLOCK; i < length; i += BLOCK) {
		bool odd = (at + i) / BLOCK % 2;

		out[i] = (uint8_t)((out[i] & 0x3f) | (odd ? 0 : 0x40));
	}
}

/* At most length bytes of the scan from position at. Returns how many. */
static uint64_t make_scan(const struct layout *l, uint64_t at, uint8_t *out, uint64_t length)
{
	uint64_t row = at / row_bytes(l), blocks = row_bytes(l) - MARKER_BYTES;
	uint8_t marker[MARKER_BYTES] = {0xff, (uint8_t)(0xd0 + row % RESTARTS)};
	uint64_t n;

	at %= row_bytes(l);
	if (at < blocks) {
		n = blocks - at < length ? blocks - at : length;
		make_blocks(l, row * blocks, at, out, n);
		return n;
	}
	if (row + 1 == l->height)
		marker[1] = 0xd9;
	at -= blocks;
	n = MARKER_BYTES - at < length ? MARKER_BYTES - at : length;
	memcpy(out, marker + at, n);
	return n;
}

static void jpeg_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	static const uint8_t sos[SOS_BYTES] = {0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0};
	uint64_t at = offset - l->data_offset, padding = padding_bytes(l);
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
			n = make_scan(l, at - padding - SOS_BYTES, out, length);
		}
		out += n;
		at += n;
		length -= n;
	}
}
