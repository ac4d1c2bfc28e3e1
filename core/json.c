/* SPDX-License-Identifier: Apache-2.0 */
/* Strict check of JSON: a state machine with an explicit stack, so that a level of nesting costs a
 * byte and not a stack frame. See json.h. */
#include "core/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"

enum scan_state { SCAN_VALUE, SCAN_FIRST_VALUE, SCAN_KEY, SCAN_FIRST_KEY, SCAN_AFTER, SCAN_DONE };

struct scan {
	const char *text;
	size_t length, at;
	unsigned depth, depth_max, values, values_max;
	enum scan_state state;
	char open[JSON_DEPTH_LIMIT]; /* '{' or '[' */
	struct err *err;
};

/* The byte at the position, or -1 at the end. */
static int scan_peek(const struct scan *s)
{
	return s->at < s->length ? (unsigned char)s->text[s->at] : -1;
}

static void scan_space(struct scan *s)
{
	while (s->at < s->length && memchr(" \t\r\n", s->text[s->at], 4))
		s->at++;
}

static void scan_close(struct scan *s)
{
	s->depth--;
	s->at++;
	s->state = SCAN_AFTER;
}

/* Puts the position before the sentence. Columns count characters. */
static int scan_fail(struct scan *s, const char *format, ...)
{
	char sentence[160];
	size_t line = 1, column = 1, i;
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	for (i = 0; i < s->at && i < s->length; i++) {
		if (s->text[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)s->text[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	return err_set(s->err, -EINVAL, "line %zu, column %zu: %s", line, column, sentence);
}

static int scan_open(struct scan *s, char bracket)
{
	if (s->depth == s->depth_max)
		return scan_fail(s, "nested more than %u deep", s->depth_max);
	s->open[s->depth++] = bracket;
	s->at++;
	s->state = bracket == '{' ? SCAN_FIRST_KEY : SCAN_FIRST_VALUE;
	return 0;
}

/* Reads "uXXXX" at the position. */
static int scan_hex(struct scan *s, unsigned *code)
{
	int c, i;

	*code = 0;
	if (scan_peek(s) != 'u')
		return scan_fail(s, "half a surrogate pair in a string");
	s->at++;
	for (i = 0; i < 4; i++, s->at++) {
		c = scan_peek(s);
		if (c >= '0' && c <= '9')
			*code = *code << 4 | (unsigned)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			*code = *code << 4 | (unsigned)((c | 32) - 'a' + 10);
		else
			return scan_fail(s, "\\u needs four hexadecimal digits");
	}
	return 0;
}

static int scan_escape(struct scan *s)
{
	unsigned code, low;
	int rc;

	s->at++;
	if (scan_peek(s) != 'u') {
		if (scan_peek(s) <= 0 || !strchr("\"\\/bfnrt", scan_peek(s)))
			return scan_fail(s, "unknown escape in a string");
		s->at++;
		return 0;
	}
	rc = scan_hex(s, &code);
	if (rc < 0)
		return rc;
	if (!code)
		return scan_fail(s, "\\u0000 in a string");
	if (code >= 0xd800 && code < 0xdc00) {
		if (scan_peek(s) != '\\')
			return scan_fail(s, "half a surrogate pair in a string");
		s->at++;
		rc = scan_hex(s, &low);
		if (rc < 0)
			return rc;
		if (low < 0xdc00 || low > 0xdfff)
			return scan_fail(s, "half a surrogate pair in a string");
	} else if (code >= 0xdc00 && code < 0xe000) {
		return scan_fail(s, "half a surrogate pair in a string");
	}
	return 0;
}

size_t json_utf8_length(const char *text, size_t length)
{
	const unsigned char *t = (const unsigned char *)text;
	uint32_t code;
	size_t n, i;

	if (!length)
		return 0;
	if (t[0] < 0x80)
		return 1;
	n = t[0] >= 0xf0 ? 4 : t[0] >= 0xe0 ? 3 : 2;
	if (t[0] < 0xc2 || t[0] > 0xf4 || n > length)
		return 0;
	code = t[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((t[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (t[i] & 0x3f);
	}
	if (n == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000)))
		return 0;
	return n == 4 && (code < 0x10000 || code > 0x10ffff) ? 0 : n;
}

static int scan_string(struct scan *s)
{
	size_t start = s->at++, n;
	int c, rc;

	while ((c = scan_peek(s)) != '"') {
		if (c < 0 || c == '\n') {
			s->at = start;
			return scan_fail(s, "this string has no end");
		}
		if (c == '\\') {
			rc = scan_escape(s);
			if (rc < 0)
				return rc;
			continue;
		}
		if (c < 0x20)
			return scan_fail(s, "control character 0x%02x in a string", (unsigned)c);
		n = json_utf8_length(s->text + s->at, s->length - s->at);
		if (!n)
			return scan_fail(s, "byte 0x%02x is not UTF-8", (unsigned)c);
		s->at += n;
	}
	s->at++;
	return 0;
}

/* Passes over digits. Returns their count. */
static size_t scan_digits(struct scan *s)
{
	size_t start = s->at;

	while (scan_peek(s) >= '0' && scan_peek(s) <= '9')
		s->at++;
	return s->at - start;
}

static int scan_unexpected(struct scan *s, const char *wanted)
{
	int c = scan_peek(s);

	if (c < 0)
		return scan_fail(s, "expected %s, found the end", wanted);
	if (c > 0x20 && c < 0x7f)
		return scan_fail(s, "expected %s, found '%c'", wanted, c);
	return scan_fail(s, "expected %s, found byte 0x%02x", wanted, (unsigned)c);
}

static int scan_number(struct scan *s)
{
	char copy[JSON_NUMBER_BYTES + 1];
	size_t start = s->at, n;

	if (scan_peek(s) == '-')
		s->at++;
	if (scan_peek(s) == '0')
		s->at++;
	else if (!scan_digits(s))
		return scan_unexpected(s, "a digit");
	if (scan_peek(s) == '.') {
		s->at++;
		if (!scan_digits(s))
			return scan_unexpected(s, "a digit");
	}
	if (scan_peek(s) == 'e' || scan_peek(s) == 'E') {
		s->at++;
		if (scan_peek(s) == '+' || scan_peek(s) == '-')
			s->at++;
		if (!scan_digits(s))
			return scan_unexpected(s, "a digit");
	}
	n = s->at - start;
	s->at = start;
	if (n > JSON_NUMBER_BYTES) /* cJSON copies a number into a buffer of 63 characters */
		return scan_fail(s, "a number of more than %d characters", JSON_NUMBER_BYTES);
	memcpy(copy, s->text + start, n);
	copy[n] = '\0';
	if (!isfinite(strtod(copy, NULL)))
		return scan_fail(s, "the number %s is out of range", copy);
	s->at += n;
	return 0;
}

static int scan_word(struct scan *s)
{
	static const char *const words[] = {"true", "false", "null"};
	size_t i, n;

	for (i = 0; i < 3; i++) {
		n = strlen(words[i]);
		if (s->length - s->at >= n && !memcmp(s->text + s->at, words[i], n)) {
			s->at += n;
			return 0;
		}
	}
	return scan_unexpected(s, "a value");
}

static int scan_value(struct scan *s)
{
	int c = scan_peek(s);

	if (++s->values > s->values_max)
		return err_set(s->err, -EINVAL, "holds more than %u values", s->values_max);
	if (c == '{' || c == '[')
		return scan_open(s, (char)c);
	s->state = SCAN_AFTER;
	if (c == '"')
		return scan_string(s);
	if (c == '-' || (c >= '0' && c <= '9'))
		return scan_number(s);
	return scan_word(s);
}

static int scan_key(struct scan *s)
{
	int rc;

	if (scan_peek(s) != '"')
		return scan_unexpected(s, "a key in double quotes");
	rc = scan_string(s);
	if (rc < 0)
		return rc;
	scan_space(s);
	if (scan_peek(s) != ':')
		return scan_unexpected(s, "':'");
	s->at++;
	s->state = SCAN_VALUE;
	return 0;
}

static int scan_after(struct scan *s)
{
	bool object = s->depth && s->open[s->depth - 1] == '{';
	int c = scan_peek(s);

	if (!s->depth) {
		if (c >= 0)
			return scan_unexpected(s, "nothing more");
		s->state = SCAN_DONE;
		return 0;
	}
	if (c == ',') {
		s->at++;
		s->state = object ? SCAN_KEY : SCAN_VALUE;
		return 0;
	}
	if (c == (object ? '}' : ']')) {
		scan_close(s);
		return 0;
	}
	return scan_unexpected(s, object ? "',' or '}'" : "',' or ']'");
}

int json_check(const char *text, size_t length, unsigned depth_max, unsigned values_max,
	       struct err *err)
{
	struct scan s = {.text = text, .length = length, .values_max = values_max, .err = err};
	int rc = 0;

	s.depth_max = min_u64(depth_max, JSON_DEPTH_LIMIT);
	if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		s.at = 3; /* skip the byte order mark that some editors write */
	scan_space(&s);
	if (s.at == length)
		return err_set(err, -EINVAL, "is empty");
	while (!rc && s.state != SCAN_DONE) {
		scan_space(&s);
		switch (s.state) {
		case SCAN_FIRST_VALUE:
			if (scan_peek(&s) == ']') {
				scan_close(&s);
				break;
			}
			/* fall through */
		case SCAN_VALUE:
			rc = scan_value(&s);
			break;
		case SCAN_FIRST_KEY:
			if (scan_peek(&s) == '}') {
				scan_close(&s);
				break;
			}
			/* fall through */
		case SCAN_KEY:
			rc = scan_key(&s);
			break;
		default:
			rc = scan_after(&s);
		}
	}
	return rc;
}

int json_parse(struct cJSON **out, const char *text, size_t length, unsigned depth_max,
	       unsigned values_max, struct err *err)
{
	int rc;

	*out = NULL;
	rc = json_check(text, length, depth_max, values_max, err);
	if (rc < 0)
		return rc;
	*out = cJSON_ParseWithLength(text, length);
	return *out ? 0 : err_set(err, -ENOMEM, "no memory for its %zu bytes", length);
}

bool json_text_plain(const char *text)
{
	size_t length = strlen(text), n;

	for (; length; text += n, length -= n) {
		n = json_utf8_length(text, length);
		if (!n || (unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	}
	return true;
}
