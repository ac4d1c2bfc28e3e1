/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/archive/json_scan.h"

#include <cjson/cJSON.h>
#include <string.h>

static void json_scan_space(struct json_scan *s)
{
	while (s->at < s->end && memchr(" \t\r\n", *s->at, 4))
		s->at++;
}

char json_scan_kind(struct json_scan *s)
{
	json_scan_space(s);
	return s->at < s->end ? *s->at : '\0';
}

void json_scan_enter(struct json_scan *s)
{
	json_scan_space(s);
	s->at++;
}

bool json_scan_next(struct json_scan *s)
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

char *json_scan_text(struct json_scan *s, struct arena *arena)
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

char *json_scan_key(struct json_scan *s, struct arena *arena)
{
	char *key = json_scan_text(s, arena);

	json_scan_space(s);
	s->at++;
	return key;
}

bool json_scan_whole(struct json_scan *s, uint64_t *value)
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

void json_scan_skip(struct json_scan *s)
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
