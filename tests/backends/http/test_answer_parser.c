/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the parser of HTTP/1.1 answers: a table of answers with what becomes of them, each given
 * whole and in pieces of every small size. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/native/answer_parser.h"
#include "tests/unit.h"

enum { BODY_MAX = 256 };

#define OK    "HTTP/1.1 200 OK\r\n"
#define LONG  "content-length: 4\r\n"
#define CODED "transfer-encoding: chunked\r\n"

/* What came of an answer. */
struct outcome {
	int rc;
	bool whole; /* after the server has ended the connection, too */
	bool keeps;
	uint16_t status;
	size_t left; /* bytes behind the answer */
	char body[BODY_MAX];
};

struct given {
	const char *text;
	enum http_method method;
	int rc;
	uint16_t status;
	const char *body;
	bool whole, keeps;
	size_t left;
};

/* Gives the answer in pieces of this size, as a transport does that keeps what the parser
 * leaves. */
static struct outcome parse(const char *text, size_t n, enum http_method method, size_t piece)
{
	struct outcome o = {0};
	struct http_answer answer;
	struct answer_parser p;
	size_t begin = 0, end = 0, body = 0;

	answer_clear(&answer);
	answer_parser_begin(&p, &answer, method);
	while (p.part != ANSWER_WHOLE) {
		int64_t took = answer_parser_take(&p, text + begin, end - begin);

		if (took < 0) {
			o.rc = (int)took;
			CU_ASSERT_PTR_NOT_NULL(p.why);
			return o;
		}
		CU_ASSERT_FATAL((size_t)took <= end - begin);
		begin += (size_t)took;
		if (p.part == ANSWER_BODY && begin < end) {
			uint64_t some = end - begin;

			some = some < p.body_left ? some : p.body_left;
			CU_ASSERT_FATAL(body + some < BODY_MAX);
			memcpy(o.body + body, text + begin, some);
			body += some;
			begin += some;
			answer_parser_body(&p, some);
			continue;
		}
		if (took || p.part == ANSWER_WHOLE)
			continue;
		if (end == n)
			break;
		end = end + piece < n ? end + piece : n;
	}
	o.whole = answer_parser_end(&p);
	o.keeps = p.keeps;
	o.status = answer.status;
	o.left = n - begin;
	return o;
}

static void expect(const struct given *g, size_t piece)
{
	struct outcome o = parse(g->text, strlen(g->text), g->method, piece);

	CU_ASSERT_EQUAL(o.rc, g->rc);
	CU_ASSERT_EQUAL(o.whole, g->whole);
	if (o.rc != g->rc || o.whole != g->whole)
		fprintf(stderr, "%d %d: %s\n", o.rc, o.whole, g->text);
	if (g->rc)
		return;
	CU_ASSERT_EQUAL(o.status, g->status);
	CU_ASSERT_STRING_EQUAL(o.body, g->body);
	CU_ASSERT_EQUAL(o.keeps, g->keeps);
	CU_ASSERT(!g->whole || o.left == g->left);
}

static void expect_all(const struct given *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t piece = 1; piece <= 40; piece++)
			expect(&list[i], piece);
		expect(&list[i], strlen(list[i].text) + 1);
	}
}

