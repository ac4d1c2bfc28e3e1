/* Option parser: from JSON to structs. Defaults come first, then the given keys in the order of the
 * text, then the check for missing ones. An unknown key or one given twice ends it, so the work is
 * bounded by the tables. */
#include "core/option/option.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/json.h"
#include "core/option/internal.h"
#include "core/units.h"

enum { NAMES_MAX = 256 };

static int parts_default(const struct option_part *parts, unsigned count, struct arena *arena,
			 struct err *err);
static int table_default(const struct option *table, void *into, struct arena *arena,
			 struct err *err);
static int texts_default(const struct option *o, struct texts *texts, struct arena *arena,
			 struct err *err);
static int parts_fill(const struct option_part *parts, unsigned count, const char *const *others,
		      const struct cJSON *object, const char *path, struct arena *arena,
		      struct err *err);
static int parts_preset(const struct option_part *parts, unsigned count, const struct cJSON *object,
			const char *path, struct arena *arena, struct err *err);
static int parse_key(const struct option_part *parts, unsigned count, const char *const *others,
		     const struct cJSON *child, const char *path, struct arena *arena,
		     struct err *err);
static int refuse_key(const struct option_part *parts, unsigned count, const char *const *others,
		      const char *key, const char *where, struct err *err);
static int parts_required(const struct option_part *parts, unsigned count,
			  const struct cJSON *object, const char *path, struct err *err);
static int parts_chosen(const struct option_part *parts, unsigned count, const struct cJSON *object,
			const char *path, struct err *err);
static int parse_whole(const struct option *o, uint64_t *out, const struct cJSON *value,
		       const char *where, struct err *err);
static int parse_real(const struct option *o, double *out, const struct cJSON *value,
		      const char *where, struct err *err);
static int parse_text(const struct option *o, char *out, const struct cJSON *value,
		      const char *where, struct err *err);
static int parse_texts(struct texts *out, const struct cJSON *value, const char *where,
		       struct arena *arena, struct err *err);
static int parse_choice(const struct option *o, uint32_t *out, const struct cJSON *value,
			const char *where, struct err *err);
static int parse_factors(const struct option *o, struct factors *out, const struct cJSON *value,
			 const char *where, struct err *err);
static int parse_table(const struct option *o, void *out, const struct cJSON *value,
		       const char *where, struct arena *arena, struct err *err);

int option_refuse(const char *where, const char *wanted, const struct cJSON *value, struct err *err)
{
	char is[JSON_QUOTE_BYTES];

	return err_set(err, -EINVAL, "%s: must be %s, is %s", where, wanted,
		       json_describe(is, value));
}

int options_parse(const struct option *const *tables, void *into, const struct cJSON *object,
		  const char *path, struct arena *arena, struct err *err)
{
	struct option_part part = {tables, into};

	return options_parse_parts(&part, 1, NULL, object, path, arena, err);
}

int options_parse_parts(const struct option_part *parts, unsigned count, const char *const *others,
			const struct cJSON *object, const char *path, struct arena *arena,
			struct err *err)
{
	int rc = parts_default(parts, count, arena, err);

	return rc < 0 || !object ? rc : parts_fill(parts, count, others, object, path, arena, err);
}

/* Applies what is given to structs that already hold values. */
static int parts_fill(const struct option_part *parts, unsigned count, const char *const *others,
		      const struct cJSON *object, const char *path, struct arena *arena,
		      struct err *err)
{
	char where[OPTION_PATH_BYTES];
	const cJSON *child;
	int rc;

	if (!cJSON_IsObject(object))
		return option_refuse(*path ? path : "/", "an object", object, err);
	rc = parts_preset(parts, count, object, path, arena, err);
	if (rc < 0)
		return rc;
	cJSON_ArrayForEach(child, object)
	{
		if (cJSON_GetObjectItemCaseSensitive(object, child->string) != child) {
			option_path(where, path, child->string);
			return err_set(err, -EINVAL, "%s: given twice", where);
		}
		rc = parse_key(parts, count, others, child, path, arena, err);
		if (rc < 0)
			return rc;
	}
	rc = parts_required(parts, count, object, path, err);
	return rc < 0 ? rc : parts_chosen(parts, count, object, path, err);
}

