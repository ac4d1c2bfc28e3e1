/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the transports: both have to come to the same end with whatever a server answers.
 * test_transport_failures.c has what goes wrong. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/http/curl/transport.h"
#include "backends/http/native/transport.h"
#include "tests/backends/http/carry.h"
#include "tests/backends/http/client_buffer.h"
#include "tests/libs/doubles/fake_clock.h"
#include "tests/unit.h"

static const struct transport_ops *const transports[] = {&transport_curl, &transport_native};

struct expected {
	struct script script;
	enum http_method method;
	uint16_t status;
	const char *body;
	unsigned connections; /* that two exchanges make */
};

/* Two exchanges, one after the other, which end well. */
static void test_answers(void)
{
	static const struct expected table[] = {
		{{{FOUR "abcd"}, KEEP}, HTTP_GET, 200, "abcd", 1},
		{{{OK, "content-length: 8\r\n", "\r\nabcd", "efgh"}, KEEP},
		 HTTP_GET,
		 200,
		 "abcdefgh",
		 1},
		{{{OK "transfer-encoding: chunked\r\n\r\n3", "\r\nabc\r\n", "1;x\r\nd\r",
		   "\n0\r\n\r\n"},
		  KEEP},
		 HTTP_GET,
		 200,
		 "abcd",
		 1},
		{{{OK "\r\nabc", "d"}, CLOSE}, HTTP_GET, 200, "abcd", 2},
		{{{OK "connection: close\r\ncontent-length: 4\r\n\r\nab", "cd"}, CLOSE},
		 HTTP_GET,
		 200,
		 "abcd",
		 2},
		{{{"HTTP/1.0 200 OK\r\ncontent-length: 4\r\n\r\nabcd"}, CLOSE},
		 HTTP_GET,
		 200,
		 "abcd",
		 2},
		{{{OK "content-length: 4000\r\n\r\n"}, KEEP}, HTTP_HEAD, 200, "", 1},
		{{{"HTTP/1.1 503 Slow Down\r\ncontent-length: 4\r\n\r\nbusy"}, KEEP},
		 HTTP_GET,
		 503,
		 "busy",
		 1},
		{{{"HTTP/1.1 204 No Content\r\n\r\n"}, KEEP}, HTTP_DELETE, 204, "", 1},
		{{{"HTTP/1.1 100 Continue\r\n\r\n", FOUR, "abcd"}, KEEP}, HTTP_PUT, 200, "abcd", 1},
		{{{FOUR "abcd"}, KEEP}, HTTP_POST, 200, "abcd", 1},
	};

	for (size_t k = 0; k < 2 * sizeof(table) / sizeof(table[0]); k++) {
		const struct expected *e = &table[k / 2];
		struct transport *t;
		char url[64];

		server_listen(8);
		t = carry_open(transports[k % 2], &carried.clock, 60 * SECOND);
		for (int i = 0; i < 2; i++) {
			struct exchange x = carry_get(url, "127.0.0.1");

			x.method = e->method;
			x.send_bytes = e->method == HTTP_PUT ? BODY_MAX - 123 : 0;
			x.supply = carry_supply;
			x.place = i ? carry_place : NULL;
			x.headers[x.header_count++] = "x-name: value";
			server.in_bytes = server.out_bytes = 0;
			carry(t, &x, &e->script, NULL);
			CU_ASSERT_EQUAL(x.status, 0);
			CU_ASSERT_EQUAL(x.answer.status, e->status);
			CU_ASSERT_STRING_EQUAL(carried.body, e->body);
			CU_ASSERT(x.first_byte_ns > 0 &&
				  x.first_byte_ns <= clock_now(&carried.clock));
			/* libcurl does not count what stands between chunks. */
			if (k % 2)
				CU_ASSERT_EQUAL(x.wire_bytes, server.in_bytes + server.out_bytes);
			/* The server has its turn to end the connection. */
			server_step(&e->script);
		}
		CU_ASSERT_EQUAL(server.accepted, e->connections);
		CU_ASSERT_FALSE(server.body_wrong);
		t->ops->close(t);
		server_end(CLOSE);
		close(server.listener);
	}
}

