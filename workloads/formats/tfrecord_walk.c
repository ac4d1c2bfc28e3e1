/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord: records of length, its masked CRC-32C, an Example, and its masked CRC-32C. Of the
 * Example, the messages around the features' values are walked: Example, Features and each entry of
 * its map. */
#include "core/content/crc32c.h"
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

const struct walk_ops tfrecord_walk = {tfrecord_walk_take, tfrecord_walk_end, true};