static void test_bodies(void)
{
	static const struct given table[] = {
		/* By length. */
		{OK LONG "\r\nabcd", HTTP_GET, 0, 200, "abcd", true, true, 0},
		{OK LONG "\r\nabc", HTTP_GET, 0, 200, "abc", false, true, 0},
		{OK LONG "\r\nabcdX", HTTP_GET, 0, 200, "abcd", true, true, 1},
		{OK "Content-Length: 0\r\n\r\n", HTTP_PUT, 0, 200, "", true, true, 0},
		{OK LONG LONG "\r\nabcd", HTTP_GET, 0, 200, "abcd", true, true, 0},
		{"HTTP/1.1 200\r\n" LONG "\r\nabcd", HTTP_GET, 0, 200, "abcd", true, true, 0},
		{"HTTP/1.1 206 \r\n" LONG "\r\nabcd", HTTP_GET, 0, 206, "abcd", true, true, 0},
		{OK "CONTENT-LENGTH:\t4 \t\r\n\r\nabcd", HTTP_GET, 0, 200, "abcd", true, true, 0},
		{OK "x-name:\r\nx!#$%&'*+-.^_`|~09: \xc3\xa9\r\n" LONG "\r\nabcd", HTTP_GET, 0, 200,
		 "abcd", true, true, 0},
		{OK "x: 01234567890\t\xc3\xa9\xff~ 0123456789\r\n" LONG "\r\nabcd", HTTP_GET, 0,
		 200, "abcd", true, true, 0},
		/* None. */
		{OK LONG "\r\n", HTTP_HEAD, 0, 200, "", true, true, 0},
		{OK LONG "\r\nabcd", HTTP_HEAD, 0, 200, "", true, true, 4},
		{OK "content-length: 99999999999999999999999\r\n\r\n", HTTP_HEAD, 0, 200, "", true,
		 true, 0},
		{OK CODED "\r\n", HTTP_HEAD, 0, 200, "", true, true, 0},
		{"HTTP/1.1 204 No Content\r\n\r\n", HTTP_DELETE, 0, 204, "", true, true, 0},
		{"HTTP/1.1 204 No Content\r\ncontent-length: 9\r\n\r\n", HTTP_DELETE, 0, 204, "",
		 true, true, 0},
		{"HTTP/1.1 304 Not Modified\r\n" LONG "\r\n", HTTP_GET, 0, 304, "", true, true, 0},
		/* Until the connection ends. */
		{OK "\r\nall of this", HTTP_GET, 0, 200, "all of this", true, false, 0},
		{OK "\r\n", HTTP_GET, 0, 200, "", true, false, 0},
		/* In chunks. */
		{OK CODED "\r\n4\r\nabcd\r\n0\r\n\r\n", HTTP_GET, 0, 200, "abcd", true, true, 0},
		{OK CODED "\r\n1\r\na\r\n00B\r\nbcdefghijkl\r\n0\r\n\r\n", HTTP_GET, 0, 200,
		 "abcdefghijkl", true, true, 0},
		{OK CODED "\r\n4;a=b;c=\"d\"\r\nabcd\r\n0 ;x\r\n\r\n", HTTP_GET, 0, 200, "abcd",
		 true, true, 0},
		{OK CODED "\r\n1\r\na\r\n0\r\netag: \"x\"\r\nMore: 1\r\n\r\nrest", HTTP_GET, 0, 200,
		 "a", true, true, 4},
		{OK CODED "\r\n4\r\nabcd\r\n0\r\n", HTTP_GET, 0, 200, "abcd", false, true, 0},
		{OK CODED "\r\n4\r\nabcd\r\n", HTTP_GET, 0, 200, "abcd", false, true, 0},
		{OK CODED "\r\n4\r\nabcd", HTTP_GET, 0, 200, "abcd", false, true, 0},
		{OK CODED "\r\n4\r\nab", HTTP_GET, 0, 200, "ab", false, true, 0},
		/* Not even a head. */
		{"", HTTP_GET, 0, 0, "", false, false, 0},
		{"HTTP/1.1 200 O", HTTP_GET, 0, 0, "", false, false, 0},
		{OK LONG, HTTP_GET, 0, 200, "", false, false, 0},
	};

	expect_all(table, sizeof(table) / sizeof(table[0]));
}

static void test_connections(void)
{
	static const struct given table[] = {
		{OK "connection: close\r\n" LONG "\r\nabcd", HTTP_GET, 0, 200, "abcd", true, false,
		 0},
		{OK "Connection: x-other ,\tCLOSE\r\n" LONG "\r\nabcd", HTTP_GET, 0, 200, "abcd",
		 true, false, 0},
		{OK "connection: closed, not close\r\n" LONG "\r\nabcd", HTTP_GET, 0, 200, "abcd",
		 true, true, 0},
		{OK "connection: keep-alive\r\n" LONG "\r\nabcd", HTTP_GET, 0, 200, "abcd", true,
		 true, 0},
		{OK "connection: close\r\n\r\n", HTTP_HEAD, 0, 200, "", true, false, 0},
		{OK "connection: close\r\n" CODED "\r\n0\r\n\r\n", HTTP_GET, 0, 200, "", true,
		 false, 0},
		{"HTTP/1.0 200 OK\r\n" LONG "\r\nabcd", HTTP_GET, 0, 200, "abcd", true, false, 0},
		{"HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\n" LONG "\r\nabcd", HTTP_GET, 0, 200,
		 "abcd", true, true, 0},
		{"HTTP/1.0 200 OK\r\nconnection: keep-alive, close\r\n" LONG "\r\nabcd", HTTP_GET,
		 0, 200, "abcd", true, false, 0},
		{"HTTP/1.9 200 OK\r\n" LONG "\r\nabcd", HTTP_GET, 0, 200, "abcd", true, true, 0},
	};

	expect_all(table, sizeof(table) / sizeof(table[0]));
}

#define CONTINUE "HTTP/1.1 100 Continue\r\n"
#define FOUR     CONTINUE "\r\n" CONTINUE "\r\n" CONTINUE "\r\n" CONTINUE "\r\n"

