/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/archive/safetensors_read.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/fnv.h"
#include "core/json.h"
#include "core/numbers.h"
#include "workloads/formats/walk.h"

/* JSON scanner: takes a text apart in place, value by value, without a tree of it. Only for texts
 * that json_check has accepted. Owned by one thread. */

struct json_scan {
	const char *at, *end;
};

static void json_scan_space(struct json_scan *s)
{
	while (s->at < s->end && memchr(" \t\r\n", *s->at, 4))
		s->at++;
}

/* The first character of the value that comes next: '"', '{', '[', or that of a number or word. */
static char json_scan_kind(struct json_scan *s)
{
	json_scan_space(s);
	return s->at < s->end ? *s->at : '\0';
}

/* Goes through an object or a list: json_scan_enter skips its bracket, and json_scan_next is true
 * while another value comes (then at an object's key, or at a list's value), else it skips the
 * closing bracket. */
static void json_scan_enter(struct json_scan *s)
{
	json_scan_space(s);
	s->at++;
}

static bool json_scan_next(struct json_scan *s)
{
	char c = json_scan_kind(s);

	if (c == ',') {
		s->at++;
		c = json_scan_kind(s);
	}
	if (c != '}' && c != ']')
		return true;
	s->at++;
	return false;
}

/* Goes past a string; true: it has escapes. */
static bool json_scan_string(struct json_scan *s)
{
	bool escapes = false;

	json_scan_space(s);
	for (s->at++; *s->at != '"'; s->at++)
		if (*s->at == '\\') {
			escapes = true;
			s->at++;
		}
	s->at++;
	return escapes;
}

static char *json_scan_text(struct json_scan *s, struct arena *arena)
{
	const char *begin;
	char *text = NULL;
	cJSON *decoded;
	size_t n;

	json_scan_space(s);
	begin = s->at;
	if (json_scan_string(s)) {
		decoded = cJSON_ParseWithLength(begin, (size_t)(s->at - begin));
		if (cJSON_IsString(decoded))
			text = arena_text(arena, decoded->valuestring);
		cJSON_Delete(decoded);
		return text;
	}
	n = (size_t)(s->at - begin) - 2;
	text = arena_alloc(arena, n + 1);
	if (text)
		memcpy(text, begin + 1, n);
	return text;
}

/* An object's key with the ':' behind it, or a value that is a string, in memory of the arena.
 * NULL: no memory. */
static char *json_scan_key(struct json_scan *s, struct arena *arena)
{
	char *key = json_scan_text(s, arena);

	json_scan_space(s);
	s->at++;
	return key;
}

/* A whole number of 64 bits, without sign; false: the value is something else, or larger. */
static bool json_scan_whole(struct json_scan *s, uint64_t *value)
{
	char c = json_scan_kind(s);

	*value = 0;
	if (c < '0' || c > '9')
		return false;
	for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*s->at - '0'), value))
			return false;
	/* What follows a whole number in JSON; not ".5" or "e3". */
	c = json_scan_kind(s);
	return c == ',' || c == ']' || c == '}';
}

/* Goes past any value. */
static void json_scan_skip(struct json_scan *s)
{
	unsigned depth = 0;

	do {
		char c = json_scan_kind(s);

		if (c == '"') {
			json_scan_string(s);
			continue;
		}
		if (c == '{' || c == '[')
			depth++;
		if (c == '}' || c == ']')
			depth--;
		s->at++;
		/* Numbers and words: up to what ends them. */
		while (!depth && s->at < s->end && !memchr(",]} \t\r\n", *s->at, 7) && c != '}' &&
		       c != ']')
			s->at++;
	} while (depth);
}

enum {
	DEPTH_MAX = 32,
	ROW_LEAST = 40,   /* no row of a tensor has fewer bytes */
	NUMBER_DIGITS = 6 /* of a layer or expert */
};

struct safetensors_type {
	const char *name;
	uint32_t bits;
};

#define TYPE(name, bits) {#name, bits},
static const struct safetensors_type types[] = {SAFETENSORS_TYPES(TYPE)};
#undef TYPE

