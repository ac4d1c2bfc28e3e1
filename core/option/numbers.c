/* SPDX-License-Identifier: Apache-2.0 */
/* Options that are numbers: whole ones, sizes, times, rates, reals, true or false, and factors,
 * which are a real for each index. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/option/internal.h"
#include "core/units.h"

/* Seconds with 15 significant digits are exact to the nanosecond below this. */
#define SECONDS_EXACT_NS 1000000000000000ull

#define NUMBER_PATTERN "^[0-9]+(\\.[0-9]+)? *"
#define SIZE_PATTERN   NUMBER_PATTERN "((k|K|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?B"

enum { OPTION_EXACT_BYTES = 48 };

struct scale {
	uint64_t factor;
	const char *name;
};
static const struct scale ones[] = {{1, ""}};
static const struct scale sizes[] = {
	{1ull << 40, " TiB"}, {1ull << 30, " GiB"},      {1ull << 20, " MiB"},
	{1ull << 10, " KiB"}, {1000000000000ull, " TB"}, {1000000000ull, " GB"},
	{1000000ull, " MB"},  {1000ull, " kB"},          {1, " B"}};
static const struct scale times[] = {{86400000000000ull, " d"},
				     {3600000000000ull, " h"},
				     {60000000000ull, " min"},
				     {1000000000ull, " s"},
				     {1000000ull, " ms"},
				     {1000ull, " us"},
				     {1, " ns"}};

/* Kinds that end as a uint64_t, by their kind. */
static const struct whole {
	const char *wanted;
	const char *pattern; /* of a text */
	const char *type;    /* of a number, in the schema */
	int (*parse)(const char *text, uint64_t *out, struct err *err);
	const struct scale *scale;
	uint64_t zero; /* the factor of the unit in which 0 is shown */
	const char *suffix;
	double per, most; /* what 1 stands for where it is given as a number; the greatest value */
} wholes[] = {
	[OPTION_U64] = {"a whole number", "^[0-9]+$", "integer", NULL, ones, 1, "", 1,
			JSON_WHOLE_MAX},
	[OPTION_BYTES] = {"a number of bytes or a size such as \"140 MiB\"", SIZE_PATTERN ")?$",
			  "integer", units_parse_bytes, sizes, 1, "", 1, JSON_WHOLE_MAX},
	[OPTION_TIME] = {"a number of seconds or a time such as \"323 ms\"",
			 NUMBER_PATTERN "(ns|us|\xc2\xb5s|\xce\xbcs|ms|s|min|h|d)?$", "number",
			 units_parse_time, times, 1000000000, "", 1e9, 0x1p64},
	[OPTION_RATE] = {"a number of bytes per second or a rate such as \"2 GB/s\"",
			 SIZE_PATTERN "/s)?$", "integer", units_parse_rate, sizes, 1, "/s", 1,
			 JSON_WHOLE_MAX},
};

/* A whole number in the largest unit that shows it exactly: "4 KiB", "1500 us", "7". */
static char *option_exact(char buf[OPTION_EXACT_BYTES], enum option_kind kind, uint64_t value)
{
	const struct whole *w = &wholes[kind];
	const struct scale *s = w->scale;

	while (value % s->factor || (!value && s->factor != w->zero))
		s++;
	snprintf(buf, OPTION_EXACT_BYTES, "%llu%s%s", (unsigned long long)(value / s->factor),
		 s->name, w->suffix);
	return buf;
}

static int whole_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	(void)arena;
	(void)err;
	*(uint64_t *)member = o->def;
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
			return option_refuse(where, wholes[o->kind].wanted, value, err);
		errno = 0;
		*out = strtoull(text, &end, 10);
		return errno ? option_refuse(where, "below 2^64", value, err) : 0;
	}
	rc = wholes[o->kind].parse(text, out, err);
	return rc < 0 ? err_wrap(err, rc, "%s", where) : 0;
}

