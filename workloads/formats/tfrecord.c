/* tfrecord: records of TensorFlow's TFRecord container, each an Example in protobuf's encoding,
 * as DLIO writes them; several samples a file.
 *
 *   | length u64 | mask(crc(length)) | Example … image bytes … label, size | mask(crc(Example)) |
 *   `------------- header, the frame before -'   `- payload -'`- trailer, the frame behind ----'
 *
 *   Example { Features { "image": bytes, "label": int64 0, "size": int64 sample_bytes } }
 *
 * The CRC is CRC-32C, masked as TFRecord asks: rotated right by 15, plus a constant. All records
 * of a file have one size, so header and trailer (but for the CRC behind the Example) are the
 * same for all. Any range is made on its own; only where it holds bytes of the CRC behind an
 * Example that does not begin in it, that record's payload is made once more to know it.
 *
 * A reader takes a record in one range: its length is in the bytes before it, and readers
 * stream. */
#include <errno.h>
#include <string.h>

#include "core/content/crc32c.h"
#include "core/content/fill.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

enum {
	LENGTH_BYTES = 8,
	CRC_BYTES = 4,
	FRAME_BYTES = LENGTH_BYTES + CRC_BYTES,
	PIECE = 32 << 10, /* made, then summed while it is in the cache */
	FIELD_1 = 0x0a,   /* protobuf: field 1, of given length; and so on */
	FIELD_2 = 0x12,
	FIELD_3 = 0x1a
};
/* Protobuf's limit of a message is 2 GiB. */
#define SAMPLE_BYTES_MAX ((UINT64_C(2) << 30) - FORMAT_HEADER_BYTES)

static int tfrecord_check(const struct format_options *options, uint64_t samples, uint64_t least,
			  uint64_t largest, struct err *err);
static void tfrecord_layout(struct layout *l);
static uint32_t tfrecord_extents(const struct layout *l, uint64_t sample,
				 struct extent out[FORMAT_EXTENTS_MAX]);
static void tfrecord_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

const struct format_ops format_tfrecord = {
	.name = "tfrecord",
	.help = "TFRecord: an Example with image, label and size a sample, CRC-32C",
	.stays_open = true,
	.streams = true,
	.unit = 1,
	.check = tfrecord_check,
	.layout = tfrecord_layout,
	.extents = tfrecord_extents,
	.payload = tfrecord_payload,
	.walk = walk_tfrecord,
	.walk_end = walk_tfrecord_end,
};

static int tfrecord_check(const struct format_options *options, uint64_t samples, uint64_t least,
			  uint64_t largest, struct err *err)
{
	(void)options;
	(void)samples;
	(void)least;
	if (largest <= SAMPLE_BYTES_MAX)
		return 0;
	return err_set(err, -EINVAL,
		       "a record of a tfrecord file holds less than 2 GiB, the largest sample "
		       "would have %llu bytes",
		       (unsigned long long)largest);
}

static uint32_t tfrecord_extents(const struct layout *l, uint64_t sample,
				 struct extent out[FORMAT_EXTENTS_MAX])
{
	out[0] = (struct extent){.offset = sample * l->stride, .length = l->stride};
	return 1;
}

