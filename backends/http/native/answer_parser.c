/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/native/answer_parser.h"

#include <errno.h>
#include <string.h>

#include "backends/http/wire/text.h"
#include "core/numbers.h"

#define ANSWER_VERSION "HTTP/1."
enum {
	ANSWER_VERSION_BYTES = sizeof(ANSWER_VERSION) - 1,
	ANSWER_STATUS_BYTES = ANSWER_VERSION_BYTES + sizeof("1 200") - 1,
	ANSWER_CHUNK_DIGITS = 15 /* of the length of a chunk, so that it is below 2^60 */
};

static int answer_parser_line(struct answer_parser *p, const char *line, size_t n);

void answer_parser_begin(struct answer_parser *p, struct http_answer *answer,
			 enum http_method method)
{
	*p = (struct answer_parser){.answer = answer, .method = method, .part = ANSWER_HEAD};
}

static int answer_parser_refuse(struct answer_parser *p)
{
	p->why = "the answer is not HTTP/1.1";
	return -EPROTO;
}

static int answer_parser_too_long(struct answer_parser *p, const char *why)
{
	p->why = why;
	return -EMSGSIZE;
}

/* Whether the bytes can be the beginning of a line: what is not HTTP at all may never send the end
 * of one. */
static bool answer_parser_begins_well(const struct answer_parser *p, const char *line, size_t n)
{
	if (p->part != ANSWER_HEAD || p->begun)
		return true;
	return memcmp(line, ANSWER_VERSION, min_u64(n, ANSWER_VERSION_BYTES)) == 0;
}

int64_t answer_parser_take(struct answer_parser *p, const char *data, size_t n)
{
	size_t used = 0;

	while (p->part != ANSWER_BODY && p->part != ANSWER_WHOLE && used < n) {
		const char *line = data + used, *end = memchr(line, '\n', n - used);
		size_t bytes = end ? (size_t)(end - line) + 1 : n - used;
		int rc;

		if (!answer_parser_begins_well(p, line, bytes))
			return answer_parser_refuse(p);
		if (bytes > ANSWER_LINE_BYTES || (!end && bytes == ANSWER_LINE_BYTES))
			return answer_parser_too_long(
				p, "a line in the head of the answer is too long");
		if (!end)
			break;
		if (bytes < 2 || line[bytes - 2] != '\r')
			return answer_parser_refuse(p);
		rc = answer_parser_line(p, line, bytes - 2);
		if (rc < 0)
			return rc;
		used += bytes;
	}
	return (int64_t)used;
}

void answer_parser_body(struct answer_parser *p, uint64_t n)
{
	if (p->body_left == ANSWER_UNKNOWN)
		return;
	p->body_left -= n;
	if (p->body_left == 0)
		p->part = p->coded ? ANSWER_GAP : ANSWER_WHOLE;
}

bool answer_parser_end(struct answer_parser *p)
{
	if (p->part == ANSWER_BODY && p->body_left == ANSWER_UNKNOWN)
		p->part = ANSWER_WHOLE;
	return p->part == ANSWER_WHOLE;
}

/* Whether a text holds no control character but tabs. Bytes above 127 are allowed. */
static bool answer_parser_plain(const char *s, size_t n)
{
	const uint64_t ones = UINT64_MAX / 255, high = ones << 7;
	bool wrong = false;
	uint64_t w, del;

	/* Eight bytes at a time, while none of them is below a space or is 0x7f. */
	for (; n >= sizeof(w); s += sizeof(w), n -= sizeof(w)) {
		memcpy(&w, s, sizeof(w));
		del = w ^ ones * 0x7f;
		if ((((w - ones * ' ') & ~w) | ((del - ones) & ~del)) & high)
			break;
	}
	for (; n; s++, n--)
		wrong |= ((unsigned char)*s < ' ' && *s != '\t') || *s == 0x7f;
	return !wrong;
}

static bool answer_parser_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "HTTP/1.1 206 Partial Content"; the words, and the space before them, may be missing. */
static int answer_parser_status(struct answer_parser *p, const char *line, size_t n)
{
	const char *number = line + ANSWER_VERSION_BYTES + 2;
	unsigned status = 0;

	if (n < ANSWER_STATUS_BYTES || !answer_parser_digit(number[-2]) || number[-1] != ' ' ||
	    (n > ANSWER_STATUS_BYTES && line[ANSWER_STATUS_BYTES] != ' ') ||
	    !answer_parser_plain(line, n))
		return answer_parser_refuse(p);
	for (int i = 0; i < 3; i++) {
		if (!answer_parser_digit(number[i]))
			return answer_parser_refuse(p);
		status = status * 10 + (unsigned)(number[i] - '0');
	}
	/* haul asks for no other protocol. */
	if (status < 100 || status > 599 || status == 101)
		return answer_parser_refuse(p);
	answer_clear(p->answer);
	p->answer->status = (uint16_t)status;
	p->old = number[-2] == '0';
	p->begun = true;
	return 0;
}

/* Bytes of the name at the beginning of the line, which a colon ends; 0: there is no name. */
static size_t answer_parser_name(const char *line, size_t n)
{
	/* A bit for each character that a name may have: RFC 9110, 5.6.2. */
	static const uint64_t allowed[2] = {UINT64_C(0x03ff6cfa00000000),
					    UINT64_C(0x57ffffffc7fffffe)};

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)line[i];

		if (c == ':')
			return i;
		if (c > 127 || !(allowed[c >> 6] >> (c & 63) & 1))
			return 0;
	}
	return 0;
}