static int parts_default(const struct option_part *parts, unsigned count, struct arena *arena,
			 struct err *err)
{
	const struct option *const *table;
	unsigned i;
	int rc = 0;

	for (i = 0; i < count && !rc; i++)
		for (table = parts[i].tables; *table && !rc; table++)
			rc = table_default(*table, parts[i].into, arena, err);
	return rc;
}

static int table_default(const struct option *table, void *into, struct arena *arena,
			 struct err *err)
{
	const struct option *o;
	void *member;
	int rc = 0;

	for (o = table; o->name && !rc; o++) {
		member = option_member(into, o);
		switch (o->kind) {
		case OPTION_REAL:
			*(double *)member = o->def_real;
			break;
		case OPTION_BOOL:
			*(bool *)member = o->def != 0;
			break;
		case OPTION_CHOICE:
			*(uint32_t *)member = (uint32_t)o->def;
			break;
		case OPTION_TEXT:
			snprintf(member, o->size, "%s", o->def_text ? o->def_text : "");
			break;
		case OPTION_TEXTS:
			rc = texts_default(o, member, arena, err);
			break;
		case OPTION_DRAW:
			*(struct draw *)member =
				(struct draw){.kind = DRAW_CONSTANT, .a = o->def_real};
			break;
		case OPTION_FACTORS:
			memset(member, 0, sizeof(struct factors));
			break;
		case OPTION_TABLE:
			rc = table_default(o->table, member, arena, err);
			break;
		case OPTION_LIST:
			*option_list_count(into, o) = 0;
			memset(member, 0, o->size * o->max);
			break;
		default:
			*(uint64_t *)member = o->def;
		}
	}
	return rc;
}

static int texts_default(const struct option *o, struct texts *texts, struct arena *arena,
			 struct err *err)
{
	*texts = (struct texts){0};
	if (!o->def_text)
		return 0;
	texts->items = arena_alloc(arena, sizeof(char *));
	if (texts->items)
		texts->items[0] = arena_text(arena, o->def_text);
	if (!texts->items || !texts->items[0])
		return err_set(err, -ENOMEM, "no memory for the default of %s", o->name);
	texts->count = 1;
	return 0;
}

static int parts_preset(const struct option_part *parts, unsigned count, const struct cJSON *object,
			const char *path, struct arena *arena, struct err *err)
{
	const struct option *const *table;
	const struct option *o;
	const cJSON *child;
	unsigned i;
	int rc;

	for (i = 0; i < count; i++)
		for (table = parts[i].tables; *table; table++)
			for (o = *table; o->name; o++) {
				if (!o->preset)
					continue;
				child = cJSON_GetObjectItemCaseSensitive(object, o->name);
				if (!child)
					continue;
				rc = parse_key(parts, count, NULL, child, path, arena, err);
				if (rc < 0)
					return rc;
				o->preset(parts[i].into);
			}
	return 0;
}

/* The option of that name, and the struct that it fills. */
static const struct option *option_of_key(const struct option_part *parts, unsigned count,
					  const char *key, void **into)
{
	const struct option *const *table;
	const struct option *o;
	unsigned i;

	for (i = 0; i < count; i++)
		for (table = parts[i].tables; *table; table++)
			for (o = *table; o->name; o++)
				if (!strcmp(o->name, key)) {
					*into = parts[i].into;
					return o;
				}
	return NULL;
}

static int parse_key(const struct option_part *parts, unsigned count, const char *const *others,
		     const struct cJSON *child, const char *path, struct arena *arena,
		     struct err *err)
{
	char where[OPTION_PATH_BYTES];
	const char *const *other;
	const struct option *o;
	void *into;

	for (other = others; other && *other; other++)
		if (!strcmp(*other, child->string))
			return 0;
	option_path(where, path, child->string);
	o = option_of_key(parts, count, child->string, &into);
	if (!o)
		return refuse_key(parts, count, others, child->string, where, err);
	return option_parse_one(o, into, child, where, arena, err);
}