int safetensors_header_bytes(const uint8_t first[SAFETENSORS_LENGTH_BYTES], uint64_t file_bytes,
			     uint64_t *header_bytes, struct err *err)
{
	uint64_t n = walk_little(first, SAFETENSORS_LENGTH_BYTES);

	if (n > SAFETENSORS_HEADER_MAX)
		return err_set(
			err, -EINVAL,
			"its header would have %" PRIu64 " bytes; at most 100 MB are allowed", n);
	if (file_bytes < SAFETENSORS_LENGTH_BYTES || n > file_bytes - SAFETENSORS_LENGTH_BYTES)
		return err_set(err, -EINVAL,
			       "its header of %" PRIu64 " bytes is longer than the file", n);
	*header_bytes = n;
	return 0;
}

/* Members of the outermost object. */
static uint64_t safetensors_members(struct json_scan s)
{
	uint64_t count = 0;

	for (json_scan_enter(&s); json_scan_next(&s); count++) {
		json_scan_skip(&s);  /* the key */
		json_scan_enter(&s); /* ':' */
		json_scan_skip(&s);
	}
	return count;
}

static int safetensors_wrong(const struct safetensors_tensor *t, const char *what, struct err *err)
{
	char name[JSON_QUOTE_BYTES];

	return err_set(err, -EINVAL, "tensor %s %s", json_quote(name, t->name), what);
}

/* A list of at most `most` whole numbers; false: it is something else. */
static bool safetensors_wholes(struct json_scan *s, uint64_t *values, uint32_t most,
			       uint32_t *count)
{
	*count = 0;
	if (json_scan_kind(s) != '[')
		return false;
	for (json_scan_enter(s); json_scan_next(s); (*count)++)
		if (*count == most || !json_scan_whole(s, &values[*count]))
			return false;
	return true;
}

static const struct safetensors_type *safetensors_type(const char *name)
{
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(name, types[i].name) == 0)
			return &types[i];
	return NULL;
}

/* The members of a tensor that are read. */
struct safetensors_row {
	const struct safetensors_type *type;
	bool shape;
	uint64_t offsets[2];
	uint32_t offset_count;
};

static int safetensors_member(struct json_scan *s, struct safetensors_tensor *t,
			      struct safetensors_row *row, struct arena *arena, struct err *err)
{
	const char *key = json_scan_key(s, arena), *text;

	if (!key)
		return err_set(err, -ENOMEM, "no memory for its header");
	if (strcmp(key, "dtype") == 0) {
		if (row->type || json_scan_kind(s) != '"')
			return safetensors_wrong(t, "must have one dtype, a string", err);
		text = json_scan_text(s, arena);
		row->type = text ? safetensors_type(text) : NULL;
		return row->type ? 0 : safetensors_wrong(t, "has a dtype that is not known", err);
	}
	if (strcmp(key, "shape") == 0) {
		if (row->shape ||
		    !safetensors_wholes(s, t->shape, SAFETENSORS_DIMENSIONS_MAX, &t->dimensions))
			return safetensors_wrong(
				t, "must have one shape, a list of at most 8 whole numbers", err);
		row->shape = true;
		return 0;
	}
	if (strcmp(key, "data_offsets") == 0) {
		if (row->offset_count ||
		    !safetensors_wholes(s, row->offsets, 2, &row->offset_count) ||
		    row->offset_count != 2)
			return safetensors_wrong(
				t, "must have one data_offsets, a list of two whole numbers", err);
		return 0;
	}
	json_scan_skip(s);
	return 0;
}

/* Whether the shape makes the bytes between the offsets. */
static bool safetensors_fits(const struct safetensors_tensor *t, uint32_t bits)
{
	unsigned __int128 elements = 1;

	for (uint32_t i = 0; i < t->dimensions; i++) {
		elements *= t->shape[i];
		if (elements >> 64)
			return false;
	}
	return elements * bits == (unsigned __int128)(t->end - t->begin) * 8;
}

/* A tensor whose name is read. `data` is where tensors begin in the file, data_bytes what there is
 * of them. */
