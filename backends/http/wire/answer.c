#include "backends/http/wire/answer.h"

#include <string.h>

#include "backends/http/wire/text.h"

enum { VALUE_BYTES = 2048 };

void answer_clear(struct http_answer *a)
{
	a->status = 0;
	a->length = ANSWER_UNKNOWN;
	a->range_first = ANSWER_UNKNOWN;
	a->range_total = ANSWER_UNKNOWN;
	a->retry_after[0] = '\0';
	a->date[0] = '\0';
	a->etag[0] = '\0';
	a->code[0] = '\0';
	a->md5[0] = '\0';
	a->crc32c[0] = '\0';
	a->location[0] = '\0';
}

/* Digits at *s, moved behind them; ANSWER_UNKNOWN: none, or too many. */
static uint64_t number(const char **s)
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

/* "bytes 0-99/1234", "bytes 0-99/" followed by a star, or "bytes" and a star over 1234. */
static void content_range(struct http_answer *a, const char *s)
{
	uint64_t first;

	if (strncmp(s, "bytes ", 6) != 0)
		return;
	s += 6;
	first = number(&s);
	if (first != ANSWER_UNKNOWN && *s == '-') {
		s++;
		if (number(&s) == ANSWER_UNKNOWN)
			return;
		a->range_first = first;
	} else if (*s == '*') {
		s++;
	}
	if (*s++ == '/')
		a->range_total = number(&s);
}

static void keep(char *to, size_t size, const char *value)
{
	size_t n = strlen(value);

	/* Half of one is worse than none. */
	if (n >= size)
		return;
	memcpy(to, value, n + 1);
}

static void keep_sum(char to[ANSWER_SUM_BYTES], const char *value, size_t n)
{
	if (n >= ANSWER_SUM_BYTES)
		return;
	memcpy(to, value, n);
	to[n] = '\0';
}

/* "crc32c=4waSgw==,md5=kAFQmDzST7DWlj99KOF/cg==", or one of them, in a header or two. */
static void sums(struct http_answer *a, const char *value)
{
	while (*value) {
		size_t n = strcspn(value, ",");

		if (strncmp(value, "md5=", 4) == 0)
			keep_sum(a->md5, value + 4, n - 4);
		else if (strncmp(value, "crc32c=", 7) == 0)
			keep_sum(a->crc32c, value + 7, n - 7);
		value += n;
		value += strspn(value, ", ");
	}
}

static void header(struct http_answer *a, const char *name, size_t n, const char *value)
{
	const char *s = value;

	if (text_is(name, n, "content-length"))
		a->length = number(&s);
	else if (text_is(name, n, "content-range"))
		content_range(a, value);
	else if (text_is(name, n, "etag"))
		keep(a->etag, sizeof(a->etag), value);
	else if (text_is(name, n, "date"))
		keep(a->date, sizeof(a->date), value);
	else if (text_is(name, n, "retry-after"))
		keep(a->retry_after, sizeof(a->retry_after), value);
	else if (text_is(name, n, "content-md5"))
		keep_sum(a->md5, value, strlen(value));
	else if (text_is(name, n, "x-amz-checksum-crc32c"))
		keep_sum(a->crc32c, value, strlen(value));
	else if (text_is(name, n, "x-goog-hash"))
		sums(a, value);
	else if (text_is(name, n, "location"))
		keep(a->location, sizeof(a->location), value);
	else if (text_is(name, n, "x-ms-error-code"))
		keep(a->code, sizeof(a->code), value);
}

/* "HTTP/1.1 206 Partial Content" */
static void status_line(struct http_answer *a, const char *line, size_t n)
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
	char value[VALUE_BYTES];
	size_t from, to;

	while (n && (line[n - 1] == '\r' || line[n - 1] == '\n'))
		n--;
	if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		status_line(a, line, n);
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
	if (to - from >= sizeof(value) || memchr(line + from, '\0', to - from))
		return;
	memcpy(value, line + from, to - from);
	value[to - from] = '\0';
	header(a, line, (size_t)(colon - line), value);
}

int64_t answer_date(const struct http_answer *a)
{
	int64_t date = date_parse(a->date);

	return date > 0 ? date : 0;
}

uint64_t answer_retry_after(const struct http_answer *a)
{
	const char *s = a->retry_after;
	uint64_t seconds = number(&s);
	int64_t until;

	if (seconds != ANSWER_UNKNOWN)
		return seconds;
	until = date_parse(a->retry_after);
	return until > answer_date(a) && answer_date(a) ? (uint64_t)(until - answer_date(a)) : 0;
}