static int refuse_key(const struct option_part *parts, unsigned count, const char *const *others,
		      const char *key, const char *where, struct err *err)
{
	const struct option *const *table;
	const struct option *o;
	const char *names[NAMES_MAX + 1];
	char known[400] = "";
	const char *near;
	unsigned i, n = 0;

	for (i = 0; others && others[i] && n < NAMES_MAX; i++)
		names[n++] = others[i];
	for (i = 0; i < count; i++)
		for (table = parts[i].tables; *table; table++)
			for (o = *table; o->name && n < NAMES_MAX; o++)
				names[n++] = o->name;
	names[n] = NULL;
	near = option_nearest(key, names);
	if (near)
		return err_set(err, -EINVAL, "%s: unknown key; did you mean \"%s\"?", where, near);
	if (!n)
		return err_set(err, -EINVAL, "%s: unknown key; there are no options here", where);
	for (i = 0; i < n; i++) {
		if (strlen(known) + strlen(names[i]) + 8 > sizeof(known)) {
			strcat(known, ", …");
			break;
		}
		if (i)
			strcat(known, ", ");
		strcat(known, names[i]);
	}
	return err_set(err, -EINVAL, "%s: unknown key; known are: %s", where, known);
}

static int parts_required(const struct option_part *parts, unsigned count,
			  const struct cJSON *object, const char *path, struct err *err)
{
	const struct option *const *table;
	const struct option *o;
	unsigned i;

	for (i = 0; i < count; i++)
		for (table = parts[i].tables; *table; table++)
			for (o = *table; o->name; o++)
				if (o->required &&
				    !cJSON_GetObjectItemCaseSensitive(object, o->name))
					return err_set(err, -EINVAL, "%s/%s: is missing", path,
						       o->name);
	return 0;
}

/* Refuses tables that belong to another value of a choice than the chosen one. */
static int parts_chosen(const struct option_part *parts, unsigned count, const struct cJSON *object,
			const char *path, struct err *err)
{
	const struct option *const *table;
	const struct option *o;
	unsigned i;

	for (i = 0; i < count; i++)
		for (table = parts[i].tables; *table; table++)
			for (o = *table; o->name; o++)
				if (cJSON_GetObjectItemCaseSensitive(object, o->name) &&
				    !option_chosen(o, *table, parts[i].into))
					return err_set(err, -EINVAL,
						       "%s/%s: is for %s \"%s\", not for \"%s\"",
						       path, o->name, o->of, o->name,
						       option_choice(o->of, *table, parts[i].into));
	return 0;
}

int option_parse_one(const struct option *o, void *into, const struct cJSON *value,
		     const char *where, struct arena *arena, struct err *err)
{
	void *member = option_member(into, o);

	switch (o->kind) {
	case OPTION_REAL:
		return parse_real(o, member, value, where, err);
	case OPTION_BOOL:
		if (!cJSON_IsBool(value))
			return option_refuse(where, "true or false", value, err);
		*(bool *)member = cJSON_IsTrue(value);
		return 0;
	case OPTION_TEXT:
		return parse_text(o, member, value, where, err);
	case OPTION_TEXTS:
		return parse_texts(member, value, where, arena, err);
	case OPTION_CHOICE:
		return parse_choice(o, member, value, where, err);
	case OPTION_DRAW:
		return option_draw_parse(o, member, value, where, arena, err);
	case OPTION_FACTORS:
		return parse_factors(o, member, value, where, err);
	case OPTION_TABLE:
		return parse_table(o, member, value, where, arena, err);
	case OPTION_LIST:
		return option_list_parse(o, into, value, where, arena, err);
	default:
		return parse_whole(o, member, value, where, err);
	}
}

static int whole_number(const struct option *o, uint64_t *out, const struct cJSON *value,
			const char *where, struct err *err);
static int whole_text(const struct option *o, uint64_t *out, const struct cJSON *value,
		      const char *where, struct err *err);

/* Parses whole numbers, sizes, rates and times: everything that ends as a uint64_t. */
static int parse_whole(const struct option *o, uint64_t *out, const struct cJSON *value,
		       const char *where, struct err *err)
{
	static const char *const wanted[] = {
		[OPTION_U64] = "a whole number",
		[OPTION_BYTES] = "a number of bytes or a size such as \"140 MiB\"",
		[OPTION_TIME] = "a number of seconds or a time such as \"323 ms\"",
		[OPTION_RATE] = "a number of bytes per second or a rate such as \"2 GB/s\"",
	};
	char limit[OPTION_EXACT_BYTES], is[OPTION_EXACT_BYTES];
	uint64_t v = 0;
	int rc;

	if (cJSON_IsNumber(value))
		rc = whole_number(o, &v, value, where, err);
	else if (cJSON_IsString(value))
		rc = whole_text(o, &v, value, where, err);
	else
		rc = option_refuse(where, wanted[o->kind], value, err);
	if (rc < 0)
		return rc;
	if (v < o->min)
		return err_set(err, -EINVAL, "%s: must be at least %s, is %s", where,
			       option_exact(limit, o->kind, o->min), option_exact(is, o->kind, v));
	if (o->max && v > o->max)
		return err_set(err, -EINVAL, "%s: must be at most %s, is %s", where,
			       option_exact(limit, o->kind, o->max), option_exact(is, o->kind, v));
	*out = v;
	return 0;
}