/* The head is what was asked for, with what HTTP needs, and nothing else. */
static void test_head(void)
{
	static const struct script s = {{FOUR "abcd"}, KEEP};
	char url[64], wanted[256], seen[HEAD_MAX];
	struct transport *t;

	server_listen(8);
	t = carry_open(&transport_native, &carried.clock, 60 * SECOND);
	for (int i = 0; i < 3; i++) {
		struct exchange x = carry_get(url, "localhost");

		x.method = i == 0 ? HTTP_GET : HTTP_PUT;
		x.send_bytes = i == 2 ? 10 : 0;
		x.supply = carry_supply;
		x.headers[x.header_count++] = "range: bytes=0-3";
		snprintf(wanted, sizeof(wanted),
			 "%s /bucket/key?a=b HTTP/1.1\r\nhost: localhost:%u\r\nuser-agent: haul\r\n"
			 "range: bytes=0-3\r\n%s\r\n",
			 i ? "PUT" : "GET", server.port,
			 i == 0   ? ""
			 : i == 1 ? "content-length: 0\r\n"
				  : "content-length: 10\r\n");
		carry(t, &x, &s, NULL);
		memcpy(seen, server.head, sizeof(seen));
		CU_ASSERT_STRING_EQUAL(seen, wanted);
		CU_ASSERT_EQUAL(x.connections, i == 0);
		server_step(&s);
	}
	t->ops->close(t);
	server_end(CLOSE);
	close(server.listener);
}

/* A body of the right length is carried.body where it belongs. */
static void test_in_place(void)
{
	static char large[1 << 20];
	struct script s = {{OK "content-length: 1048000\r\n\r\n", large}, KEEP};
	struct exchange x;
	struct transport *t;
	char url[64];

	for (uint64_t i = 0; i < 1048000; i++)
		large[i] = body_byte(i);
	server_listen(8);
	t = carry_open(&transport_native, &carried.clock, 60 * SECOND);
	x = carry_get(url, "127.0.0.1");
	x.place = carry_place;
	carry(t, &x, &s, NULL);
	CU_ASSERT_EQUAL(x.status, 0);
	CU_ASSERT_EQUAL(carried.bytes, 1048000);
	CU_ASSERT(carried.placed_bytes == carried.bytes);
	CU_ASSERT_STRING_EQUAL(carried.body, large);
	t->ops->close(t);
	server_end(CLOSE);
	close(server.listener);
}

static void *place_good(struct exchange *x, uint64_t *n)
{
	return x->answer.status && x->answer.status / 100 != 2 ? NULL : carry_place(x, n);
}

#define TEN "0123456789"
#define SIX OK "x: 4567\r\ncontent-length: 4\r\n\r\n"

/* After two heads of one length, the transport guesses that the third is as long, and receives the
 * body where it then belongs, if the exchange names a place. Whatever comes instead, the answer is
 * the same as without a guess, and so is the one after it. */
static void test_guessed_heads(void)
{
	static const struct script before = {{SIX "abcd"}, KEEP};
	static const struct {
		struct script script;
		const char *body;
		bool in_place; /* surely; where the pieces meet on their way, other guesses may be right, too */
		int status;
	} table[] = {
		{{{SIX "efgh"}, KEEP}, "efgh", true, 0},
		{{{OK "x: 4567\r\ncontent-length: 5\r\n\r\nefghi"}, KEEP}, "efghi", true, 0},
		{{{SIX, "ef", "gh"}, KEEP}, "efgh", true, 0},
		{{{OK "x: 4567\r\nconte", "nt-length: 4\r\n\r\n", "efgh"}, KEEP}, "efgh", false, 0},
		/* Shorter, longer, and without a body. */
		{{{FOUR "efgh"}, KEEP}, "efgh", false, 0},
		{{{OK "content-length: 100\r\n\r\n" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN}, KEEP},
		 TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN,
		 false,
		 0},
		{{{OK "content-length: 0\r\n\r\n"}, KEEP}, "", false, 0},
		{{{OK "a: b\r\nx: 4567\r\ncontent-length: 4\r\n\r\nefgh"}, KEEP}, "efgh", false, 0},
		{{{OK "a: b\r\nx: 4567\r\nconten", "t-length: 4\r\n\r\nefgh"}, KEEP},
		 "efgh",
		 false,
		 0},
		/* As long, and another answer. */
		{{{"HTTP/1.1 404 NO\r\nx: 4567\r\ncontent-length: 4\r\n\r\nefgh"}, KEEP},
		 "efgh",
		 false,
		 0},
		{{{OK "transfer-encoding: chunked\r\n\r\n4\r\nefgh\r\n0\r\n\r\n"}, KEEP},
		 "efgh",
		 false,
		 0},
		{{{"HTTP/1.1 103 E\r\n\r\n" SIX "efgh"}, KEEP}, "efgh", false, 0},
		/* More than the answer, and less. */
		{{{OK "x: 4567\r\ncontent-length: 2\r\n\r\nefgh"}, KEEP}, "ef", false, -EPROTO},
		{{{"HTTP/2.0 200 OK\r\nx: 4567\r\ncontent-length: 4\r\n\r\nefgh"}, KEEP},
		 "",
		 false,
		 -EPROTO},
		{{{SIX "ef"}, CLOSE}, "ef", true, -ECONNRESET},
	};

	for (size_t i = 0; i < 2 * sizeof(table) / sizeof(table[0]); i++) {
		bool places = i % 2;
		struct transport *t;
		char url[64];

		server_listen(8);
		t = carry_open(&transport_native, &carried.clock, 60 * SECOND);
		for (int k = 0; k < 4; k++) {
			const struct script *s = k == 2 ? &table[i / 2].script : &before;
			struct exchange x = carry_get(url, "127.0.0.1");

			x.place = places ? place_good : NULL;
			carry(t, &x, s, NULL);
			CU_ASSERT_EQUAL(x.status, k == 2 ? table[i / 2].status : 0);
			carried.body[carried.bytes] = '\0'; /* a guess may have left bytes there */
			CU_ASSERT_STRING_EQUAL(carried.body, k == 2 ? table[i / 2].body : "abcd");
			if (!places || (k == 2 && table[i / 2].in_place))
				CU_ASSERT(carried.placed_bytes == (places ? carried.bytes : 0));
			CU_ASSERT(x.wire_bytes > carried.bytes + server.head_bytes);
			server_end(k < 3 ? KEEP : CLOSE);
		}
		t->ops->close(t);
		close(server.listener);
	}
}

