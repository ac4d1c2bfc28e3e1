/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord: records of TensorFlow's TFRecord container, each an Example in protobuf's encoding, as
 * DLIO writes them; several samples per file.
 *
 *   | length u64 | mask(crc(length)) | Example … image bytes … label, size | mask(crc(Example)) |
 *   `----------- the frame, before ------------'   `- payload -'`------ the frame, behind -----'
 *
 *   Example { Features { "image": bytes, "label": int64 0, "size": int64 sample_bytes } }
 *
 * The CRC is CRC-32C, masked as TFRecord asks: rotated right by 15, plus a constant. All records of
 * a file have one size, so the frame around each (except the CRC behind the Example) is the same.
 * Any range can be made on its own. Only where it holds bytes of the CRC behind an Example that
 * does not begin in the range is that record's payload made once more.
 *
 * A reader takes a record in one range: its length is in the bytes before it, and readers stream.
 * One that reads records in random order must have an index from elsewhere; the format has none. */
#include <errno.h>
#include <string.h>

#include "core/content/crc32c.h"
#include "core/content/fill.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

enum { TFRECORD_HEAD, TFRECORD_BODY, TFRECORD_SUM };
enum { DEPTH = 3, WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

enum tfrecord_number { TFRECORD_TAG, TFRECORD_LENGTH, TFRECORD_VALUE };

struct tfrecord_walk {
	uint64_t at, ends[DEPTH]; /* in the Example; the end of each message around this place */
	uint64_t value;           /* of the number under way */
	uint64_t pass;            /* bytes of the Example to pass over */
	uint32_t shift;           /* bits of the number so far */
	uint32_t depth;
	enum tfrecord_number number; /* what the number under way is */
	uint32_t sum;                /* of the Example, so far */
	uint8_t bytes[12];
};

static bool tfrecord_walk_masked(uint32_t reg, const uint8_t *bytes)
{
	uint32_t crc = crc32c_end(reg);

	return (crc >> 15 | crc << 17) + 0xa282ead8u == walk_little(bytes, 4);
}

/* A record begins; so does its outermost message. */
static const char *tfrecord_walk_head(struct walk *w, struct tfrecord_walk *s)
{
	uint64_t length = walk_little(s->bytes, 8);

	if (!tfrecord_walk_masked(crc32c_add(CRC32C_BEGIN, s->bytes, 8), s->bytes + 8))
		return "a record's length has another CRC";
	walk_part(w, TFRECORD_BODY, length);
	*s = (struct tfrecord_walk){.ends = {length}, .number = TFRECORD_TAG, .sum = CRC32C_BEGIN};
	return NULL;
}

/* A number has come whole. */
static const char *tfrecord_walk_number(struct tfrecord_walk *s)
{
	uint64_t value = s->value, left = s->ends[s->depth] - s->at;
	enum tfrecord_number was = s->number;

	s->value = 0;
	s->shift = 0;
	s->number = TFRECORD_TAG;
	if (was == TFRECORD_LENGTH) {
		if (value > left)
			return "an Example has a field longer than what it is in";
		if (s->depth + 1 < DEPTH)
			s->ends[++s->depth] = s->at + value;
		else
			s->pass = value;
	} else if (was == TFRECORD_TAG) {
		switch (value & 7) {
		case WIRE_BYTES:
			s->number = TFRECORD_LENGTH;
			break;
		case WIRE_VARINT:
			s->number = TFRECORD_VALUE;
			break;
		case WIRE_64:
		case WIRE_32:
			s->pass = (value & 7) == WIRE_64 ? 8 : 4;
			if (s->pass > left)
				return "an Example has a field longer than what it is in";
			break;
		default:
			return "an Example has a field of no known kind";
		}
	}
	return NULL;
}

/* Messages end where their bytes do, and not inside a field. */
static const char *tfrecord_walk_close(struct tfrecord_walk *s)
{
	while (s->at == s->ends[s->depth]) {
		if (s->number != TFRECORD_TAG || s->shift)
			return "an Example ends inside a field";
		if (!s->depth)
			return NULL;
		s->depth--;
	}
	return NULL;
}

static const char *tfrecord_walk_messages(struct tfrecord_walk *s, const uint8_t *at, uint64_t n)
{
	const char *wrong = NULL;

	while (n && !wrong) {
		uint64_t some = s->pass < n ? s->pass : n;

		if (!some) {
			if (s->shift > 63)
				return "an Example has a number of more than 64 bits";
			s->value |= (uint64_t)(*at & 0x7f) << s->shift;
			s->shift += 7;
			some = 1;
			s->at++;
			if (!(*at & 0x80))
				wrong = tfrecord_walk_number(s);
		} else {
			s->pass -= some;
			s->at += some;
		}
		at += some;
		n -= some;
		if (!wrong && !s->pass)
			wrong = tfrecord_walk_close(s);
	}
	return wrong;
}

static const char *tfrecord_walk_take(struct walk *w, struct walk_piece *p)
{
	struct tfrecord_walk *s = WALK_STATE(struct tfrecord_walk, w);
	const char *wrong = NULL;
	const uint8_t *span;
	uint64_t n;

	while (!wrong && (p->left || (w->part == TFRECORD_BODY && !w->left))) {
		switch (w->part) {
		case TFRECORD_HEAD:
			if (walk_gather(w, p, s->bytes, sizeof(s->bytes), 12))
				wrong = tfrecord_walk_head(w, s);
			break;
		case TFRECORD_BODY:
			n = walk_span(w, p, &span);
			s->sum = crc32c_add(s->sum, span, n);
			wrong = tfrecord_walk_messages(s, span, n);
			if (!wrong && !w->left)
				walk_part(w, TFRECORD_SUM, 0);
			break;
		default:
			if (!walk_gather(w, p, s->bytes, sizeof(s->bytes), 4))
				break;
			if (!tfrecord_walk_masked(s->sum, s->bytes))
				wrong = "a record has another CRC";
			walk_part(w, TFRECORD_HEAD, 0);
			break;
		}
	}
	return wrong;
}

static const char *tfrecord_walk_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == TFRECORD_HEAD && !w->have ? NULL : "ends inside a record";
}

