/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/answer.h"

#include <string.h>
#include <strings.h>

#include "backends/http/wire/text.h"
#include "core/numbers.h"

enum { ANSWER_VALUE_BYTES = 2048 };

void answer_clear(struct http_answer *a)
{
	a->status = 0;
	a->length_malformed = false;
	a->length = ANSWER_UNKNOWN;
	a->range_first = ANSWER_UNKNOWN;
	a->range_last = ANSWER_UNKNOWN;
	a->range_total = ANSWER_UNKNOWN;
	a->version[0] = '\0';
	a->modified[0] = '\0';
	a->retry_after[0] = '\0';
	a->date[0] = '\0';
	a->etag[0] = '\0';
	a->code[0] = '\0';
	a->md5[0] = '\0';
	a->crc32c[0] = '\0';
	a->location[0] = '\0';
}

/* Reads digits at *s and moves it behind them; ANSWER_UNKNOWN where there are none, or too many. */
static uint64_t answer_number(const char **s)
{
	const char *from = *s;
	uint64_t value = 0;

	for (; **s >= '0' && **s <= '9'; (*s)++) {
		if (*s - from == 19)
			return ANSWER_UNKNOWN;
		value = value * 10 + (uint64_t)(**s - '0');
	}
	return *s == from ? ANSWER_UNKNOWN : value;
}

/* "bytes 0-99/1234", "bytes 0-99/" followed by a star, or "bytes" followed by a star and
 * "/1234". */
static void answer_content_range(struct http_answer *a, const char *s)
{
	uint64_t first, last;

	if (strncmp(s, "bytes ", 6) != 0)
		return;
	s += 6;
	first = answer_number(&s);
	if (first != ANSWER_UNKNOWN && *s == '-') {
		s++;
		last = answer_number(&s);
		if (last == ANSWER_UNKNOWN || last < first)
			return;
		a->range_first = first;
		a->range_last = last;
	} else if (*s == '*') {
		s++;
	}
	if (*s++ == '/')
		a->range_total = answer_number(&s);
}

static void answer_keep(char *to, size_t size, const char *value)
{
	size_t n = strlen(value);

	/* Half of a value is worse than none. */
	if (n >= size)
		return;
	memcpy(to, value, n + 1);
}

static void answer_keep_sum(char to[ANSWER_SUM_BYTES], const char *value, size_t n)
{
	if (n >= ANSWER_SUM_BYTES)
		return;
	memcpy(to, value, n);
	to[n] = '\0';
}

/* "crc32c=4waSgw==,md5=kAFQmDzST7DWlj99KOF/cg==", or only one of them; there may be two such
 * headers. */
static void answer_sums(struct http_answer *a, const char *value)
{
	while (*value) {
		size_t n = strcspn(value, ",");

		if (strncmp(value, "md5=", 4) == 0)
			answer_keep_sum(a->md5, value + 4, n - 4);
		else if (strncmp(value, "crc32c=", 7) == 0)
			answer_keep_sum(a->crc32c, value + 7, n - 7);
		value += n;
		value += strspn(value, ", ");
	}
}

static void answer_length(struct http_answer *a, const char *s)
{
	a->length = answer_number(&s);
	a->length_malformed = a->length == ANSWER_UNKNOWN || *s;
	if (a->length_malformed)
		a->length = ANSWER_UNKNOWN;
}

static void answer_etag(struct http_answer *a, const char *value)
{
	answer_keep(a->etag, sizeof(a->etag), value);
}

/* A store without versions calls the only one "null". */
static void answer_version(struct http_answer *a, const char *value)
{
	if (strcmp(value, "null") != 0)
		answer_keep(a->version, sizeof(a->version), value);
}

static void answer_keep_modified(struct http_answer *a, const char *value)
{
	answer_keep(a->modified, sizeof(a->modified), value);
}

static void answer_keep_date(struct http_answer *a, const char *value)
{
	answer_keep(a->date, sizeof(a->date), value);
}

static void answer_keep_retry_after(struct http_answer *a, const char *value)
{
	answer_keep(a->retry_after, sizeof(a->retry_after), value);
}

static void answer_md5(struct http_answer *a, const char *value)
{
	answer_keep_sum(a->md5, value, strlen(value));
}

