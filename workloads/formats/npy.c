/* SPDX-License-Identifier: Apache-2.0 */
/* npy: one numpy array of bytes (NEP 1, version 1.0).
 *
 *   "\x93NUMPY" 1 0 | length of the text, u16 LE | text, spaces, newline | payload
 *   0               8                            10                      a multiple of 64
 *
 * A reader takes the header first (it holds the shape), then a sample's row. */
#include "workloads/formats/npy.h"

#include <string.h>

#include "workloads/formats/payload.h"

enum { NPY_FRONT, NPY_TEXT, NPY_DATA };
enum { FRONT_BYTES = 10, FRONT_LARGE_BYTES = 12 };

struct npy_walk {
	uint64_t data_at; /* where the array begins in the file */
	struct npy_text text;
};

/* What follows `what` in the text; NULL: it does not occur. */
static const char *npy_walk_behind(const char *text, uint64_t n, const char *what)
{
	const char *found = memmem(text, n, what, strlen(what));

	return found ? found + strlen(what) : NULL;
}

static const char *npy_walk_number(const char *at, const char *end, uint64_t *value)
{
	*value = 0;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, *at - '0', value))
			return NULL;
	return at;
}

/* Of "'|u1'"; 0: the type has no one size. */
static uint64_t npy_walk_type_bytes(const char *at, const char *end)
{
	uint64_t bytes;

	if (end - at < 4 || at[0] != '\'' || !strchr("<>|=", at[1]) || !strchr("biufcmMVSU", at[2]))
		return 0;
	return npy_walk_number(at + 3, end, &bytes) ? bytes * (at[2] == 'U' ? 4 : 1) : 0;
}

/* Elements of "(3, 1000)". False: it is not a shape. */
static bool npy_walk_shape(const char *at, const char *end, uint64_t *count)
{
	*count = 1;
	while (at < end && *at != ')') {
		const char *begin = at;
		uint64_t value;

		at = npy_walk_number(at, end, &value);
		if (!at || at == begin || __builtin_mul_overflow(*count, value, count))
			return false;
		while (at < end && (*at == ',' || *at == ' '))
			at++;
	}
	return at < end;
}

const char *npy_walk_text(const struct npy_text *header, uint64_t n, uint64_t data_bytes)
{
	const char *text = (const char *)header->bytes, *end = text + n;
	const char *type = npy_walk_behind(text, n, "'descr': ");
	const char *shape = npy_walk_behind(text, n, "'shape': (");
	uint64_t count, element;

	if (!n || *text != '{' || end[-1] != '\n' || !type || !shape)
		return "has an array's header that is not a header";
	if (!npy_walk_shape(shape, end, &count))
		return "has an array's header without a shape";
	element = npy_walk_type_bytes(type, end);
	if (element && (__builtin_mul_overflow(count, element, &count) || count != data_bytes))
		return "an array's shape is not that of its bytes";
	return NULL;
}

bool npy_walk_front(struct walk *w, struct walk_piece *p, struct npy_text *text,
		    uint64_t *text_bytes, const char **wrong)
{
	uint8_t *bytes = text->bytes;

	*wrong = NULL;
	if (w->have < FRONT_BYTES && !walk_gather(w, p, bytes, NPY_TEXT_MAX, FRONT_BYTES))
		return false;
	if (memcmp(bytes, "\x93NUMPY", 6) != 0 || !bytes[6] || bytes[6] > 3) {
		*wrong = "has no array where one must begin";
		return true;
	}
	if (bytes[6] > 1 && !walk_gather(w, p, bytes, NPY_TEXT_MAX, FRONT_LARGE_BYTES))
		return false;
	*text_bytes = walk_little(bytes + 8, bytes[6] > 1 ? 4 : 2);
	return true;
}

static const char *npy_walk_take(struct walk *w, struct walk_piece *p)
{
	struct npy_walk *s = WALK_STATE(struct npy_walk, w);
	const char *wrong = NULL;
	uint64_t n;

	while (!wrong && p->left) {
		switch (w->part) {
		case NPY_FRONT:
			if (!npy_walk_front(w, p, &s->text, &n, &wrong) || wrong)
				break;
			s->data_at = w->have + n;
			walk_part(w, n > NPY_TEXT_MAX ? NPY_DATA : NPY_TEXT, n);
			if (s->data_at > w->size)
				wrong = "has an array's header longer than the file";
			break;
		case NPY_TEXT:
			if (!walk_gather(w, p, s->text.bytes, NPY_TEXT_MAX, w->left))
				break;
			wrong = npy_walk_text(&s->text, w->left, w->size - s->data_at);
			walk_part(w, NPY_DATA, 0);
			break;
		default:
			p->left = 0;
			break;
		}
	}
	return wrong;
}

static const char *npy_walk_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == NPY_DATA ? NULL : "ends inside its header";
}

static const struct walk_ops npy_walk = {npy_walk_take, npy_walk_end, true};

enum { NPY_TEXT_AT = 10, NPY_ALIGNMENT = 64 };

static uint8_t *npy_put_text(uint8_t *at, const char *text)
{
	size_t n = strlen(text);

	memcpy(at, text, n);
	return at + n;
}

/* Written by hand: this is made for each file, and printf takes ten times as long. */
uint32_t npy_header(uint8_t *out, const char *descr, uint64_t samples, uint64_t sample_bytes)
{
	uint8_t *at = npy_put_text(out + NPY_TEXT_AT, "{'descr': '");
	uint32_t used, total;

	at = npy_put_text(at, descr);
	at = npy_put_text(at, "', 'fortran_order': False, 'shape': (");
	at = put_decimal(at, sample_bytes && samples <= 1 ? sample_bytes : samples);
	*at++ = ',';
	if (sample_bytes && samples > 1) {
		*at++ = ' ';
		at = put_decimal(at, sample_bytes);
	}
	at = npy_put_text(at, "), }");
	used = (uint32_t)(at - out);
	total = (used + 1 + NPY_ALIGNMENT - 1) / NPY_ALIGNMENT * NPY_ALIGNMENT;
	memset(at, ' ', total - used);
	out[total - 1] = '\n';
	memcpy(out, "\x93NUMPY\x01", 8); /* and the string's own zero */
	put_little(out + 8, total - NPY_TEXT_AT, 2);
	return total;
}

static void npy_make_header(const struct layout *l, uint8_t *out)
{
	npy_header(out, "|u1", l->samples, l->sample_bytes);
}

static void npy_layout(struct layout *l)
{
	uint8_t header[NPY_HEADER_MAX];

	l->data_offset = npy_header(header, "|u1", l->samples, l->sample_bytes);
	payload_contiguous(l);
}

static uint32_t npy_extents(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX])
{
	out[0] = (struct extent){.offset = 0, .length = l->data_offset};
	out[1] = (struct extent){.offset = l->data_offset + sample * l->sample_bytes,
				 .length = l->sample_bytes};
	return 2;
}

const struct format_ops format_npy = {
	.magic = {.bytes = "\x93NUMPY", .count = 6},
	.layout = npy_layout,
	.extents = npy_extents,
	.header = npy_make_header,
	.payload = payload_plain,
	.walk = &npy_walk,
	.count = npy_count,
};