static int safetensors_tensor(struct json_scan *s, struct safetensors_tensor *t, uint64_t data,
			      uint64_t data_bytes, struct arena *arena, struct err *err)
{
	struct safetensors_row row = {0};
	int rc = 0;

	if (json_scan_kind(s) != '{')
		return safetensors_wrong(t, "is not an object", err);
	for (json_scan_enter(s); rc == 0 && json_scan_next(s);)
		rc = safetensors_member(s, t, &row, arena, err);
	if (rc < 0)
		return rc;
	if (!row.type || !row.shape || !row.offset_count)
		return safetensors_wrong(t, "must have dtype, shape and data_offsets", err);
	if (row.offsets[0] > row.offsets[1] || row.offsets[1] > data_bytes)
		return safetensors_wrong(t, "has data_offsets that are not in the file", err);
	t->type = row.type->name;
	t->begin = data + row.offsets[0];
	t->end = data + row.offsets[1];
	if (!safetensors_fits(t, row.type->bits))
		return safetensors_wrong(t, "has a shape that does not make its bytes", err);
	return 0;
}

static int safetensors_by_name(const void *a, const void *b)
{
	return strcmp(((const struct safetensors_tensor *)a)->name,
		      ((const struct safetensors_tensor *)b)->name);
}

/* Tensors without bytes come before the one that begins there. */
static int safetensors_by_place(const void *a, const void *b)
{
	const struct safetensors_tensor *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Sorts the tensors, and looks at all of them together. */
static int safetensors_order(struct safetensors *out, uint64_t data, uint64_t file_bytes,
			     struct err *err)
{
	struct safetensors_tensor *t = out->tensors;
	uint64_t at = data;

	qsort(t, out->count, sizeof(*t), safetensors_by_name);
	for (uint64_t i = 1; i < out->count; i++)
		if (strcmp(t[i - 1].name, t[i].name) == 0)
			return safetensors_wrong(&t[i], "is there twice", err);
	qsort(t, out->count, sizeof(*t), safetensors_by_place);
	for (uint64_t i = 0; i < out->count; i++) {
		if (t[i].begin < at)
			return safetensors_wrong(&t[i], "overlaps another one", err);
		if (t[i].begin > at)
			return safetensors_wrong(&t[i], "has a gap before it", err);
		at = t[i].end;
	}
	if (at == file_bytes)
		return 0;
	return err_set(err, -EINVAL, "%" PRIu64 " bytes at its end belong to no tensor",
		       file_bytes - at);
}

/* Checks that a text is JSON and an object, and begins to scan it. */
static int safetensors_object(struct json_scan *s, const char *text, uint64_t bytes,
			      struct err *err)
{
	int rc = json_check(text, bytes, DEPTH_MAX, UINT_MAX, err);

	if (rc < 0)
		return rc;
	*s = (struct json_scan){text, text + bytes};
	return *text == '{' ? 0 : err_set(err, -EINVAL, "does not begin with '{'");
}

/* Makes room for the tensors. */
static int safetensors_room(struct safetensors *out, const struct json_scan *s, struct arena *arena,
			    struct err *err)
{
	uint64_t members = safetensors_members(*s);

	if (members > (uint64_t)(s->end - s->at) / ROW_LEAST + 1)
		return err_set(err, -EINVAL, "its header has members that are not tensors");
	*out = (struct safetensors){0};
	out->tensors = arena_alloc(arena, members * sizeof(*out->tensors));
	return out->tensors ? 0 : err_set(err, -ENOMEM, "no memory for its header");
}

int safetensors_read(struct safetensors *out, const char *header, uint64_t header_bytes,
		     uint64_t file_bytes, struct arena *arena, struct err *err)
{
	uint64_t data = SAFETENSORS_LENGTH_BYTES + header_bytes;
	struct json_scan s;
	int rc = safetensors_object(&s, header, header_bytes, err);

	if (rc < 0)
		return err_wrap(err, rc, "its header");
	rc = safetensors_room(out, &s, arena, err);
	if (rc < 0)
		return rc;
	for (json_scan_enter(&s); json_scan_next(&s);) {
		struct safetensors_tensor *t = &out->tensors[out->count];

		t->name = json_scan_key(&s, arena);
		if (!t->name)
			return err_set(err, -ENOMEM, "no memory for its header");
		if (strcmp(t->name, "__metadata__") == 0) {
			json_scan_skip(&s);
			continue;
		}
		rc = safetensors_tensor(&s, t, data, file_bytes - data, arena, err);
		if (rc < 0)
			return rc;
		out->count++;
	}
	return safetensors_order(out, data, file_bytes, err);
}

/* A name in the index's own folder. */
static bool safetensors_file_name(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       json_text_plain(name);
}

void safetensors_names_add(struct safetensors_names *n, const char *name)
{
	struct safetensors_names one = {.count = 1, .sum = fnv_add(FNV_START, name, strlen(name))};
	uint64_t number;

	if (safetensors_number(name, "layers", &number))
		one.layers = number + 1;
	if (safetensors_number(name, "experts", &number))
		one.experts = number + 1;
	safetensors_names_join(n, &one);
}

void safetensors_names_join(struct safetensors_names *n, const struct safetensors_names *more)
{
	n->count += more->count;
	n->sum += more->sum;
	n->layers = max_u64(n->layers, more->layers);
	n->experts = max_u64(n->experts, more->experts);
}

bool safetensors_number(const char *name, const char *part, uint64_t *number)
{
	size_t length = strlen(part), digits;

	for (const char *at = name; at; at = strchr(at, '.')) {
		at += *at == '.';
		if (strncmp(at, part, length) != 0 || at[length] != '.')
			continue;
		at += length + 1;
		digits = strspn(at, "0123456789");
		if (!digits || digits > NUMBER_DIGITS || at[digits] != '.')
			continue;
		*number = strtoull(at, NULL, 10);
		return true;
	}
	return false;
}

static int safetensors_compare_files(const void *a, const void *b)
{
	const struct safetensors_file *one = a, *other = b;

	return strcmp(one->name, other->name);
}

/* One tensor of the map, as a file of its own. */
static int safetensors_map_tensor(struct json_scan *s, struct safetensors_file *out,
				  struct arena *arena, struct err *err)
{
	const char *tensor = json_scan_key(s, arena);

	if (json_scan_kind(s) != '"')
		return err_set(err, -EINVAL,
			       "\"weight_map\" must map names of tensors to names of files");
	out->name = json_scan_text(s, arena);
	if (!tensor || !out->name)
		return err_set(err, -ENOMEM, "no memory for the names of files");
	safetensors_names_add(&out->tensors, tensor);
	if (!safetensors_file_name(out->name)) {
		char name[JSON_QUOTE_BYTES];

		return err_set(err, -EINVAL, "%s is not the name of a file in the same folder",
			       json_quote(name, out->name));
	}
	return 0;
}

/* The object "weight_map": from names of tensors to names of files. */
static int safetensors_weight_map(struct json_scan *s, struct safetensors_file **files,
				  uint64_t *count, struct arena *arena, struct err *err)
{
	struct safetensors_file *list =
		arena_alloc(arena, (safetensors_members(*s) + 1) * sizeof(*list));
	uint64_t n = 0;
	int rc;

	for (json_scan_enter(s); list && json_scan_next(s); n++) {
		list[n] = (struct safetensors_file){.name = NULL};
		rc = safetensors_map_tensor(s, &list[n], arena, err);
		if (rc < 0)
			return rc;
	}
	if (!list)
		return err_set(err, -ENOMEM, "no memory for the names of files");
	qsort(list, n, sizeof(*list), safetensors_compare_files);
	*count = 0;
	for (uint64_t i = 0; i < n; i++) {
		struct safetensors_file *last = *count ? &list[*count - 1] : NULL;

		if (last && strcmp(list[i].name, last->name) == 0) {
			safetensors_names_join(&last->tensors, &list[i].tensors);
		} else {
			list[(*count)++] = list[i];
		}
	}
	*files = list;
	return 0;
}

int safetensors_read_index(const char *index, uint64_t index_bytes, struct safetensors_file **files,
			   uint64_t *count, struct arena *arena, struct err *err)
{
	struct safetensors_file *names = NULL;
	struct json_scan s;
	int rc = safetensors_object(&s, index, index_bytes, err);

	if (rc < 0)
		return rc;
	for (json_scan_enter(&s); rc == 0 && json_scan_next(&s);) {
		const char *key = json_scan_key(&s, arena);

		if (!key)
			return err_set(err, -ENOMEM, "no memory for the index");
		if (strcmp(key, "weight_map") != 0) {
			json_scan_skip(&s);
			continue;
		}
		if (names || json_scan_kind(&s) != '{')
			return err_set(err, -EINVAL, "must have one \"weight_map\", an object");
		rc = safetensors_weight_map(&s, &names, count, arena, err);
	}
	if (rc == 0 && !names)
		return err_set(err, -EINVAL, "has no \"weight_map\"");
	*files = names;
	return rc;
}