static uint32_t masked(uint32_t reg)
{
	uint32_t crc = crc32c_end(reg);

	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static unsigned varint_bytes(uint64_t value)
{
	unsigned n = 1;

	while (value >>= 7)
		n++;
	return n;
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* Tag and length; what has that length follows. */
static uint8_t *put_field(uint8_t *at, uint8_t tag, uint64_t length)
{
	*at++ = tag;
	return put_varint(at, length);
}

static uint64_t field_bytes(uint64_t length)
{
	return 1 + varint_bytes(length) + length;
}

/* An entry of the map of features: its key, and the begin of its value. */
static uint8_t *put_entry(uint8_t *at, const char *key, uint64_t feature)
{
	size_t n = strlen(key);

	at = put_field(at, FIELD_1, field_bytes(n) + field_bytes(feature));
	at = put_field(at, FIELD_1, n);
	memcpy(at, key, n);
	return put_field(at + n, FIELD_2, feature);
}

/* A feature of one int64: a list, packed. */
static uint8_t *put_number(uint8_t *at, const char *key, uint64_t value)
{
	unsigned n = varint_bytes(value);

	at = put_entry(at, key, field_bytes(field_bytes(n)));
	at = put_field(at, FIELD_3, field_bytes(n));
	at = put_field(at, FIELD_1, n);
	return put_varint(at, value);
}

static void tfrecord_layout(struct layout *l)
{
	uint64_t list = field_bytes(l->sample_bytes), feature = field_bytes(list);
	uint64_t entry = field_bytes(strlen("image")) + field_bytes(feature);
	uint64_t features, example;
	uint8_t *end = put_number(l->trailer, "label", 0);

	end = put_number(end, "size", l->sample_bytes);
	l->trailer_bytes = (uint32_t)(end - l->trailer) + CRC_BYTES;
	features = field_bytes(entry) + (uint64_t)(end - l->trailer);
	example = field_bytes(features);

	end = put_little(l->header, example, LENGTH_BYTES);
	end = put_little(end, masked(crc32c_add(CRC32C_BEGIN, l->header, LENGTH_BYTES)), CRC_BYTES);
	end = put_field(end, FIELD_1, features);
	end = put_entry(end, "image", feature);
	end = put_field(end, FIELD_1, list);
	end = put_field(end, FIELD_1, l->sample_bytes);
	l->header_bytes = (uint32_t)(end - l->header);

	payload_contiguous(l);
	l->data_offset = l->header_bytes;
	l->id_at = l->data_offset;
	l->stride = l->header_bytes + l->sample_bytes + l->trailer_bytes;
	l->size = l->samples * l->stride;
	l->data_bytes = l->size - l->data_offset;
	l->gap_at = 0;
	l->gap_bytes = 0;
}

/* The CRC's register over an Example, as far as its payload has been made one piece after the
 * other. */
struct running {
	uint64_t next; /* in the payload of all samples; UINT64_MAX: nothing yet */
	uint32_t reg;
};

/* Makes payload bytes [at, at + length) of all samples' and sums them where they go on. */
static void make_payload(const struct layout *l, uint64_t at, void *out, uint64_t length,
			 struct running *sum)
{
	fill(l->key, at, out, length);
	payload_stamp_ids(l, l->sample_bytes, at, out, length);
	if (at % l->sample_bytes == 0)
		*sum = (struct running){.next = at,
					.reg = crc32c_add(CRC32C_BEGIN, l->header + FRAME_BYTES,
							  l->header_bytes - FRAME_BYTES)};
	if (sum->next != at)
		return;
	sum->reg = crc32c_add(sum->reg, out, length);
	sum->next += length;
}

/* noinline: the piece stands on the stack only here. */
static __attribute__((noinline)) void sum_again(const struct layout *l, uint64_t sample,
						struct running *sum)
{
	uint64_t at = sample * l->sample_bytes, end = at + l->sample_bytes;
	uint8_t piece[PIECE];

	while (at < end) {
		uint64_t n = end - at < PIECE ? end - at : PIECE;

		make_payload(l, at, piece, n, sum);
		at += n;
	}
}

/* The frame behind the sample's payload, whole. */
static void make_trailer(const struct layout *l, uint64_t sample, uint8_t *out, struct running *sum)
{
	uint32_t plain = l->trailer_bytes - CRC_BYTES;

	if (sum->next != (sample + 1) * l->sample_bytes)
		sum_again(l, sample, sum);
	memcpy(out, l->trailer, plain);
	put_little(out + plain, masked(crc32c_add(sum->reg, l->trailer, plain)), CRC_BYTES);
}

/* At most length bytes of the record of sample from position at, counted from its payload's begin:
 * payload, the frame behind it, the next one's before it. Returns how many. */
static uint64_t make_part(const struct layout *l, uint64_t sample, uint64_t at, uint8_t *out,
			  uint64_t length, struct running *sum)
{
	uint64_t parts[] = {l->sample_bytes, l->trailer_bytes, l->header_bytes};
	uint8_t trailer[FORMAT_HEADER_BYTES];
	unsigned part = 0;

	while (part < 2 && at >= parts[part])
		at -= parts[part++];
	if (length > parts[part] - at)
		length = parts[part] - at;
	if (part == 0) {
		length = length < PIECE ? length : PIECE;
		make_payload(l, sample * l->sample_bytes + at, out, length, sum);
	} else if (part == 1 && at + length <= l->trailer_bytes - CRC_BYTES) {
		memcpy(out, l->trailer + at, length);
	} else if (part == 1) {
		make_trailer(l, sample, trailer, sum);
		memcpy(out, trailer + at, length);
	} else {
		memcpy(out, l->header + at, length);
	}
	return length;
}

static void tfrecord_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	uint64_t at = offset - l->data_offset;
	struct running sum = {.next = UINT64_MAX};
	uint8_t *out = data;

	while (length) {
		uint64_t n = make_part(l, at / l->stride, at % l->stride, out, length, &sum);

		out += n;
		at += n;
		length -= n;
	}
}
