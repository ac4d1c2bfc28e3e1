/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs beside those of an edition: see compare.h. */
#include "mlperf/compare.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/json_path.h"
#include "core/utf8.h"

enum { COMPARE_BOUNDS_BYTES = 160, COMPARE_DEPTH_MAX = 12 };
static const double compare_same = 1e-9;

struct compare {
	struct edition_differences *out;
	const cJSON *closed, *open;
};

void edition_differs(struct edition_differences *out, bool open, const char *key, const char *value,
		     const char *wanted, const char *format, ...)
{
	struct edition_difference *row = &out->rows[out->count];
	va_list args;

	out->open += open;
	if (out->count++ >= DIFFERENCES_MAX)
		return;
	row->open = open;
	utf8_copy(row->key, sizeof(row->key), key);
	utf8_copy(row->value, sizeof(row->value), value);
	utf8_copy(row->wanted, sizeof(row->wanted), wanted);
	va_start(args, format);
	vsnprintf(row->sentence, sizeof(row->sentence), format, args);
	va_end(args);
}

static bool compare_is_same(const cJSON *a, const cJSON *b)
{
	if (!a || !b)
		return a == b;
	if (cJSON_IsNumber(a) && cJSON_IsNumber(b))
		return fabs(a->valuedouble - b->valuedouble) <=
		       compare_same * fmax(fabs(a->valuedouble), fabs(b->valuedouble));
	return cJSON_Compare(a, b, true);
}

static bool compare_is_of(const cJSON *value, const cJSON *list)
{
	const cJSON *one;

	cJSON_ArrayForEach(one, list)
	{
		if (compare_is_same(value, one))
			return true;
	}
	return false;
}

/* Whether each URI of a store has a scheme of the list. */
static bool compare_has_scheme(const cJSON *uri, const cJSON *schemes)
{
	const cJSON *one;
	bool all = cJSON_GetArraySize(uri) > 0;

	if (cJSON_IsString(uri)) {
		cJSON_ArrayForEach(one, schemes)
		{
			size_t n = cJSON_IsString(one) ? strlen(one->valuestring) : 0;

			if (n && strncmp(uri->valuestring, one->valuestring, n) == 0 &&
			    strncmp(uri->valuestring + n, "://", 3) == 0)
				return true;
		}
		return false;
	}
	cJSON_ArrayForEach(one, uri)
	{
		all = all && compare_has_scheme(one, schemes);
	}
	return all;
}

/* Whether a division's list takes this value of a key. */
static bool compare_takes(const cJSON *list, const char *key, const cJSON *value)
{
	const cJSON *entry = cJSON_GetObjectItemCaseSensitive(list, key);
	const cJSON *one_of = json_at(entry, "one_of"), *schemes = json_at(entry, "schemes");
	double number =
		cJSON_GetNumberValue(value); /* NaN, which is within no bounds: it is none */

	if (!entry)
		return false;
	if ((one_of && !compare_is_of(value, one_of)) ||
	    (schemes && !compare_has_scheme(value, schemes)))
		return false;
	if (json_at(entry, "least") || json_at(entry, "most"))
		return number >= json_number_at(entry, "least", -HUGE_VAL) &&
		       number <= json_number_at(entry, "most", HUGE_VAL);
	return true;
}

/* The value on one line, without the quotes of a text. */
static void compare_print(char *text, size_t bytes, const cJSON *value)
{
	char *line = value ? json_print_line(value) : NULL;
	const char *string = cJSON_GetStringValue(value);

	if (string)
		utf8_copy(text, bytes, *string ? string : "\"\"");
	else
		utf8_copy(text, bytes, line ? line : "nothing");
	free(line);
}