/* Answers of 1xx come before the final one, and nothing of them stays. */
static void test_interim(void)
{
	static const struct given table[] = {
		{CONTINUE "\r\n" OK LONG "\r\nabcd", HTTP_PUT, 0, 200, "abcd", true, true, 0},
		{CONTINUE "etag: \"x\"\r\nconnection: close\r\ncontent-length: 9\r\n\r\n"
			  "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" OK LONG "\r\nabcd",
		 HTTP_PUT, 0, 200, "abcd", true, true, 0},
		{CONTINUE "\r\n", HTTP_PUT, 0, 100, "", false, false, 0},
		{FOUR FOUR FOUR FOUR OK LONG "\r\nabcd", HTTP_PUT, 0, 200, "abcd", true, true, 0},
		{FOUR FOUR FOUR FOUR CONTINUE "\r\n" OK LONG "\r\nabcd", HTTP_PUT, -EPROTO, 0, "",
		 false, false, 0},
		{"HTTP/1.1 101 Switching Protocols\r\n\r\n", HTTP_GET, -EPROTO, 0, "", false, false,
		 0},
	};

	expect_all(table, sizeof(table) / sizeof(table[0]));
}

static void test_refused(void)
{
	static const char *const table[] = {
		/* The status line. */
		"\r\n" OK LONG "\r\nabcd",
		"rubbish without an end",
		"HTTP/2 200\r\n\r\n",
		"HTTP/1.1 20\r\n\r\n",
		"HTTP/1.1  200 OK\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 2x0 OK\r\n\r\n",
		"HTTP/1.1 099 OK\r\n\r\n",
		"HTTP/1.1 600 OK\r\n\r\n",
		"HTTP/1.x 200 OK\r\n\r\n",
		"HTTP/1.1\t200 OK\r\n\r\n",
		"HTTP/1.1 200 O\x01K\r\n\r\n",
		/* Ends of lines. */
		"HTTP/1.1 200 OK\n" LONG "\r\nabcd",
		OK "content-length: 4\n\r\nabcd",
		OK LONG "\nabcd",
		OK "a: b\rc\r\n" LONG "\r\nabcd",
		/* Headers. */
		OK "no colon\r\n" LONG "\r\nabcd",
		OK ": no name\r\n" LONG "\r\nabcd",
		OK "content-length : 4\r\n\r\nabcd",
		OK "x(y): z\r\n" LONG "\r\nabcd",
		OK "x: y\r\n folded\r\n" LONG "\r\nabcd",
		OK "x: \x7f\r\n" LONG "\r\nabcd",
		OK "\xc3\xa9: x\r\n" LONG "\r\nabcd",
		OK "x: 0123456789abcde\x1f\r\n" LONG "\r\nabcd",
		OK "x: 01\t23456789abcdef\x7f 0123456789\r\n" LONG "\r\nabcd",
		OK "x: 0123456789abcdef\xff\x01 0123456789abcdef\r\n" LONG "\r\nabcd",
		/* Framing. */
		OK "content-length: -1\r\n\r\n",
		OK "content-length: +4\r\n\r\nabcd",
		OK "content-length: 4x\r\n\r\nabcd",
		OK "content-length: 4, 4\r\n\r\nabcd",
		OK "content-length:\r\n\r\n",
		OK "content-length: 99999999999999999999999\r\n\r\nabcd",
		OK LONG "content-length: 5\r\n\r\nabcd",
		OK LONG CODED "\r\n0\r\n\r\n",
		OK CODED LONG "\r\n0\r\n\r\n",
		OK CODED CODED "\r\n0\r\n\r\n",
		OK "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		OK "transfer-encoding: identity\r\n\r\n",
		"HTTP/1.0 200 OK\r\n" CODED "\r\n0\r\n\r\n",
		/* Chunks. */
		OK CODED "\r\n\r\n",
		OK CODED "\r\nx\r\n",
		OK CODED "\r\n-1\r\n",
		OK CODED "\r\n 4\r\nabcd\r\n",
		OK CODED "\r\n4 4\r\nabcd\r\n",
		OK CODED "\r\n0x4\r\nabcd\r\n",
		OK CODED "\r\n1000000000000000\r\n",
		OK CODED "\r\n4\r\nabcde\r\n",
		OK CODED "\r\n4\r\nabcd\n0\r\n\r\n",
		OK CODED "\r\n4;\x01\r\nabcd\r\n",
		OK CODED "\r\n0\r\nno colon\r\n\r\n",
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct given g = {.text = table[i], .rc = -EPROTO};

		expect_all(&g, 1);
	}
}

