/* SPDX-License-Identifier: Apache-2.0 */
/* npy: the mark, the version, the length of a text, and the text, whose type and shape must make
 * the bytes behind it. Texts longer than numpy writes are not looked at, nor types of varying
 * size. */
#include <string.h>

#include "workloads/formats/npy.h"

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

const struct walk_ops npy_walk = {npy_walk_take, npy_walk_end, true};
