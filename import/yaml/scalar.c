/* SPDX-License-Identifier: Apache-2.0 */
/* Plain YAML scalars: see tree.h. */
#include "import/yaml/tree.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/json.h"

enum { NUMBER_BYTES = 64 };

static bool scalar_is_word(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasecmp(text, *words) == 0)
			return true;
	return false;
}

/* Copies text without the underscores that YAML 1.1 allows between digits. */
static bool scalar_strip_underscores(const char *text, char out[NUMBER_BYTES])
{
	size_t n = 0;

	for (; *text; text++) {
		if (*text == '_')
			continue;
		if (n + 1 == NUMBER_BYTES)
			return false;
		out[n++] = *text;
	}
	out[n] = '\0';
	return n > 0;
}

static bool scalar_only(const char *text, const char *characters)
{
	return *text && text[strspn(text, characters)] == '\0';
}

/* 5, -5, 0x1f, 0o17, 017, 0b101 */
static bool scalar_whole(const char *text, double *out)
{
	const char *digits = text + (*text == '-' || *text == '+');
	unsigned long long n;

	errno = 0;
	if (strncmp(digits, "0x", 2) == 0 && scalar_only(digits + 2, "0123456789abcdefABCDEF"))
		n = strtoull(digits + 2, NULL, 16);
	else if (strncmp(digits, "0o", 2) == 0 && scalar_only(digits + 2, "01234567"))
		n = strtoull(digits + 2, NULL, 8);
	else if (strncmp(digits, "0b", 2) == 0 && scalar_only(digits + 2, "01"))
		n = strtoull(digits + 2, NULL, 2);
	else if (digits[0] == '0' && scalar_only(digits, "01234567"))
		n = strtoull(digits, NULL, 8);
	else if (scalar_only(digits, "0123456789"))
		n = strtoull(digits, NULL, 10);
	else
		return false;
	if (errno || (double)n > JSON_WHOLE_MAX)
		return false;
	*out = *text == '-' ? -(double)n : (double)n;
	return true;
}

/* 0.5, .5, 5., 1e-3, but not the hexadecimal numbers and infinities that strtod reads, too. */
static bool scalar_real(const char *text, double *out)
{
	char *end;

	if (!scalar_only(text, "+-.0123456789eE") || !strpbrk(text, "0123456789") ||
	    !strpbrk(text, ".eE"))
		return false;
	*out = strtod(text, &end);
	return *end == '\0' && isfinite(*out);
}

struct cJSON *yaml_scalar(const char *text)
{
	static const char *const nothing[] = {"", "~", "null", NULL};
	static const char *const yes[] = {"true", "yes", "on", NULL};
	static const char *const no[] = {"false", "no", "off", NULL};
	char number[NUMBER_BYTES] = "";
	double value;

	if (scalar_is_word(text, nothing))
		return cJSON_CreateNull();
	if (scalar_is_word(text, yes))
		return cJSON_CreateTrue();
	if (scalar_is_word(text, no))
		return cJSON_CreateFalse();
	if ((isdigit((unsigned char)*text) || strchr("+-.", *text)) &&
	    scalar_strip_underscores(text, number) &&
	    (scalar_whole(number, &value) || scalar_real(number, &value)))
		return cJSON_CreateNumber(value);
	return cJSON_CreateString(text);
}