/* The parts of an answer that are kept are those of the final head, and not of the trailer. */
static void test_kept(void)
{
	static const char text[] = CONTINUE "etag: \"old\"\r\n\r\n" OK "ETag: \"new\"\r\n" CODED
					    "\r\n0\r\netag: \"late\"\r\n\r\n";
	struct http_answer answer;
	struct answer_parser p;

	answer_clear(&answer);
	answer_parser_begin(&p, &answer, HTTP_GET);
	CU_ASSERT_EQUAL(answer_parser_take(&p, text, sizeof(text) - 1), sizeof(text) - 1);
	CU_ASSERT_EQUAL(p.part, ANSWER_WHOLE);
	CU_ASSERT_STRING_EQUAL(answer.etag, "\"new\"");
}

/* Bytes without NUL, which only a length tells the end of. */
static void test_nul(void)
{
	static const char text[] = OK "x: a\0b\r\n" LONG "\r\nabcd";

	CU_ASSERT_EQUAL(parse(text, sizeof(text) - 1, HTTP_GET, sizeof(text)).rc, -EPROTO);
}

/* Writes a head with one line of this length, its end included, and count such lines. */
static char *head_of(size_t line, unsigned count, size_t *n)
{
	char *text = malloc(sizeof(OK) + sizeof(LONG) + 16 + line * count), *at = text;

	at += strlen(strcpy(at, OK));
	for (unsigned i = 0; i < count; i++) {
		memset(at, 'x', line);
		memcpy(at, "name: ", 6);
		memcpy(at + line - 2, "\r\n", 2);
		at += line;
	}
	at += strlen(strcpy(at, LONG "\r\nabcd"));
	*n = (size_t)(at - text);
	return text;
}

static void test_limits(void)
{
	static const struct {
		size_t line;
		unsigned count;
		int rc;
		const char *why;
	} table[] = {
		{ANSWER_LINE_BYTES, 1, 0, NULL},
		{ANSWER_LINE_BYTES + 1, 1, -EMSGSIZE,
		 "a line in the head of the answer is too long"},
		{4 * ANSWER_LINE_BYTES, 1, -EMSGSIZE,
		 "a line in the head of the answer is too long"},
		{64, (64 << 10) / 64, 0, NULL},
		{ANSWER_HEAD_BYTES / 8, 7, 0, NULL},
		{ANSWER_HEAD_BYTES / 8, 8, -EMSGSIZE, "the head of the answer is too long"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct http_answer answer;
		struct answer_parser p;
		size_t n, used = 0;
		char *text = head_of(table[i].line, table[i].count, &n);
		int64_t took = 1;

		answer_clear(&answer);
		answer_parser_begin(&p, &answer, HTTP_GET);
		/* No more than the longest line is ever given. */
		while (took > 0 && used < n) {
			size_t most = n - used < ANSWER_LINE_BYTES ? n - used : ANSWER_LINE_BYTES;

			took = answer_parser_take(&p, text + used, most);
			used += took > 0 ? (size_t)took : 0;
		}
		CU_ASSERT_EQUAL(took < 0 ? took : 0, table[i].rc);
		if (table[i].rc) {
			CU_ASSERT_STRING_EQUAL(p.why, table[i].why);
		} else {
			CU_ASSERT(p.part == ANSWER_BODY && p.body_left == 4 && used == n - 4);
		}
		free(text);
	}
}

/* A body of many chunks is no long head. */
static void test_many_chunks(void)
{
	struct http_answer answer;
	struct answer_parser p;

	answer_clear(&answer);
	answer_parser_begin(&p, &answer, HTTP_GET);
	CU_ASSERT_EQUAL(answer_parser_take(&p, OK CODED "\r\n", strlen(OK CODED "\r\n")),
			strlen(OK CODED "\r\n"));
	for (unsigned i = 0; i < ANSWER_HEAD_BYTES; i++) {
		CU_ASSERT_EQUAL_FATAL(answer_parser_take(&p, "1\r\n", 3), 3);
		CU_ASSERT_EQUAL_FATAL(p.body_left, 1);
		answer_parser_body(&p, 1);
		CU_ASSERT_EQUAL_FATAL(answer_parser_take(&p, "\r\n", 2), 2);
	}
	CU_ASSERT_EQUAL(answer_parser_take(&p, "0\r\n\r\n", 5), 5);
	CU_ASSERT(answer_parser_end(&p));
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"bodies", test_bodies},
		{"connections", test_connections},
		{"interim answers", test_interim},
		{"refused", test_refused},
		{"kept", test_kept},
		{"NUL", test_nul},
		{"limits", test_limits},
		{"many chunks", test_many_chunks},
		CU_TEST_INFO_NULL,
	};

	return unit_main("answer_parser", tests);
}