static int whole_parse(const struct option *o, void *member, const struct cJSON *value,
		       const char *where, struct arena *arena, struct err *err)
{
	char limit[OPTION_EXACT_BYTES], is[OPTION_EXACT_BYTES];
	uint64_t v = 0;
	int rc;

	(void)arena;
	if (cJSON_IsNumber(value))
		rc = whole_number(o, &v, value, where, err);
	else if (cJSON_IsString(value))
		rc = whole_text(o, &v, value, where, err);
	else
		rc = option_refuse(where, wholes[o->kind].wanted, value, err);
	if (rc < 0)
		return rc;
	if (v < o->min)
		return err_set(err, -EINVAL, "%s: must be at least %s, is %s", where,
			       option_exact(limit, o->kind, o->min), option_exact(is, o->kind, v));
	if (o->max && v > o->max)
		return err_set(err, -EINVAL, "%s: must be at most %s, is %s", where,
			       option_exact(limit, o->kind, o->max), option_exact(is, o->kind, v));
	*(uint64_t *)member = v;
	return 0;
}

static cJSON *whole_print(const struct option *o, const void *member)
{
	uint64_t v = *(const uint64_t *)member;
	bool time = o->kind == OPTION_TIME;
	char text[32];

	if (time && v < SECONDS_EXACT_NS)
		return cJSON_CreateNumber((double)v / 1e9);
	if (!time && v <= (uint64_t)JSON_WHOLE_MAX)
		return cJSON_CreateNumber((double)v);
	snprintf(text, sizeof(text), time ? "%llu ns" : "%llu", (unsigned long long)v);
	return cJSON_CreateString(text);
}

/* A number within the option's bounds, or a string. */
static bool whole_schema(struct cJSON *schema, const struct option *o)
{
	const struct whole *w = &wholes[o->kind];
	cJSON *any = cJSON_AddArrayToObject(schema, "oneOf");
	cJSON *number = option_alternative(any, w->type, NULL);
	double max = o->max && (double)o->max < w->most ? (double)o->max : w->most;

	return number &&
	       option_add(number, "minimum", cJSON_CreateNumber((double)o->min / w->per)) &&
	       option_add(number, "maximum", cJSON_CreateNumber(max / w->per)) &&
	       option_alternative(any, "string", w->pattern);
}

static bool whole_default_valid(const struct option *o)
{
	return o->def >= o->min && (!o->max || o->def <= o->max);
}

static void whole_range(char *out, size_t size, const struct option *o)
{
	char min[OPTION_EXACT_BYTES], max[OPTION_EXACT_BYTES];

	option_exact(min, o->kind, o->min);
	option_exact(max, o->kind, o->max);
	if (o->max)
		snprintf(out, size, ", %s … %s", min, max);
	else if (o->min)
		snprintf(out, size, ", at least %s", min);
}

static void whole_shown(char *out, size_t size, const struct option *o)
{
	char exact[OPTION_EXACT_BYTES];

	snprintf(out, size, ", default %s",
		 o->kind == OPTION_RATE && !o->def ? "unlimited"
						   : option_exact(exact, o->kind, o->def));
}

#define WHOLE_RULES(named) \
	{ \
		.words = (named), .start = whole_start, .parse = whole_parse, \
		.print = whole_print, .schema = whole_schema, \
		.schema_default = option_value_default, .default_valid = whole_default_valid, \
		.range = whole_range, .shown_default = whole_shown \
	}
const struct option_rules option_u64 = WHOLE_RULES("whole number");
const struct option_rules option_bytes = WHOLE_RULES("size");
const struct option_rules option_time = WHOLE_RULES("time");
const struct option_rules option_rate = WHOLE_RULES("rate");

/* Bounds of a real, with "both 0: unbounded" resolved. */
static double min_real(const struct option *o)
{
	return o->min_real == 0 && o->max_real == 0 ? -INFINITY : o->min_real;
}

static double max_real(const struct option *o)
{
	return o->max_real < o->min_real || (o->min_real == 0 && o->max_real == 0) ? INFINITY
										   : o->max_real;
}

static int real_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	(void)arena;
	(void)err;
	*(double *)member = o->def_real;
	return 0;
}

static int real_parse(const struct option *o, void *member, const struct cJSON *value,
		      const char *where, struct arena *arena, struct err *err)
{
	char is[JSON_QUOTE_BYTES];
	double v;

	(void)arena;
	if (!cJSON_IsNumber(value) || !isfinite(value->valuedouble))
		return option_refuse(where, "a number", value, err);
	v = value->valuedouble;
	json_describe(is, value);
	if (v < min_real(o))
		return err_set(err, -EINVAL, "%s: must be at least %g, is %s", where, min_real(o),
			       is);
	if (v > max_real(o))
		return err_set(err, -EINVAL, "%s: must be at most %g, is %s", where, max_real(o),
			       is);
	*(double *)member = v;
	return 0;
}

