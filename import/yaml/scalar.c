#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/json.h"
#include "import/yaml/tree.h"

enum { NUMBER_BYTES = 64 };

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasecmp(text, *words) == 0)
			return true;
	return false;
}

/* The text without the underscores that YAML 1.1 allows between digits. */
static bool without_underscores(const char *text, char out[NUMBER_BYTES])
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

static bool only(const char *text, const char *characters)
{
	return *text && text[strspn(text, characters)] == '\0';
}

/* 5, -5, 0x1f, 0o17, 017, 0b101 */
static bool read_whole(const char *text, double *out)
{
	const char *digits = text + (*text == '-' || *text == '+');
	unsigned long long n;

	errno = 0;
	if (strncmp(digits, "0x", 2) == 0 && only(digits + 2, "0123456789abcdefABCDEF"))
		n = strtoull(digits + 2, NULL, 16);
	else if (strncmp(digits, "0o", 2) == 0 && only(digits + 2, "01234567"))
		n = strtoull(digits + 2, NULL, 8);
	else if (strncmp(digits, "0b", 2) == 0 && only(digits + 2, "01"))
		n = strtoull(digits + 2, NULL, 2);
	else if (digits[0] == '0' && only(digits, "01234567"))
		n = strtoull(digits, NULL, 8);
	else if (only(digits, "0123456789"))
		n = strtoull(digits, NULL, 10);
	else
		return false;
	if (errno || (double)n > JSON_WHOLE_MAX)
		return false;
	*out = *text == '-' ? -(double)n : (double)n;
	return true;
}

/* 0.5, .5, 5., 1e-3; nothing that strtod knows beside: no hex, no infinity. */
static bool read_real(const char *text, double *out)
{
	char *end;

	if (!only(text, "+-.0123456789eE") || !strpbrk(text, "0123456789") || !strpbrk(text, ".eE"))
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

	if (is_one_of(text, nothing))
		return cJSON_CreateNull();
	if (is_one_of(text, yes))
		return cJSON_CreateTrue();
	if (is_one_of(text, no))
		return cJSON_CreateFalse();
	if ((isdigit((unsigned char)*text) || strchr("+-.", *text)) &&
	    without_underscores(text, number) &&
	    (read_whole(number, &value) || read_real(number, &value)))
		return cJSON_CreateNumber(value);
	return cJSON_CreateString(text);
}