static int whole_number(const struct option *o, uint64_t *out, const struct cJSON *value,
			const char *where, struct err *err)
{
	char is[JSON_QUOTE_BYTES], limit[OPTION_EXACT_BYTES];
	double d = value->valuedouble;

	json_describe(is, value);
	if (d < 0)
		return err_set(err, -EINVAL, "%s: must be at least %s, is %s", where,
			       option_exact(limit, o->kind, o->min), is);
	if (o->kind == OPTION_TIME) {
		d *= 1e9;
		if (!(d < 0x1p64))
			return err_set(err, -EINVAL, "%s: must be below 2^64 ns, is %s s", where,
				       is);
		*out = (uint64_t)(d + 0.5 < 0x1p53 ? d + 0.5 : d);
		return 0;
	}
	if (!isfinite(d) || d != floor(d))
		return err_set(err, -EINVAL, "%s: must be a whole number%s, is %s", where,
			       o->kind == OPTION_U64 ? "" : " of bytes", is);
	if (d > JSON_WHOLE_MAX)
		return err_set(
			err, -EINVAL,
			"%s: whole numbers of 2^53 and more are written as strings, in quotes",
			where);
	*out = (uint64_t)d;
	return 0;
}

static int whole_text(const struct option *o, uint64_t *out, const struct cJSON *value,
		      const char *where, struct err *err)
{
	const char *text = value->valuestring;
	char *end;
	int rc;

	if (o->kind == OPTION_U64) {
		if (!*text || text[strspn(text, "0123456789")])
			return option_refuse(where, "a whole number", value, err);
		errno = 0;
		*out = strtoull(text, &end, 10);
		return errno ? option_refuse(where, "below 2^64", value, err) : 0;
	}
	if (o->kind == OPTION_BYTES)
		rc = units_parse_bytes(text, out, err);
	else if (o->kind == OPTION_TIME)
		rc = units_parse_time(text, out, err);
	else
		rc = units_parse_rate(text, out, err);
	return rc < 0 ? err_wrap(err, rc, "%s", where) : 0;
}

static int parse_real(const struct option *o, double *out, const struct cJSON *value,
		      const char *where, struct err *err)
{
	char is[JSON_QUOTE_BYTES];
	double v;

	if (!cJSON_IsNumber(value) || !isfinite(value->valuedouble))
		return option_refuse(where, "a number", value, err);
	v = value->valuedouble;
	json_describe(is, value);
	if (v < option_min_real(o))
		return err_set(err, -EINVAL, "%s: must be at least %g, is %s", where,
			       option_min_real(o), is);
	if (v > option_max_real(o))
		return err_set(err, -EINVAL, "%s: must be at most %g, is %s", where,
			       option_max_real(o), is);
	*out = v;
	return 0;
}

static int plain_text(const struct cJSON *value, const char *where, struct err *err)
{
	char is[JSON_QUOTE_BYTES];

	if (json_text_plain(value->valuestring))
		return 0;
	return err_set(err, -EINVAL, "%s: must not hold control characters, is %s", where,
		       json_describe(is, value));
}

static int parse_text(const struct option *o, char *out, const struct cJSON *value,
		      const char *where, struct err *err)
{
	size_t length;
	int rc;

	if (!cJSON_IsString(value))
		return option_refuse(where, "a string", value, err);
	rc = plain_text(value, where, err);
	if (rc < 0)
		return rc;
	length = strlen(value->valuestring);
	if (length >= o->size)
		return err_set(err, -EINVAL, "%s: must be at most %u bytes long, is %zu", where,
			       o->size - 1, length);
	memcpy(out, value->valuestring, length + 1);
	return 0;
}