static cJSON *real_print(const struct option *o, const void *member)
{
	(void)o;
	return cJSON_CreateNumber(*(const double *)member);
}

static bool real_schema(struct cJSON *schema, const struct option *o)
{
	double min = min_real(o), max = max_real(o);

	return option_add(schema, "type", cJSON_CreateString("number")) &&
	       (!isfinite(min) || option_add(schema, "minimum", cJSON_CreateNumber(min))) &&
	       (!isfinite(max) || option_add(schema, "maximum", cJSON_CreateNumber(max)));
}

static bool real_default_valid(const struct option *o)
{
	return isfinite(o->def_real) && o->def_real >= min_real(o) && o->def_real <= max_real(o);
}

static void real_range(char *out, size_t size, const struct option *o)
{
	if (isfinite(min_real(o)) && isfinite(max_real(o)))
		snprintf(out, size, ", %g … %g", min_real(o), max_real(o));
	else if (isfinite(min_real(o)))
		snprintf(out, size, ", at least %g", min_real(o));
}

static void real_shown(char *out, size_t size, const struct option *o)
{
	snprintf(out, size, ", default %g", o->def_real);
}

const struct option_rules option_real = {.words = "number",
					 .start = real_start,
					 .parse = real_parse,
					 .print = real_print,
					 .schema = real_schema,
					 .schema_default = option_value_default,
					 .default_valid = real_default_valid,
					 .range = real_range,
					 .shown_default = real_shown};

static int bool_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	(void)arena;
	(void)err;
	*(bool *)member = o->def != 0;
	return 0;
}

static int bool_parse(const struct option *o, void *member, const struct cJSON *value,
		      const char *where, struct arena *arena, struct err *err)
{
	(void)o;
	(void)arena;
	if (!cJSON_IsBool(value))
		return option_refuse(where, "true or false", value, err);
	*(bool *)member = cJSON_IsTrue(value);
	return 0;
}

static cJSON *bool_print(const struct option *o, const void *member)
{
	(void)o;
	return cJSON_CreateBool(*(const bool *)member);
}

static bool bool_schema(struct cJSON *schema, const struct option *o)
{
	(void)o;
	return option_add(schema, "type", cJSON_CreateString("boolean"));
}

static void bool_shown(char *out, size_t size, const struct option *o)
{
	snprintf(out, size, ", default %s", o->def ? "true" : "false");
}

const struct option_rules option_bool = {.words = "true or false",
					 .start = bool_start,
					 .parse = bool_parse,
					 .print = bool_print,
					 .schema = bool_schema,
					 .schema_default = option_value_default,
					 .shown_default = bool_shown};

static int factors_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	(void)o;
	(void)arena;
	(void)err;
	memset(member, 0, sizeof(struct factors));
	return 0;
}

static int factors_parse(const struct option *o, void *member, const struct cJSON *value,
			 const char *where, struct arena *arena, struct err *err)
{
	struct factors *out = member;
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
		rc = real_parse(o, &out->factor[i], child, at, arena, err);
		if (rc < 0)
			return rc;
		out->index[out->count++] = (uint32_t)index;
	}
	return 0;
}

static cJSON *factors_print(const struct option *o, const void *member)
{
	const struct factors *factors = member;
	cJSON *object = cJSON_CreateObject();
	char key[16];
	uint32_t i;

	(void)o;
	for (i = 0; object && i < factors->count; i++) {
		snprintf(key, sizeof(key), "%u", factors->index[i]);
		if (!option_add(object, key, cJSON_CreateNumber(factors->factor[i]))) {
			cJSON_Delete(object);
			return NULL;
		}
	}
	return object;
}

static bool factors_schema(struct cJSON *schema, const struct option *o)
{
	cJSON *patterns;
	bool ok;

	ok = option_add(schema, "type", cJSON_CreateString("object"));
	patterns = cJSON_AddObjectToObject(schema, "patternProperties");
	return ok && patterns &&
	       real_schema(cJSON_AddObjectToObject(patterns, "^(0|[1-9][0-9]*)$"), o) &&
	       option_add(schema, "maxProperties", cJSON_CreateNumber(FACTORS_MAX)) &&
	       option_add(schema, "additionalProperties", cJSON_CreateFalse());
}

const struct option_rules option_factors = {.words = "{\"index\": factor}",
					    .start = factors_start,
					    .parse = factors_parse,
					    .print = factors_print,
					    .schema = factors_schema,
					    .range = real_range};