static const struct walk_ops tfrecord_walk = {tfrecord_walk_take, tfrecord_walk_end, true};

enum {
	LENGTH_BYTES = 8,
	CRC_BYTES = 4,
	FRAME_BYTES = LENGTH_BYTES + CRC_BYTES,
	PIECE = 32 << 10, /* made, then summed while it is in the cache */
	FIELD_1 = 0x0a,   /* protobuf: field 1, of given length; and so on */
	FIELD_2 = 0x12,
	FIELD_3 = 0x1a,
	/* With numbers of up to 2 GiB, five bytes each. */
	BEFORE_MAX = FRAME_BYTES + 37,
	BEHIND_MAX = 35 + CRC_BYTES
};
/* A message of protobuf has less than 2 GiB. */
#define SAMPLE_BYTES_MAX ((UINT64_C(2) << 30) - 1280)

static int tfrecord_check(const void *options, uint64_t samples, uint64_t smallest,
			  uint64_t largest, struct err *err);
static void tfrecord_layout(struct layout *l);
static uint32_t tfrecord_extents(const struct layout *l, uint64_t sample,
				 struct extent out[FORMAT_EXTENTS_MAX]);
static void tfrecord_header(const struct layout *l, uint8_t *out);
static void tfrecord_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

const struct format_ops format_tfrecord = {
	.stays_open = true,
	.streams = true,
	.check = tfrecord_check,
	.layout = tfrecord_layout,
	.extents = tfrecord_extents,
	.header = tfrecord_header,
	.payload = tfrecord_payload,
	.walk = &tfrecord_walk,
	.count = tfrecord_count,
};

/* The frame around each record's image, the same for all records of a file but for the CRC at its
 * end, which is left out. Kept because small records would pay for making it again. */
