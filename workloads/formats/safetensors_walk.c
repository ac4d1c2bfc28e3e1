/* safetensors: the header's length, and the header, JSON, as it comes: its brackets close, each tensor's type and
 * shape make the bytes that its offsets span, and all tensors together make the bytes behind it. */
#include <string.h>

#include "workloads/formats/walk.h"

enum { LENGTH, HEADER, DATA };
enum { PLAIN, TEXT, ESCAPE };               /* w->sum: in a string or not */
enum { OTHER, TYPE, SHAPE, OFFSETS, OVER }; /* w->field: what a number or string is of */
enum { PAIR, PRODUCT, BEGIN, END };         /* w->ends; PAIR: a bit for each open bracket, 1: { */
enum { LENGTH_BYTES = 8, DEEPEST = 63, HEADER_MAX = 100000000 };

static bool text_is(const struct walk *w, const char *text)
{
	return w->have == strlen(text) && memcmp(w->bytes, text, w->have) == 0;
}

/* U8, BF16, F8_E4M3: 0 where it is not known. */
static uint32_t type_bits(const struct walk *w)
{
	uint32_t bits = 0, i = 0;

	if (text_is(w, "BOOL"))
		return 8;
	while (i < w->have && (w->bytes[i] < '0' || w->bytes[i] > '9'))
		i++;
	for (; i < w->have && w->bytes[i] >= '0' && w->bytes[i] <= '9' && bits < 100; i++)
		bits = bits * 10 + w->bytes[i] - '0';
	return bits;
}

static const char *text(struct walk *w, uint8_t c)
{
	if (w->sum == ESCAPE)
		w->sum = TEXT;
	else if (c < ' ')
		return "a header's string has a control character";
	else if (c == '\\')
		w->sum = ESCAPE;
	else if (c == '"')
		w->sum = PLAIN;
	if (w->sum == PLAIN && w->field == TYPE)
		w->shift = type_bits(w);
	if (w->sum != PLAIN && w->have < WALK_BYTES)
		w->bytes[w->have++] = c;
	return NULL;
}

/* w->at: there are digits. */
static const char *number_ends(struct walk *w)
{
	uint64_t value = w->value;
	bool any = w->at;

	w->at = 0;
	w->value = 0;
	if (!any || w->depth != 3)
		return NULL;
	if (w->field == SHAPE && __builtin_mul_overflow(w->ends[PRODUCT], value, &w->ends[PRODUCT]))
		return "a tensor has more elements than 64 bits count";
	if (w->field != OFFSETS)
		return NULL;
	if (w->count == 2)
		return "a tensor has more than two offsets";
	w->ends[w->count++ ? END : BEGIN] = value;
	return NULL;
}

static const char *tensor(struct walk *w)
{
	uint64_t bytes = w->ends[END] - w->ends[BEGIN];

	if (!w->count)
		return NULL;
	if (w->count != 2 || w->ends[BEGIN] > w->ends[END] || w->ends[END] > w->size - w->next)
		return "a tensor's offsets are not in the file";
	if (w->shift &&
	    (unsigned __int128)w->ends[PRODUCT] * w->shift != (unsigned __int128)bytes * 8)
		return "a tensor's shape is not that of its bytes";
	w->pass += bytes;
	return NULL;
}

static const char *opens(struct walk *w, uint8_t c)
{
	if (w->depth == DEEPEST || (!w->depth && (c != '{' || w->field == OVER)))
		return "its header is no JSON object";
	w->ends[PAIR] = w->ends[PAIR] << 1 | (c == '{');
	if (++w->depth != 2)
		return NULL;
	w->count = 0;
	w->shift = 0;
	w->ends[PRODUCT] = 1;
	w->field = OTHER;
	return NULL;
}

static const char *closes(struct walk *w, uint8_t c)
{
	const char *wrong = number_ends(w);

	if (!w->depth || (w->ends[PAIR] & 1) != (c == '}'))
		return "its header's brackets do not close";
	w->ends[PAIR] >>= 1;
	w->depth--;
	if (!wrong && w->depth == 1)
		wrong = tensor(w);
	if (w->depth < 3)
		w->field = w->depth ? OTHER : OVER;
	return wrong;
}

static const char *digit(struct walk *w, uint8_t c)
{
	w->at = 1;
	if (__builtin_mul_overflow(w->value, 10, &w->value) ||
	    __builtin_add_overflow(w->value, (uint64_t)(c - '0'), &w->value))
		return "its header has a number of more than 64 bits";
	return NULL;
}

static const char *plain(struct walk *w, uint8_t c)
{
	if (c == '{' || c == '[')
		return opens(w, c);
	if (c == '}' || c == ']')
		return closes(w, c);
	if (c >= '0' && c <= '9' && w->depth)
		return digit(w, c);
	if (strchr(" \t\r\n,", c) && c) {
		if (c == ',' && w->depth == 2)
			w->field = OTHER;
		return number_ends(w);
	}
	if (!w->depth || !c || !strchr("\":-+.Eaeflnrstu", c))
		return "its header is no JSON";
	if (c == '"') {
		w->sum = TEXT;
		w->have = 0;
	} else if (c == ':' && w->depth == 2) {
		w->field = text_is(w, "dtype")          ? TYPE
			   : text_is(w, "shape")        ? SHAPE
			   : text_is(w, "data_offsets") ? OFFSETS
							: OTHER;
	}
	return NULL;
}

/* w->next: where the data begin. */
static const char *header(struct walk *w, struct walk_piece *p)
{
	const char *wrong = NULL;
	const uint8_t *span;
	uint64_t n = walk_span(w, p, &span);

	for (; n && !wrong; n--, span++)
		wrong = w->sum == PLAIN ? plain(w, *span) : text(w, *span);
	if (wrong || w->left)
		return wrong;
	w->part = DATA;
	if (w->field != OVER)
		return "its header ends too early";
	return w->pass == w->size - w->next ? NULL : "tensors are not the bytes behind the header";
}

const char *walk_safetensors(struct walk *w, struct walk_piece *p)
{
	const char *wrong = NULL;

	while (!wrong && p->left) {
		if (w->part == DATA) {
			p->left = 0;
		} else if (w->part == HEADER) {
			wrong = header(w, p);
		} else if (walk_gather(w, p, LENGTH_BYTES)) {
			uint64_t length = walk_little(w->bytes, LENGTH_BYTES);

			if (!length || length > HEADER_MAX || length > w->size - LENGTH_BYTES)
				return "has a header longer than its file";
			w->next = LENGTH_BYTES + length;
			walk_part(w, HEADER, length);
		}
	}
	return wrong;
}

const char *walk_safetensors_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == DATA ? NULL : "ends inside its header";
}