static int answer_parser_length(struct answer_parser *p, const char *value, size_t n,
				uint64_t before)
{
	for (size_t i = 0; i < n; i++) {
		if (!answer_parser_digit(value[i]))
			return answer_parser_refuse(p);
	}
	if (n == 0 || (p->length_given && p->answer->length != before))
		return answer_parser_refuse(p);
	p->length_given = true;
	return 0;
}

/* "close", "keep-alive", and names of headers that do not matter here, with commas between. */
static void answer_parser_connection(struct answer_parser *p, const char *value, size_t n)
{
	for (size_t from = 0, to; from < n; from = to + 1) {
		size_t last;

		while (from < n && (value[from] == ' ' || value[from] == '\t'))
			from++;
		for (to = from; to < n && value[to] != ',';)
			to++;
		for (last = to; last > from && (value[last - 1] == ' ' || value[last - 1] == '\t');)
			last--;
		p->close |= text_is(value + from, last - from, "close");
		p->persist |= text_is(value + from, last - from, "keep-alive");
	}
}

static int answer_parser_header(struct answer_parser *p, const char *line, size_t n)
{
	size_t name = answer_parser_name(line, n), from = name + 1, to = n;
	uint64_t before = p->answer->length;

	if (name == 0)
		return answer_parser_refuse(p);
	while (from < to && (line[from] == ' ' || line[from] == '\t'))
		from++;
	while (to > from && (line[to - 1] == ' ' || line[to - 1] == '\t'))
		to--;
	if (!answer_parser_plain(line + from, to - from))
		return answer_parser_refuse(p);
	/* Nothing that comes after the body may change what is known of it. */
	if (p->part == ANSWER_TRAILER)
		return 0;
	answer_header(p->answer, line, name, line + from, to - from);
	if (text_is(line, name, "content-length"))
		return answer_parser_length(p, line + from, to - from, before);
	if (text_is(line, name, "connection"))
		answer_parser_connection(p, line + from, to - from);
	if (!text_is(line, name, "transfer-encoding"))
		return 0;
	if (p->coded || !text_is(line + from, to - from, "chunked"))
		return answer_parser_refuse(p);
	p->coded = true;
	return 0;
}

/* The head of an answer of 1xx is over: the final answer follows. */
static int answer_parser_interim(struct answer_parser *p)
{
	if (++p->interim > ANSWER_INTERIM_MAX)
		return answer_parser_refuse(p);
	p->begun = p->length_given = p->coded = p->close = p->persist = false;
	return 0;
}

/* The head is over: how the body is framed. */
static int answer_parser_frame(struct answer_parser *p)
{
	const struct http_answer *a = p->answer;

	if (a->status / 100 == 1)
		return answer_parser_interim(p);
	p->keeps = !p->close && (!p->old || p->persist);
	if (p->method == HTTP_HEAD || a->status == 204 || a->status == 304) {
		p->part = ANSWER_WHOLE;
		return 0;
	}
	if ((p->coded && (p->length_given || p->old)) || a->length_malformed)
		return answer_parser_refuse(p);
	if (p->coded) {
		p->part = ANSWER_CHUNK;
		return 0;
	}
	p->body_left = a->length;
	p->keeps = p->keeps && p->length_given;
	p->part = p->body_left ? ANSWER_BODY : ANSWER_WHOLE;
	return 0;
}

/* "1f40" or "1f40;name=value". */
static int answer_parser_chunk(struct answer_parser *p, const char *line, size_t n)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		const char *digit = memchr(digits, line[i], sizeof(digits) - 1);

		if (!digit)
			break;
		bytes = bytes << 4 | ((uint64_t)(digit - digits) & 15);
	}
	if (i == 0 || i > ANSWER_CHUNK_DIGITS || !answer_parser_plain(line + i, n - i))
		return answer_parser_refuse(p);
	while (i < n && (line[i] == ' ' || line[i] == '\t'))
		i++;
	if (i < n && line[i] != ';')
		return answer_parser_refuse(p);
	p->body_left = bytes;
	p->part = bytes ? ANSWER_BODY : ANSWER_TRAILER;
	return 0;
}

/* Takes a line, n bytes without its end. */
static int answer_parser_line(struct answer_parser *p, const char *line, size_t n)
{
	/* There may be any number of chunks. */
	if (p->part == ANSWER_CHUNK)
		return answer_parser_chunk(p, line, n);
	if (p->part == ANSWER_GAP) {
		p->part = ANSWER_CHUNK;
		return n == 0 ? 0 : answer_parser_refuse(p);
	}
	p->lines_bytes += (uint32_t)n + 2;
	if (p->lines_bytes > ANSWER_HEAD_BYTES)
		return answer_parser_too_long(p, "the head of the answer is too long");
	if (!p->begun)
		return answer_parser_status(p, line, n);
	if (n)
		return answer_parser_header(p, line, n);
	if (p->part == ANSWER_HEAD)
		return answer_parser_frame(p);
	p->part = ANSWER_WHOLE;
	return 0;
}