struct tfrecord_frame {
	uint32_t reg; /* CRC's register behind what is in front of the image */
	uint8_t before_bytes, behind_bytes;
	uint8_t before[BEFORE_MAX], behind[BEHIND_MAX - CRC_BYTES];
};

static int tfrecord_check(const void *options, uint64_t samples, uint64_t smallest,
			  uint64_t largest, struct err *err)
{
	(void)options;
	(void)samples;
	(void)smallest;
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

static uint32_t tfrecord_masked(uint32_t reg)
{
	uint32_t crc = crc32c_end(reg);

	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static unsigned tfrecord_varint_bytes(uint64_t value)
{
	unsigned n = 1;

	while (value >>= 7)
		n++;
	return n;
}

static uint8_t *tfrecord_put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* Tag and length; what has that length follows. */
static uint8_t *tfrecord_put_field(uint8_t *at, uint8_t tag, uint64_t length)
{
	*at++ = tag;
	return tfrecord_put_varint(at, length);
}

static uint64_t tfrecord_field_bytes(uint64_t length)
{
	return 1 + tfrecord_varint_bytes(length) + length;
}

/* An entry of the map of features: its key, and the begin of its value. */
static uint8_t *tfrecord_put_entry(uint8_t *at, const char *key, uint64_t feature)
{
	size_t n = strlen(key);

	at = tfrecord_put_field(at, FIELD_1,
				tfrecord_field_bytes(n) + tfrecord_field_bytes(feature));
	at = tfrecord_put_field(at, FIELD_1, n);
	memcpy(at, key, n);
	return tfrecord_put_field(at + n, FIELD_2, feature);
}

/* A feature of one int64: a list, packed. */
static uint8_t *tfrecord_put_number(uint8_t *at, const char *key, uint64_t value)
{
	unsigned n = tfrecord_varint_bytes(value);

	at = tfrecord_put_entry(at, key, tfrecord_field_bytes(tfrecord_field_bytes(n)));
	at = tfrecord_put_field(at, FIELD_3, tfrecord_field_bytes(n));
	at = tfrecord_put_field(at, FIELD_1, n);
	return tfrecord_put_varint(at, value);
}

static void tfrecord_layout(struct layout *l)
{
	struct tfrecord_frame *f = LAYOUT_STATE(struct tfrecord_frame, l);
	uint64_t list = tfrecord_field_bytes(l->sample_bytes), feature = tfrecord_field_bytes(list);
	uint64_t entry = tfrecord_field_bytes(strlen("image")) + tfrecord_field_bytes(feature);
	uint64_t features;
	uint8_t *end = tfrecord_put_number(f->behind, "label", 0);

	end = tfrecord_put_number(end, "size", l->sample_bytes);
	f->behind_bytes = (uint8_t)(end - f->behind);
	features = tfrecord_field_bytes(entry) + f->behind_bytes;

	end = put_little(f->before, tfrecord_field_bytes(features), LENGTH_BYTES);
	end = put_little(end, tfrecord_masked(crc32c_add(CRC32C_BEGIN, f->before, LENGTH_BYTES)),
			 CRC_BYTES);
	end = tfrecord_put_field(end, FIELD_1, features);
	end = tfrecord_put_entry(end, "image", feature);
	end = tfrecord_put_field(end, FIELD_1, list);
	end = tfrecord_put_field(end, FIELD_1, l->sample_bytes);
	f->before_bytes = (uint8_t)(end - f->before);
	f->reg = crc32c_add(CRC32C_BEGIN, f->before + FRAME_BYTES, f->before_bytes - FRAME_BYTES);

	l->data_offset = f->before_bytes;
	l->stride = f->before_bytes + l->sample_bytes + f->behind_bytes + CRC_BYTES;
	l->size = l->samples * l->stride;
	l->data_bytes = l->size - l->data_offset;
	l->id_at = l->data_offset;
	l->id_bytes = l->sample_bytes < ID_BYTES ? 0 : ID_BYTES;
}

static void tfrecord_header(const struct layout *l, uint8_t *out)
{
	const struct tfrecord_frame *f = LAYOUT_STATE(const struct tfrecord_frame, l);

	memcpy(out, f->before, f->before_bytes);
}

/* The CRC's register over an Example, as far as its payload has been made in order. */
struct tfrecord_sum {
	uint64_t next; /* in the payload of all samples; UINT64_MAX: nothing yet */
	uint32_t reg;
};

/* Makes payload bytes [at, at + length) of all samples' and sums them where they go on. */
static void tfrecord_make_image(const struct layout *l, uint64_t at, void *out, uint64_t length,
				struct tfrecord_sum *sum)
{
	fill(l->key, at, out, length);
	payload_stamp_ids(l, l->sample_bytes, at, out, length);
	if (at % l->sample_bytes == 0)
		*sum = (struct tfrecord_sum){
			.next = at, .reg = LAYOUT_STATE(const struct tfrecord_frame, l)->reg};
	if (sum->next != at)
		return;
	sum->reg = crc32c_add(sum->reg, out, length);
	sum->next += length;
}

/* noinline: the piece is on the stack only here. */
static __attribute__((noinline)) void tfrecord_sum_again(const struct layout *l, uint64_t sample,
							 struct tfrecord_sum *sum)
{
	uint64_t at = sample * l->sample_bytes, end = at + l->sample_bytes;
	uint8_t piece[PIECE];

	while (at < end) {
		uint64_t n = end - at < PIECE ? end - at : PIECE;

		tfrecord_make_image(l, at, piece, n, sum);
		at += n;
	}
}

/* The frame behind the sample's image, whole. */
static void tfrecord_make_behind(const struct layout *l, uint64_t sample, uint8_t *out,
				 struct tfrecord_sum *sum)
{
	const struct tfrecord_frame *f = LAYOUT_STATE(const struct tfrecord_frame, l);

	if (sum->next != (sample + 1) * l->sample_bytes)
		tfrecord_sum_again(l, sample, sum);
	memcpy(out, f->behind, f->behind_bytes);
	put_little(out + f->behind_bytes,
		   tfrecord_masked(crc32c_add(sum->reg, f->behind, f->behind_bytes)), CRC_BYTES);
}

/* At most length bytes of the record of sample from position at, counted from the begin of its
 * image: the image, the frame behind it, the next record's frame before it. Returns how many. */
static uint64_t tfrecord_make_part(const struct layout *l, uint64_t sample, uint64_t at,
				   uint8_t *out, uint64_t length, struct tfrecord_sum *sum)
{
	const struct tfrecord_frame *f = LAYOUT_STATE(const struct tfrecord_frame, l);
	uint64_t parts[] = {l->sample_bytes, f->behind_bytes + CRC_BYTES, f->before_bytes};
	uint8_t behind[BEHIND_MAX];
	unsigned part = 0;

	while (part < 2 && at >= parts[part])
		at -= parts[part++];
	if (length > parts[part] - at)
		length = parts[part] - at;
	if (part == 0) {
		length = length < PIECE ? length : PIECE;
		tfrecord_make_image(l, sample * l->sample_bytes + at, out, length, sum);
	} else if (part == 1 && at + length <= f->behind_bytes) {
		memcpy(out, f->behind + at, length);
	} else if (part == 1) {
		tfrecord_make_behind(l, sample, behind, sum);
		memcpy(out, behind + at, length);
	} else {
		memcpy(out, f->before + at, length);
	}
	return length;
}

static void tfrecord_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	uint64_t at = offset - l->data_offset;
	struct tfrecord_sum sum = {.next = UINT64_MAX};
	uint8_t *out = data;

	while (length) {
		uint64_t n =
			tfrecord_make_part(l, at / l->stride, at % l->stride, out, length, &sum);

		out += n;
		at += n;
		length -= n;
	}
}