/* The server sends its pieces up to that one, and so many bytes come; then the transport has a few
 * turns more. Returns whether the exchange has ended. */
static bool go_on(struct transport *t, const struct script *s, unsigned piece, uint64_t bytes)
{
	uint64_t hangs_ns = clock_kernel_ns() + HANGS_S * SECOND;
	struct exchange *ended = NULL;
	bool there;

	for (int turns = 0; !ended && turns < 3; turns += there) {
		CU_ASSERT_FATAL(clock_kernel_ns() < hangs_ns);
		if (server.piece < piece)
			server_step(s);
		t->ops->poll(t, &ended, 0, 1, 0);
		there = server.piece >= piece && carried.bytes >= bytes;
	}
	return ended;
}

/* In the midst of a long body few bytes wait for more, unless the buffer of the connection is
 * small: until some time has passed, or the end is near. */
static void test_low_water(void)
{
	enum {
		LONG = 1 << 20,
		FEW = 1000,
		LAST = 300000,
		ALL = LONG + FEW + LAST,
		MARK = 256 << 10
	};
	static char pieces[3][LONG + 1];
	static const struct script s = {
		{OK "content-length: 1349576\r\n\r\n", pieces[0], pieces[1], pieces[2]}, KEEP};
	static const struct script next = {{FOUR "abcd"}, KEEP};

	memset(pieces[0], 'l', LONG);
	memset(pieces[1], 'f', FEW);
	memset(pieces[2], 'e', LAST);
	for (int small = 0; small < 2; small++) {
		struct clock fake;
		struct exchange x;
		struct transport *t;
		char url[64];
		bool waits;

		clock_init_fake(&fake, SECOND);
		server_listen(8);
		t = carry_open(&transport_native, &fake, 10 * SECOND);
		x = carry_get(url, "127.0.0.1");
		carried.bytes = 0;
		t->ops->start(t, &x);
		CU_ASSERT_FALSE(go_on(t, &s, 1, 0));
		waits = client_buffer(server.port, small ? 1 << 16 : 2 << 20) >= 4 * MARK;
		CU_ASSERT(!small || !waits);
		CU_ASSERT_FALSE(go_on(t, &s, 2, LONG - MARK));
		clock_advance(&fake, SECOND);
		CU_ASSERT_FALSE(go_on(t, &s, 2, LONG));
		CU_ASSERT_FALSE(go_on(t, &s, 3, waits ? LONG : LONG + FEW));
		CU_ASSERT_EQUAL(carried.bytes, waits ? LONG : LONG + FEW);
		clock_advance(&fake, SECOND);
		CU_ASSERT_FALSE(go_on(t, &s, 3, LONG + FEW));
		CU_ASSERT_TRUE(go_on(t, &s, 4, UINT64_MAX));
		CU_ASSERT_EQUAL(x.status, 0);
		CU_ASSERT_EQUAL(carried.bytes, ALL);
		for (int i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(memcmp(carried.body + (i > 0) * LONG + (i > 1) * FEW,
					       pieces[i], strlen(pieces[i])),
					0);
		/* A short answer on the same connection is told of at once. */
		server_end(KEEP);
		x = carry_get(url, "127.0.0.1");
		carry(t, &x, &next, NULL);
		CU_ASSERT_EQUAL(x.status, 0);
		CU_ASSERT_EQUAL(x.connections, 0);
		t->ops->close(t);
		server_end(CLOSE);
		close(server.listener);
	}
}

/* Whether the client has acknowledged all that the server sent. */
static bool server_is_acknowledged(void)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof(info);

	CU_ASSERT_EQUAL_FATAL(getsockopt(server.client, IPPROTO_TCP, TCP_INFO, &info, &n), 0);
	return info.tcpi_unacked == 0;
}

