/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: a tensor of bytes per sample, "sample.0", …, in the format in which models are
 * stored.
 *
 *   | n u64 | {"__metadata__":…, | a row per tensor } spaces | tensor 0 | tensor 1 | …
 *   0       8                    data_offset                 8 + n, a multiple of 8
 *   `---------- header ----------´
 *
 *   row: "sample.07":{"dtype":"U8","shape":[1000],"data_offsets":[  7000,  8000]},
 *
 * Numbers are padded, so all rows have one length and any row can be made on its own; JSON allows
 * the spaces. A reader takes n and the JSON once, then one tensor after another from the open file.
 * Source: the format's README, "Format"; its own reader refuses a header above 100 MB. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

enum { SAFETENSORS_LENGTH, SAFETENSORS_HEADER, SAFETENSORS_DATA };
enum { SAFETENSORS_LENGTH_BYTES = 8, DEEPEST = 63, HEADER_MAX = 100000000, WORD_MAX = 16 };

enum safetensors_mode {
	SAFETENSORS_PLAIN,
	SAFETENSORS_TEXT,
	SAFETENSORS_ESCAPE
}; /* whether inside a string */
enum safetensors_of {
	SAFETENSORS_OTHER,
	SAFETENSORS_TYPE,
	SAFETENSORS_SHAPE,
	SAFETENSORS_OFFSETS,
	SAFETENSORS_OVER
};

struct safetensors_walk {
	uint64_t data_at;                           /* where the tensors begin in the file */
	uint64_t brackets;                          /* open ones, a bit each; 1: { */
	uint64_t number;                            /* under way */
	uint64_t product, offsets[2], offset_count; /* of the tensor under way */
	uint64_t total;                             /* bytes of all tensors */
	uint32_t type_bits;                         /* per element; 0: not known */
	uint32_t depth;
	enum safetensors_mode mode;
	enum safetensors_of of; /* what a number or string is of */
	bool digits;            /* a number is under way */
	uint8_t word_bytes;     /* WORD_MAX: it is longer than any word that is known */
	char word[WORD_MAX];    /* the last string */
};

static bool safetensors_word_is(const struct safetensors_walk *s, const char *word)
{
	return s->word_bytes == strlen(word) && memcmp(s->word, word, s->word_bytes) == 0;
}

/* Of U8, BF16, F8_E4M3: 0 where it is not known. */
static uint32_t safetensors_type_bits(const struct safetensors_walk *s)
{
	uint32_t bits = 0, i = 0;

	if (safetensors_word_is(s, "BOOL"))
		return 8;
	while (i < s->word_bytes && (s->word[i] < '0' || s->word[i] > '9'))
		i++;
	for (; i < s->word_bytes && s->word[i] >= '0' && s->word[i] <= '9' && bits < 100; i++)
		bits = bits * 10 + (uint32_t)(s->word[i] - '0');
	return bits;
}

static const char *safetensors_text(struct safetensors_walk *s, uint8_t c)
{
	if (s->mode == SAFETENSORS_ESCAPE)
		s->mode = SAFETENSORS_TEXT;
	else if (c < ' ')
		return "a header's string has a control character";
	else if (c == '\\')
		s->mode = SAFETENSORS_ESCAPE;
	else if (c == '"')
		s->mode = SAFETENSORS_PLAIN;
	if (s->mode == SAFETENSORS_PLAIN && s->of == SAFETENSORS_TYPE)
		s->type_bits = safetensors_type_bits(s);
	if (s->mode != SAFETENSORS_PLAIN && s->word_bytes < WORD_MAX)
		s->word[s->word_bytes++] = (char)c;
	return NULL;
}

static const char *safetensors_number_ends(struct safetensors_walk *s)
{
	uint64_t value = s->number;
	bool any = s->digits;

	s->digits = false;
	s->number = 0;
	if (!any || s->depth != 3)
		return NULL;
	if (s->of == SAFETENSORS_SHAPE && __builtin_mul_overflow(s->product, value, &s->product))
		return "a tensor has more elements than 64 bits count";
	if (s->of != SAFETENSORS_OFFSETS)
		return NULL;
	if (s->offset_count == 2)
		return "a tensor has more than two offsets";
	s->offsets[s->offset_count++] = value;
	return NULL;
}

static const char *safetensors_tensor(const struct walk *w, struct safetensors_walk *s)
{
	uint64_t bytes = s->offsets[1] - s->offsets[0];

	if (!s->offset_count)
		return NULL;
	if (s->offset_count != 2 || s->offsets[0] > s->offsets[1] ||
	    s->offsets[1] > w->size - s->data_at)
		return "a tensor's offsets are not in the file";
	if (s->type_bits &&
	    (unsigned __int128)s->product * s->type_bits != (unsigned __int128)bytes * 8)
		return "a tensor's shape is not that of its bytes";
	s->total += bytes;
	return NULL;
}

static const char *safetensors_opens(struct safetensors_walk *s, uint8_t c)
{
	if (s->depth == DEEPEST || (!s->depth && (c != '{' || s->of == SAFETENSORS_OVER)))
		return "its header is not a JSON object";
	s->brackets = s->brackets << 1 | (c == '{');
	if (++s->depth != 2)
		return NULL;
	s->offset_count = 0;
	s->type_bits = 0;
	s->product = 1;
	s->of = SAFETENSORS_OTHER;
	return NULL;
}

static const char *safetensors_closes(const struct walk *w, struct safetensors_walk *s, uint8_t c)
{
	const char *wrong = safetensors_number_ends(s);

	if (!s->depth || (s->brackets & 1) != (c == '}'))
		return "its header's brackets do not close";
	s->brackets >>= 1;
	s->depth--;
	if (!wrong && s->depth == 1)
		wrong = safetensors_tensor(w, s);
	if (s->depth < 3)
		s->of = s->depth ? SAFETENSORS_OTHER : SAFETENSORS_OVER;
	return wrong;
}

static const char *safetensors_digit(struct safetensors_walk *s, uint8_t c)
{
	s->digits = true;
	if (__builtin_mul_overflow(s->number, 10, &s->number) ||
	    __builtin_add_overflow(s->number, (uint64_t)(c - '0'), &s->number))
		return "its header has a number of more than 64 bits";
	return NULL;
}

static enum safetensors_of safetensors_key(const struct safetensors_walk *s)
{
	return safetensors_word_is(s, "dtype")          ? SAFETENSORS_TYPE
	       : safetensors_word_is(s, "shape")        ? SAFETENSORS_SHAPE
	       : safetensors_word_is(s, "data_offsets") ? SAFETENSORS_OFFSETS
							: SAFETENSORS_OTHER;
}

static const char *safetensors_plain(const struct walk *w, struct safetensors_walk *s, uint8_t c)
{
	if (c == '{' || c == '[')
		return safetensors_opens(s, c);
	if (c == '}' || c == ']')
		return safetensors_closes(w, s, c);
	if (c >= '0' && c <= '9' && s->depth)
		return safetensors_digit(s, c);
	if (strchr(" \t\r\n,", c) && c) {
		if (c == ',' && s->depth == 2)
			s->of = SAFETENSORS_OTHER;
		return safetensors_number_ends(s);
	}
	if (!s->depth || !c || !strchr("\":-+.Eaeflnrstu", c))
		return "its header is not JSON";
	if (c == '"') {
		s->mode = SAFETENSORS_TEXT;
		s->word_bytes = 0;
	} else if (c == ':' && s->depth == 2) {
		s->of = safetensors_key(s);
	}
	return NULL;
}

static const char *safetensors_json(struct walk *w, struct safetensors_walk *s,
				    struct walk_piece *p)
{
	const char *wrong = NULL;
	const uint8_t *span;
	uint64_t n = walk_span(w, p, &span);

	for (; n && !wrong; n--, span++)
		wrong = s->mode == SAFETENSORS_PLAIN ? safetensors_plain(w, s, *span)
						     : safetensors_text(s, *span);
	if (wrong || w->left)
		return wrong;
	w->part = SAFETENSORS_DATA;
	if (s->of != SAFETENSORS_OVER)
		return "its header ends too early";
	return s->total == w->size - s->data_at ? NULL
						: "tensors are not the bytes behind the header";
}

static const char *safetensors_walk_take(struct walk *w, struct walk_piece *p)
{
	struct safetensors_walk *s = WALK_STATE(struct safetensors_walk, w);
	uint8_t *bytes = (uint8_t *)s->word;
	const char *wrong = NULL;

	while (!wrong && p->left) {
		if (w->part == SAFETENSORS_DATA) {
			p->left = 0;
		} else if (w->part == SAFETENSORS_HEADER) {
			wrong = safetensors_json(w, s, p);
		} else if (walk_gather(w, p, bytes, WORD_MAX, SAFETENSORS_LENGTH_BYTES)) {
			uint64_t length = walk_little(bytes, SAFETENSORS_LENGTH_BYTES);

			if (!length || length > HEADER_MAX ||
			    length > w->size - SAFETENSORS_LENGTH_BYTES)
				return "has a header longer than its file";
			s->data_at = SAFETENSORS_LENGTH_BYTES + length;
			walk_part(w, SAFETENSORS_HEADER, length);
		}
	}
	return wrong;
}

static const char *safetensors_walk_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == SAFETENSORS_DATA ? NULL : "ends inside its header";
}

static const struct walk_ops safetensors_walk = {safetensors_walk_take, safetensors_walk_end, true};

enum { COUNT_BYTES = 8, ROW_MAX = 192, JSON_MAX = 100000000 };

static const char safetensors_begin[] = "{\"__metadata__\":{\"format\":\"haul\"},";

static int safetensors_check(const void *options, uint64_t samples, uint64_t smallest,
			     uint64_t largest, struct err *err);
static void safetensors_layout(struct layout *l);
static uint32_t safetensors_extents(const struct layout *l, uint64_t sample,
				    struct extent out[FORMAT_EXTENTS_MAX]);
static void safetensors_header(const struct layout *l, uint8_t *out);
static void safetensors_payload(const struct layout *l, uint64_t offset, void *data,
				uint64_t length);

const struct format_ops format_safetensors = {
	.stays_open = true,
	.check = safetensors_check,
	.layout = safetensors_layout,
	.extents = safetensors_extents,
	.header = safetensors_header,
	.payload = safetensors_payload,
	.walk = &safetensors_walk,
	.count = safetensors_count,
};

static int safetensors_digits(uint64_t value)
{
	int n = 1;

	while (value >= 10) {
		value /= 10;
		n++;
	}
	return n;
}

/* Tensor i's row; returns its length, the same for all i. */
static uint32_t safetensors_make_row(char *row, uint64_t i, uint64_t samples, uint64_t sample_bytes)
{
	int width = safetensors_digits(samples * sample_bytes);

	return (uint32_t)snprintf(row, ROW_MAX,
				  "\"sample.%0*" PRIu64 "\":{\"dtype\":\"U8\",\"shape\":[%" PRIu64
				  "],\"data_offsets\":[%*" PRIu64 ",%*" PRIu64 "]}%c",
				  safetensors_digits(samples - 1), i, sample_bytes, width,
				  i * sample_bytes, width, (i + 1) * sample_bytes,
				  i + 1 == samples ? '}' : ',');
}

/* Bytes of all rows. */
static uint64_t safetensors_rows_bytes(uint64_t samples, uint64_t sample_bytes)
{
	char row[ROW_MAX];

	return samples * safetensors_make_row(row, 0, samples, sample_bytes);
}

static int safetensors_check(const void *options, uint64_t samples, uint64_t smallest,
			     uint64_t largest, struct err *err)
{
	uint64_t bytes =
		safetensors_rows_bytes(samples, largest) + sizeof(safetensors_begin) + COUNT_BYTES;

	(void)options;
	(void)smallest;
	if (bytes <= JSON_MAX)
		return 0;
	return err_set(err, -EINVAL,
		       "the header of a safetensors file has at most 100 MB, with %" PRIu64
		       " tensors it would have %" PRIu64 " bytes",
		       samples, bytes);
}

/* The data part begins with the rows; the tensors begin with sample 0's id, or where it would
 * be. */
static void safetensors_layout(struct layout *l)
{
	uint64_t rows = safetensors_rows_bytes(l->samples, l->sample_bytes);
	uint64_t json = (sizeof(safetensors_begin) - 1 + rows + 7) / 8 * 8;

	l->data_offset = COUNT_BYTES + sizeof(safetensors_begin) - 1;
	l->id_at = COUNT_BYTES + json;
	l->id_bytes = l->sample_bytes < ID_BYTES ? 0 : ID_BYTES;
	l->stride = l->sample_bytes;
	l->size = l->id_at + payload_bytes(l);
	l->data_bytes = l->size - l->data_offset;
}

static void safetensors_header(const struct layout *l, uint8_t *out)
{
	put_little(out, l->id_at - COUNT_BYTES, COUNT_BYTES);
	memcpy(out + COUNT_BYTES, safetensors_begin, sizeof(safetensors_begin) - 1);
}

static uint32_t safetensors_extents(const struct layout *l, uint64_t sample,
				    struct extent out[FORMAT_EXTENTS_MAX])
{
	out[0] = (struct extent){.offset = 0, .length = COUNT_BYTES, .cache = CACHE_FOR_FILE};
	out[1] = (struct extent){
		.offset = COUNT_BYTES, .length = l->id_at - COUNT_BYTES, .cache = CACHE_FOR_FILE};
	out[2] = (struct extent){.offset = l->id_at + sample * l->stride, .length = l->stride};
	return 3;
}

/* The bytes of the rows from position at on, up to length; returns how many were made. */
static uint64_t safetensors_make_rows(const struct layout *l, uint64_t at, uint8_t *data,
				      uint64_t length)
{
	uint64_t total = safetensors_rows_bytes(l->samples, l->sample_bytes), done = 0;
	char row[ROW_MAX];

	while (done < length && at + done < total) {
		uint64_t row_bytes = total / l->samples;
		uint64_t from = (at + done) % row_bytes;
		uint64_t n = row_bytes - from;

		if (n > length - done)
			n = length - done;
		safetensors_make_row(row, (at + done) / row_bytes, l->samples, l->sample_bytes);
		memcpy(data + done, row + from, n);
		done += n;
	}
	return done;
}

static void safetensors_payload(const struct layout *l, uint64_t offset, void *data,
				uint64_t length)
{
	uint8_t *out = data;

	if (offset < l->id_at) {
		uint64_t n = l->id_at - offset < length ? l->id_at - offset : length;
		uint64_t made = safetensors_make_rows(l, offset - l->data_offset, out, n);

		memset(out + made, ' ', n - made);
		out += n;
		offset += n;
		length -= n;
	}
	if (!length)
		return;
	fill(l->key, offset - l->id_at, out, length);
	payload_stamp_ids(l, l->stride, offset - l->id_at, out, length);
}
