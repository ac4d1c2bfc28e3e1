/* tfrecord: records of length, its masked CRC-32C, an Example, and its masked CRC-32C. Of the Example the
 * messages around the features' values are walked: Example, Features and each entry of its map. */
#include "core/content/crc32c.h"
#include "workloads/formats/walk.h"

enum { HEAD, BODY, SUM };
enum {
	FEATURES = 3,
	WIRE_VARINT = 0,
	WIRE_64 = 1,
	WIRE_BYTES = 2,
	WIRE_32 = 5,
	TAG = 0,
	LENGTH,
	NUMBER
};

static bool masked(uint32_t reg, const uint8_t *bytes)
{
	uint32_t crc = crc32c_end(reg);

	return (crc >> 15 | crc << 17) + 0xa282ead8u == walk_little(bytes, 4);
}

/* A record begins; so does its outermost message. */
static const char *head(struct walk *w)
{
	uint64_t length = walk_little(w->bytes, 8);

	if (!masked(crc32c_add(CRC32C_BEGIN, w->bytes, 8), w->bytes + 8))
		return "a record's length has another CRC";
	w->sum = UINT32_MAX;
	walk_part(w, BODY, length);
	w->at = 0;
	w->ends[0] = length;
	w->depth = 0;
	w->field = TAG;
	w->shift = 0;
	w->value = 0;
	w->pass = 0;
	return NULL;
}

/* A number has come whole: of a tag, a length, or a value. next: bytes to pass over. */
static const char *number(struct walk *w, uint64_t *next)
{
	uint64_t value = w->value;
	uint32_t was = w->field;

	w->value = 0;
	w->shift = 0;
	w->field = TAG;
	if (was == LENGTH) {
		if (value > w->ends[w->depth] - w->at)
			return "an Example has a field longer than what it is in";
		if (w->depth + 1 < FEATURES)
			w->ends[++w->depth] = w->at + value;
		else
			*next = value;
	} else if (was == TAG) {
		switch (value & 7) {
		case WIRE_BYTES:
			w->field = LENGTH;
			break;
		case WIRE_VARINT:
			w->field = NUMBER;
			break;
		case WIRE_64:
		case WIRE_32:
			*next = (value & 7) == WIRE_64 ? 8 : 4;
			if (*next > w->ends[w->depth] - w->at)
				return "an Example has a field longer than what it is in";
			break;
		default:
			return "an Example has a field of no known kind";
		}
	}
	return NULL;
}

/* Messages end where their bytes do, and not inside a field. */
static const char *close_messages(struct walk *w)
{
	while (w->at == w->ends[w->depth]) {
		if (w->field != TAG || w->shift)
			return "an Example ends inside a field";
		if (!w->depth)
			return NULL;
		w->depth--;
	}
	return NULL;
}

static const char *messages(struct walk *w, const uint8_t *at, uint64_t n)
{
	const char *wrong = NULL;

	while (n && !wrong) {
		uint64_t some = w->pass < n ? w->pass : n;

		if (!some) {
			if (w->shift > 63)
				return "an Example has a number of more than 64 bits";
			w->value |= (uint64_t)(*at & 0x7f) << w->shift;
			w->shift += 7;
			some = 1;
			w->at++;
			if (!(*at & 0x80))
				wrong = number(w, &w->pass);
		} else {
			w->pass -= some;
			w->at += some;
		}
		at += some;
		n -= some;
		if (!wrong && !w->pass)
			wrong = close_messages(w);
	}
	return wrong;
}

const char *walk_tfrecord(struct walk *w, struct walk_piece *p)
{
	const char *wrong = NULL;
	const uint8_t *span;
	uint64_t n;

	while (!wrong && (p->left || (w->part == BODY && !w->left))) {
		switch (w->part) {
		case HEAD:
			if (walk_gather(w, p, 12))
				wrong = head(w);
			break;
		case BODY:
			n = walk_span(w, p, &span);
			w->sum = crc32c_add(w->sum, span, n);
			wrong = messages(w, span, n);
			if (!wrong && !w->left)
				walk_part(w, SUM, 0);
			break;
		default:
			if (!walk_gather(w, p, 4))
				break;
			if (!masked(w->sum, w->bytes))
				wrong = "a record has another CRC";
			w->count++;
			walk_part(w, HEAD, 0);
			break;
		}
	}
	return wrong;
}

const char *walk_tfrecord_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == HEAD && !w->have ? NULL : "ends inside a record";
}