/* The first half of a short answer is acknowledged at once, because a server may hold back the
 * second until then. Without that the kernel does so for the first dozen segments of a connection
 * only. */
static void test_acknowledges(void)
{
	enum { TIMES = 200 };
	static const struct {
		struct script script;
		uint64_t bytes; /* of the body in the first half */
	} table[] = {
		{{{FOUR "ab", "cd"}, KEEP}, 2},
		{{{FOUR, "abcd"}, KEEP}, 0},
		{{{OK "content-le", "ngth: 4\r\n\r\nabcd"}, KEEP}, 0},
	};

	for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
		const struct script *s = &table[k].script;
		unsigned at_once = 0;
		struct transport *t;
		char url[64];

		server_listen(8);
		t = carry_open(&transport_native, &carried.clock, 60 * SECOND);
		for (int i = 0; i < TIMES; i++) {
			struct exchange x = carry_get(url, "127.0.0.1");

			carried.bytes = 0;
			t->ops->start(t, &x);
			CU_ASSERT_FALSE(go_on(t, s, 1, table[k].bytes));
			at_once += server_is_acknowledged();
			CU_ASSERT_TRUE(go_on(t, s, 2, UINT64_MAX));
			CU_ASSERT_EQUAL(x.status, 0);
			CU_ASSERT_EQUAL(carried.bytes, 4);
			server_end(KEEP);
		}
		CU_ASSERT(at_once > TIMES / 2);
		CU_ASSERT_EQUAL(server.accepted, 1);
		t->ops->close(t);
		server_end(CLOSE);
		close(server.listener);
	}
}

/* To this host, a connection's send buffer is 1 MiB where the user may have so much, and what the
 * kernel makes of it elsewhere. */
static void test_local_buffer(void)
{
	static const struct script s = {{FOUR "abcd"}, KEEP};
	static const char *const hosts[] = {"127.0.0.1", "localhost"};

	for (int i = 0; i < 2; i++) {
		int bytes = 0, before = 0, half = 1 << 19;
		bool fixed;
		socklen_t n = sizeof(int);
		struct transport *t;
		struct exchange x;
		char url[64];

		server_listen(8);
		getsockopt(server.listener, SOL_SOCKET, SO_SNDBUF, &before, &n);
		setsockopt(server.listener, SOL_SOCKET, SO_SNDBUF, &half, n);
		getsockopt(server.listener, SOL_SOCKET, SO_SNDBUF, &bytes, &n);
		fixed = bytes == 2 * half;
		t = carry_open(&transport_native, &carried.clock, 60 * SECOND);
		x = carry_get(url, hosts[i]);
		carry(t, &x, &s, NULL);
		CU_ASSERT_EQUAL(x.status, 0);
		getsockopt(client_socket(server.port), SOL_SOCKET, SO_SNDBUF, &bytes, &n);
		CU_ASSERT(fixed ? bytes == 2 * half : bytes >= before);
		t->ops->close(t);
		server_end(CLOSE);
		close(server.listener);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"answers", test_answers},           {"head", test_head},
		{"in place", test_in_place},         {"guessed heads", test_guessed_heads},
		{"low-water mark", test_low_water},  {"acknowledges at once", test_acknowledges},
		{"local buffer", test_local_buffer}, CU_TEST_INFO_NULL,
	};

	clock_init(&carried.clock);
	return unit_main("transport", tests);
}