static int parse_texts(struct texts *out, const struct cJSON *value, const char *where,
		       struct arena *arena, struct err *err)
{
	const cJSON *item = cJSON_IsArray(value) ? value->child : value;
	char at[OPTION_PATH_BYTES + 16];
	uint32_t i, count;
	int rc;

	if (!cJSON_IsArray(value) && !cJSON_IsString(value))
		return option_refuse(where, "a string or a list of strings", value, err);
	count = cJSON_IsArray(value) ? (uint32_t)cJSON_GetArraySize(value) : 1;
	out->count = 0;
	out->items = arena_alloc(arena, (count + 1) * sizeof(char *));
	if (!out->items)
		return err_set(err, -ENOMEM, "%s: no memory", where);
	for (i = 0; i < count; i++, item = item->next) {
		snprintf(at, sizeof(at), cJSON_IsArray(value) ? "%s/%u" : "%s", where, i);
		if (!cJSON_IsString(item))
			return option_refuse(at, "a string", item, err);
		rc = plain_text(item, at, err);
		if (rc < 0)
			return rc;
		out->items[i] = arena_text(arena, item->valuestring);
		if (!out->items[i])
			return err_set(err, -ENOMEM, "%s: no memory", where);
	}
	out->count = count;
	return 0;
}

static int parse_choice(const struct option *o, uint32_t *out, const struct cJSON *value,
			const char *where, struct err *err)
{
	char is[JSON_QUOTE_BYTES], known[400] = "";
	const char *near = NULL;
	uint32_t i, n = 0;

	while (o->choices[n])
		n++;
	for (i = 0; i < n; i++) {
		if (cJSON_IsString(value) && !strcmp(value->valuestring, o->choices[i])) {
			*out = i;
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s\"%s\"",
			 !i           ? ""
			 : i + 1 == n ? " or "
				      : ", ",
			 o->choices[i]);
	}
	if (cJSON_IsString(value))
		near = option_nearest(value->valuestring, o->choices);
	json_describe(is, value);
	if (near && n > 1)
		return err_set(err, -EINVAL, "%s: must be %s, is %s; did you mean \"%s\"?", where,
			       known, is, near);
	return err_set(err, -EINVAL, "%s: must be %s, is %s", where, known, is);
}

static int parse_factors(const struct option *o, struct factors *out, const struct cJSON *value,
			 const char *where, struct err *err)
{
	char at[OPTION_PATH_BYTES];
	unsigned long index;
	const cJSON *child;
	uint32_t i;
	int rc;

	out->count = 0;
	if (!cJSON_IsObject(value))
		return option_refuse(where, "an object such as {\"3\": 0.25}", value, err);
	cJSON_ArrayForEach(child, value)
	{
		option_path(at, where, child->string);
		index = strtoul(child->string, NULL, 10);
		if (!*child->string ||
		    strspn(child->string, "0123456789") != strlen(child->string) ||
		    strlen(child->string) > 10 || index >= UINT32_MAX ||
		    (child->string[0] == '0' && child->string[1]))
			return err_set(err, -EINVAL, "%s: the key must be an index, such as \"3\"",
				       at);
		if (out->count == FACTORS_MAX)
			return err_set(err, -EINVAL, "%s: must hold at most %d factors", where,
				       FACTORS_MAX);
		for (i = 0; i < out->count; i++)
			if (out->index[i] == index)
				return err_set(err, -EINVAL, "%s: given twice", at);
		rc = parse_real(o, &out->factor[i], child, at, err);
		if (rc < 0)
			return rc;
		out->index[out->count++] = (uint32_t)index;
	}
	return 0;
}

/* The struct already has the defaults of the outer table, or the values of a preset. */
static int parse_table(const struct option *o, void *out, const struct cJSON *value,
		       const char *where, struct arena *arena, struct err *err)
{
	const struct option *const tables[] = {o->table, NULL};
	const struct option_part part = {tables, out};
	int rc;

	if (cJSON_IsObject(value))
		return parts_fill(&part, 1, NULL, value, where, arena, err);
	if (cJSON_IsArray(value) || cJSON_IsNull(value))
		return option_refuse(where, "an object", value, err);
	rc = option_parse_one(o->table, out, value, where, arena, err);
	if (rc == 0 && o->table->preset)
		o->table->preset(out);
	return rc;
}
