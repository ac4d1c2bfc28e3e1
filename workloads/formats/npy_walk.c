/* npy: the mark, the version, the length of a text, and the text: type and shape make the bytes behind it.
 * Of a text longer than numpy writes, and of types without one size, that is not known. */
#include <string.h>

#include "workloads/formats/npy_walk.h"

enum { HEAD, TEXT, DATA };
enum { HEAD_BYTES = 10, HEAD_LARGE_BYTES = 12 };

/* Behind what, in the text; NULL: it is not there. */
static const char *behind(const char *text, uint64_t n, const char *what)
{
	const char *found = memmem(text, n, what, strlen(what));

	return found ? found + strlen(what) : NULL;
}

static const char *number(const char *at, const char *end, uint64_t *value)
{
	*value = 0;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, *at - '0', value))
			return NULL;
	return at;
}

/* '|u1': 0 where the type has no one size. */
static uint64_t type_bytes(const char *at, const char *end)
{
	uint64_t bytes;

	if (end - at < 4 || at[0] != '\'' || !strchr("<>|=", at[1]) || !strchr("biufcmMVSU", at[2]))
		return 0;
	return number(at + 3, end, &bytes) ? bytes * (at[2] == 'U' ? 4 : 1) : 0;
}

/* (3, 1000): how many elements. False: it is no shape. */
static bool shape_count(const char *at, const char *end, uint64_t *count)
{
	*count = 1;
	while (at < end && *at != ')') {
		const char *begin = at;
		uint64_t value;

		at = number(at, end, &value);
		if (!at || at == begin || __builtin_mul_overflow(*count, value, count))
			return false;
		while (at < end && (*at == ',' || *at == ' '))
			at++;
	}
	return at < end;
}

const char *walk_npy_text(const uint8_t *bytes, uint64_t n, uint64_t data_bytes)
{
	const char *text = (const char *)bytes, *end = text + n;
	const char *type = behind(text, n, "'descr': "), *shape = behind(text, n, "'shape': (");
	uint64_t count, element;

	if (!n || *text != '{' || end[-1] != '\n' || !type || !shape)
		return "has an array's header that is no header";
	if (!shape_count(shape, end, &count))
		return "has an array's header without a shape";
	element = type_bytes(type, end);
	if (element && (__builtin_mul_overflow(count, element, &count) || count != data_bytes))
		return "an array's shape is not that of its bytes";
	return NULL;
}

bool walk_npy_head(struct walk *w, struct walk_piece *p, const char **wrong, uint64_t *text)
{
	if (w->have < HEAD_BYTES && !walk_gather(w, p, HEAD_BYTES))
		return false;
	*wrong = "has no array where one must begin";
	if (memcmp(w->bytes, "\x93NUMPY", 6) != 0 || !w->bytes[6] || w->bytes[6] > 3)
		return true;
	*wrong = NULL;
	if (w->bytes[6] > 1 && !walk_gather(w, p, HEAD_LARGE_BYTES))
		return false;
	*text = walk_little(w->bytes + 8, w->bytes[6] > 1 ? 4 : 2);
	return true;
}

const char *walk_npy(struct walk *w, struct walk_piece *p)
{
	const char *wrong = NULL;
	uint64_t text;

	walk_jumps(w, p);
	while (!wrong && p->left) {
		switch (w->part) {
		case HEAD:
			if (!walk_npy_head(w, p, &wrong, &text) || wrong)
				break;
			w->value = w->have + text;
			walk_part(w, text > WALK_BYTES ? DATA : TEXT, text);
			if (w->value > w->size)
				wrong = "has an array's header longer than the file";
			break;
		case TEXT:
			if (!walk_gather(w, p, (uint32_t)w->left))
				break;
			wrong = walk_npy_text(w->bytes, w->left, w->size - w->value);
			walk_part(w, DATA, 0);
			break;
		default:
			p->left = 0;
			break;
		}
	}
	return wrong;
}

const char *walk_npy_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == DATA ? NULL : "ends inside its header";
}
