/* SPDX-License-Identifier: Apache-2.0 */
/* JSON printer and words for messages: see json.h. Numbers are printed with the fewest digits that
 * read back as the same double. cJSON's own printer keeps 15 digits, which is one too few for
 * some. */
#include "core/json.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The indent of a text on one line. */
#define ONE_LINE UINT_MAX

static void print_value(FILE *f, const cJSON *value, unsigned indent);

static void print_break(FILE *f, unsigned indent)
{
	if (indent != ONE_LINE)
		fprintf(f, "\n%*s", (int)indent, "");
}

static unsigned print_deeper(unsigned indent)
{
	return indent == ONE_LINE ? ONE_LINE : indent + 2;
}

/* Writes one character of text into out, escaped where JSON requires it. Returns how many bytes of
 * text it took. */
static size_t json_escape(char out[8], const char *text)
{
	static const char named[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	size_t n = json_utf8_length(text, strlen(text)), i;
	unsigned char c = (unsigned char)*text;

	for (i = 0; i + 1 < sizeof(named); i += 2) {
		if (*text == named[i]) {
			snprintf(out, 8, "\\%c", named[i + 1]);
			return 1;
		}
	}
	if (!n)
		snprintf(out, 8, "?");
	else if (c < 0x20 || c == 0x7f)
		snprintf(out, 8, "\\u%04x", c);
	else
		snprintf(out, 8, "%.*s", (int)n, text);
	return n ? n : 1;
}

static void print_string(FILE *f, const char *text)
{
	char out[8];

	fputc('"', f);
	while (*text) {
		text += json_escape(out, text);
		fputs(out, f);
	}
	fputc('"', f);
}

static void print_object(FILE *f, const cJSON *value, unsigned indent)
{
	const cJSON *child;

	if (!value->child) {
		fputs("{}", f);
		return;
	}
	fputc('{', f);
	cJSON_ArrayForEach(child, value)
	{
		print_break(f, print_deeper(indent));
		print_string(f, child->string ? child->string : "");
		fputs(indent == ONE_LINE ? ":" : ": ", f);
		print_value(f, child, print_deeper(indent));
		if (child->next)
			fputc(',', f);
	}
	print_break(f, indent);
	fputc('}', f);
}

static void print_list(FILE *f, const cJSON *value, unsigned indent)
{
	const cJSON *child;
	bool plain = true;

	cJSON_ArrayForEach(child, value) if (cJSON_IsObject(child) || cJSON_IsArray(child)) plain =
		false;
	fputc('[', f);
	cJSON_ArrayForEach(child, value)
	{
		if (!plain)
			print_break(f, print_deeper(indent));
		print_value(f, child, print_deeper(indent));
		if (child->next)
			fputs(plain && indent != ONE_LINE ? ", " : ",", f);
	}
	if (!plain)
		print_break(f, indent);
	fputc(']', f);
}

static void json_number_text(char buf[32], double d)
{
	int digits;

	if (d == floor(d) && fabs(d) <= JSON_WHOLE_MAX) {
		snprintf(buf, 32, "%.0f", d);
		return;
	}
	for (digits = 15; digits <= 17; digits++) {
		snprintf(buf, 32, "%.*g", digits, d);
		if (strtod(buf, NULL) == d)
			break;
	}
}

static void print_value(FILE *f, const cJSON *value, unsigned indent)
{
	char number[32];

	if (cJSON_IsObject(value)) {
		print_object(f, value, indent);
	} else if (cJSON_IsArray(value)) {
		print_list(f, value, indent);
	} else if (cJSON_IsString(value)) {
		print_string(f, value->valuestring);
	} else if (cJSON_IsNumber(value) && isfinite(value->valuedouble)) {
		json_number_text(number, value->valuedouble);
		fputs(number, f);
	} else {
		fputs(cJSON_IsTrue(value) ? "true" : cJSON_IsFalse(value) ? "false" : "null", f);
	}
}

static char *print_whole(const cJSON *value, unsigned indent, const char *end)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);
	int bad;

	if (!f)
		return NULL;
	print_value(f, value, indent);
	fputs(end, f);
	bad = ferror(f);
	if (fclose(f) || bad) {
		free(text);
		return NULL;
	}
	return text;
}

char *json_print(const struct cJSON *value)
{
	return print_whole(value, 0, "\n");
}

char *json_print_line(const struct cJSON *value)
{
	return print_whole(value, ONE_LINE, "");
}

cJSON *json_object(void)
{
	return cJSON_CreateObject();
}

void json_add_text(cJSON *to, const char *key, const char *text)
{
	cJSON_AddItemToObject(to, key, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

void json_free(cJSON *value)
{
	cJSON_Delete(value);
}

struct cJSON *json_number(double value)
{
	return isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull();
}

void json_add_number(struct cJSON *to, const char *key, double value)
{
	cJSON_AddItemToObject(to, key, json_number(value));
}

char *json_quote(char buf[JSON_QUOTE_BYTES], const char *text)
{
	static const char more[] = "\xe2\x80\xa6\""; /* an ellipsis and the closing quote */
	size_t at = 1, n;
	char out[8];

	buf[0] = '"';
	while (*text) {
		text += json_escape(out, text);
		n = strlen(out);
		if (at + n + sizeof(more) > JSON_QUOTE_BYTES) {
			memcpy(buf + at, more, sizeof(more));
			return buf;
		}
		memcpy(buf + at, out, n);
		at += n;
	}
	memcpy(buf + at, "\"", 2);
	return buf;
}

char *json_describe(char buf[JSON_QUOTE_BYTES], const struct cJSON *value)
{
	if (cJSON_IsString(value))
		return json_quote(buf, value->valuestring);
	if (cJSON_IsNumber(value))
		json_number_text(buf, value->valuedouble);
	else
		snprintf(buf, JSON_QUOTE_BYTES, "%s",
			 cJSON_IsObject(value)  ? "an object"
			 : cJSON_IsArray(value) ? "a list"
			 : cJSON_IsTrue(value)  ? "true"
			 : cJSON_IsFalse(value) ? "false"
						: "null");
	return buf;
}