/* "; closed takes 1 to 2", where the key may be changed, but not so far. */
static void compare_say_bounds(char text[COMPARE_BOUNDS_BYTES], const cJSON *closed,
			       const char *key)
{
	const cJSON *entry = cJSON_GetObjectItemCaseSensitive(closed, key), *list;
	char shown[COMPARE_BOUNDS_BYTES / 2];

	text[0] = '\0';
	if (!entry)
		return;
	list = json_at(entry, "schemes") ? json_at(entry, "schemes") : json_at(entry, "one_of");
	compare_print(shown, sizeof(shown), list);
	if (list)
		snprintf(text, COMPARE_BOUNDS_BYTES, "; closed takes one of %s", shown);
	else if (!json_at(entry, "least"))
		snprintf(text, COMPARE_BOUNDS_BYTES, "; closed takes at most %g",
			 json_number_at(entry, "most", 0));
	else
		snprintf(text, COMPARE_BOUNDS_BYTES, "; closed takes %g to %g",
			 json_number_at(entry, "least", 0),
			 json_number_at(entry, "most", HUGE_VAL));
}

static void compare_leaf(struct compare *c, const char *key, const cJSON *own, const cJSON *wanted)
{
	char value[96], other[96], bounds[COMPARE_BOUNDS_BYTES];

	if (compare_is_same(own, wanted) || compare_takes(c->closed, key, own))
		return;
	compare_print(value, sizeof(value), own);
	compare_print(other, sizeof(other), wanted);
	compare_say_bounds(bounds, c->closed, key);
	edition_differs(c->out, compare_takes(c->open, key, own), key, value, other,
			"%s is %s, and %s in the edition's%s", key, value, other, bounds);
}

/* Lists of objects as long as each other are compared object by object; what else is no object is a
 * leaf. */
static bool compare_has_parts(const cJSON *a, const cJSON *b)
{
	if (cJSON_IsObject(a) || cJSON_IsObject(b))
		return (cJSON_IsObject(a) || !a) && (cJSON_IsObject(b) || !b);
	return cJSON_IsArray(a) && cJSON_IsArray(b) &&
	       cJSON_GetArraySize(a) == cJSON_GetArraySize(b) &&
	       cJSON_IsObject(cJSON_GetArrayItem(a, 0));
}

static void compare_at(struct compare *c, const char *key, const cJSON *own, const cJSON *wanted,
		       unsigned depth)
{
	char below[DIFFERENCE_KEY_BYTES];
	const cJSON *one;

	/* A whole section that only one of them has, such as the store of checkpoints, is told by the
	 * keys that ask for it. */
	if (depth == 1 && cJSON_IsObject(own ? own : wanted) && (!own || !wanted))
		return;
	if (!compare_has_parts(own, wanted) || depth == COMPARE_DEPTH_MAX) {
		compare_leaf(c, key, own, wanted);
		return;
	}
	if (cJSON_IsArray(own)) {
		for (int i = 0; i < cJSON_GetArraySize(own); i++)
			compare_at(c, key, cJSON_GetArrayItem(own, i),
				   cJSON_GetArrayItem(wanted, i), depth + 1);
		return;
	}
	cJSON_ArrayForEach(one, own)
	{
		snprintf(below, sizeof(below), "%s%s%s", key, *key ? "." : "", one->string);
		compare_at(c, below, one, cJSON_GetObjectItemCaseSensitive(wanted, one->string),
			   depth + 1);
	}
	cJSON_ArrayForEach(one, wanted)
	{
		snprintf(below, sizeof(below), "%s%s%s", key, *key ? "." : "", one->string);
		if (!cJSON_GetObjectItemCaseSensitive(own, one->string))
			compare_at(c, below, NULL, one, depth + 1);
	}
}

int edition_compare(struct edition_differences *out, const struct edition_workload *w,
		    const struct cJSON *own, const struct cJSON *wanted)
{
	cJSON *closed = edition_list(w, "closed"), *open = edition_list(w, "open");
	struct compare c = {.out = out, .closed = closed, .open = open};

	if (closed && open)
		compare_at(&c, "", own, wanted, 0);
	cJSON_Delete(closed);
	cJSON_Delete(open);
	return closed && open ? 0 : -ENOMEM;
}