static void answer_crc32c(struct http_answer *a, const char *value)
{
	answer_keep_sum(a->crc32c, value, strlen(value));
}

static void answer_location(struct http_answer *a, const char *value)
{
	answer_keep(a->location, sizeof(a->location), value);
}

static void answer_code(struct http_answer *a, const char *value)
{
	answer_keep(a->code, sizeof(a->code), value);
}

/* The headers that matter. The length of the name comes first, because most headers differ in
 * it. */
#define ANSWER_FIELD(text, function) \
	{ \
		sizeof(text) - 1, text, function \
	}
static const struct {
	size_t bytes;
	const char *name;
	void (*take)(struct http_answer *a, const char *value);
} answer_fields[] = {
	ANSWER_FIELD("content-length", answer_length),
	ANSWER_FIELD("content-range", answer_content_range),
	ANSWER_FIELD("etag", answer_etag),
	ANSWER_FIELD("date", answer_keep_date),
	ANSWER_FIELD("retry-after", answer_keep_retry_after),
	ANSWER_FIELD("content-md5", answer_md5),
	ANSWER_FIELD("x-amz-checksum-crc32c", answer_crc32c),
	ANSWER_FIELD("x-goog-hash", answer_sums),
	ANSWER_FIELD("location", answer_location),
	ANSWER_FIELD("x-ms-error-code", answer_code),
	ANSWER_FIELD("x-amz-version-id", answer_version),
	ANSWER_FIELD("x-goog-generation", answer_version),
	ANSWER_FIELD("last-modified", answer_keep_modified),
};

void answer_header(struct http_answer *a, const char *name, size_t name_bytes, const char *value,
		   size_t value_bytes)
{
	char text[ANSWER_VALUE_BYTES];

	if (value_bytes >= sizeof(text))
		return;
	for (size_t i = 0; i < COUNT(answer_fields); i++) {
		if (answer_fields[i].bytes != name_bytes ||
		    strncasecmp(name, answer_fields[i].name, name_bytes) != 0)
			continue;
		memcpy(text, value, value_bytes);
		text[value_bytes] = '\0';
		answer_fields[i].take(a, text);
		return;
	}
}

/* "HTTP/1.1 206 Partial Content" */
static void answer_status_line(struct http_answer *a, const char *line, size_t n)
{
	const char *space = memchr(line, ' ', n);
	size_t at = space ? (size_t)(space - line) + 1 : n;
	unsigned status = 0;

	answer_clear(a);
	for (int digits = 0; digits < 3 && at < n; digits++, at++) {
		if (line[at] < '0' || line[at] > '9')
			return;
		status = status * 10 + (unsigned)(line[at] - '0');
	}
	a->status = status >= 100 ? (uint16_t)status : 0;
}

void answer_line(struct http_answer *a, const char *line, size_t n)
{
	const char *colon;
	size_t from, to;

	while (n && (line[n - 1] == '\r' || line[n - 1] == '\n'))
		n--;
	if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		answer_status_line(a, line, n);
		return;
	}
	colon = memchr(line, ':', n);
	if (!colon)
		return;
	from = (size_t)(colon - line) + 1;
	to = n;
	while (from < to && (line[from] == ' ' || line[from] == '\t'))
		from++;
	while (to > from && (line[to - 1] == ' ' || line[to - 1] == '\t'))
		to--;
	if (!memchr(line + from, '\0', to - from))
		answer_header(a, line, (size_t)(colon - line), line + from, to - from);
}

int64_t answer_date(const struct http_answer *a)
{
	int64_t date = date_parse(a->date);

	return date > 0 ? date : 0;
}

int64_t answer_modified(const struct http_answer *a)
{
	int64_t date = date_parse(a->modified);

	return date > 0 ? date : 0;
}

uint64_t answer_retry_after(const struct http_answer *a)
{
	const char *s = a->retry_after;
	uint64_t seconds = answer_number(&s);
	int64_t until;

	if (seconds != ANSWER_UNKNOWN)
		return seconds;
	until = date_parse(a->retry_after);
	return until > answer_date(a) && answer_date(a) ? (uint64_t)(until - answer_date(a)) : 0;
}
