/* Tests of the transports: both have to come to the same end with whatever a server does. script_server.h has the
 * server. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/http/curl/transport.h"
#include "backends/http/native/transport.h"
#include "tests/backends/http/script_server.h"
#include "tests/unit.h"

enum { BODY_MAX = 4 << 20, PLACED = 3, HANGS_S = 60 };
#define SECOND UINT64_C(1000000000)
#define OK     "HTTP/1.1 200 OK\r\n"
#define FOUR   OK "content-length: 4\r\n\r\n"

static struct clock real;
static char received[BODY_MAX];
static uint64_t received_bytes, placed_bytes;
static const struct transport_ops *const transports[] = {&transport_curl, &transport_native};

static int keep(struct exchange *x, const void *data, uint64_t n)
{
	(void)x;
	CU_ASSERT_FATAL(received_bytes + n < BODY_MAX);
	placed_bytes += data == received + received_bytes ? n : 0;
	memmove(received + received_bytes, data, n);
	received_bytes += n;
	received[received_bytes] = '\0';
	return 0;
}

/* Bytes belong one behind the other, with room for a few at a time. */
static void *place(struct exchange *x, uint64_t *n)
{
	(void)x;
	*n = PLACED;
	return received + received_bytes;
}

/* The body lies in a window of 1000 bytes. */
static int supply(struct exchange *x, uint64_t at, const void **from, uint64_t *n)
{
	static char window[1000];

	(void)x;
	for (uint64_t i = 0; i < sizeof(window); i++)
		window[i] = body_byte(at + i);
	*from = window;
	*n = sizeof(window);
	return 0;
}

static struct transport *open_transport(const struct transport_ops *ops, const struct clock *clock,
					uint64_t connect_ns)
{
	const struct transport_options options = {
		.depth = 2,
		.connections = 2,
		.connect_ns = connect_ns,
		.stall = {.first_byte_ns = 60 * SECOND, .stall_ns = 30 * SECOND},
		.clock = clock};
	struct transport *t;

	CU_ASSERT_EQUAL_FATAL(ops->open(&t, &options, NULL), 0);
	return t;
}

/* Carries one exchange, in turn with the server. fake: the clock, which moves a tenth of a second at each turn; or NULL. */
static void carry(struct transport *t, struct exchange *x, const struct script *s,
		  struct clock *fake)
{
	uint64_t hangs_ns = clock_kernel_ns() + HANGS_S * SECOND;
	struct exchange *ended = NULL;

	received_bytes = placed_bytes = 0;
	received[0] = '\0';
	t->ops->start(t, x);
	while (t->ops->poll(t, &ended, 0, 1, 0) == 0) {
		CU_ASSERT_FATAL(clock_kernel_ns() < hangs_ns);
		server_step(s);
		if (fake)
			clock_advance(fake, SECOND / 10);
	}
	CU_ASSERT_PTR_EQUAL(ended, x);
}

static struct exchange get(char url[64], const char *host)
{
	snprintf(url, 64, "http://%s:%u/bucket/key?a=b", host, server.port);
	return (struct exchange){.method = HTTP_GET, .url = url, .consume = keep};
}

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
		t = open_transport(transports[k % 2], &real, 10 * SECOND);
		for (int i = 0; i < 2; i++) {
			struct exchange x = get(url, "127.0.0.1");

			x.method = e->method;
			x.send_bytes = e->method == HTTP_PUT ? BODY_MAX - 123 : 0;
			x.supply = supply;
			x.place = i ? place : NULL;
			x.headers[x.header_count++] = "x-name: value";
			server.in_bytes = server.out_bytes = 0;
			carry(t, &x, &e->script, NULL);
			CU_ASSERT_EQUAL(x.status, 0);
			CU_ASSERT_EQUAL(x.answer.status, e->status);
			CU_ASSERT_STRING_EQUAL(received, e->body);
			CU_ASSERT(x.first_byte_ns > 0 && x.first_byte_ns <= clock_now(&real));
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
	t = open_transport(&transport_native, &real, 10 * SECOND);
	for (int i = 0; i < 3; i++) {
		struct exchange x = get(url, "localhost");

		x.method = i == 0 ? HTTP_GET : HTTP_PUT;
		x.send_bytes = i == 2 ? 10 : 0;
		x.supply = supply;
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

/* A body of the right length is received where it belongs. */
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
	t = open_transport(&transport_native, &real, 10 * SECOND);
	x = get(url, "127.0.0.1");
	x.place = place;
	carry(t, &x, &s, NULL);
	CU_ASSERT_EQUAL(x.status, 0);
	CU_ASSERT_EQUAL(received_bytes, 1048000);
	CU_ASSERT(placed_bytes == received_bytes);
	CU_ASSERT_STRING_EQUAL(received, large);
	t->ops->close(t);
	server_end(CLOSE);
	close(server.listener);
}

static void *place_good(struct exchange *x, uint64_t *n)
{
	return x->answer.status && x->answer.status / 100 != 2 ? NULL : place(x, n);
}

#define SIX OK "x: 4567\r\ncontent-length: 4\r\n\r\n"

/* After two heads of one length, the transport guesses that the third is as long, and receives the body where it then
 * belongs. Whatever comes instead, the answer is the same as without a guess, and so is the one after it. */
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
		{{{OK "x: 4567\r\ncontent-length: 2\r\n\r\nefgh"}, KEEP}, "ef", false, 0},
		{{{"HTTP/2.0 200 OK\r\nx: 4567\r\ncontent-length: 4\r\n\r\nefgh"}, KEEP},
		 "",
		 false,
		 -EPROTO},
		{{{SIX "ef"}, CLOSE}, "ef", true, -ECONNRESET},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct transport *t;
		char url[64];

		server_listen(8);
		t = open_transport(&transport_native, &real, 10 * SECOND);
		for (int k = 0; k < 4; k++) {
			const struct script *s = k == 2 ? &table[i].script : &before;
			struct exchange x = get(url, "127.0.0.1");

			x.place = place_good;
			carry(t, &x, s, NULL);
			CU_ASSERT_EQUAL(x.status, k == 2 ? table[i].status : 0);
			received[received_bytes] = '\0'; /* a guess may have left bytes there */
			CU_ASSERT_STRING_EQUAL(received, k == 2 ? table[i].body : "abcd");
			CU_ASSERT(k != 2 || !table[i].in_place || placed_bytes == received_bytes);
			CU_ASSERT(x.wire_bytes > received_bytes + server.head_bytes);
			server_end(k < 3 ? KEEP : CLOSE);
		}
		t->ops->close(t);
		close(server.listener);
	}
}

struct failed {
	struct script script;
	int status;
	enum request_fault fault;
	const char *why;
};

static void test_failures(void)
{
	static char line[300000];
	static const struct failed table[] = {
		{{{NULL}, CLOSE}, -ECONNRESET, REQ_FAULT_BROKEN, "the connection broke"},
		{{{NULL}, RESET}, -ECONNRESET, REQ_FAULT_BROKEN, "the connection broke"},
		{{{"HTTP/1.1 200"}, CLOSE}, -ECONNRESET, REQ_FAULT_BROKEN, "the connection broke"},
		{{{FOUR "abc"}, CLOSE}, -ECONNRESET, REQ_FAULT_BROKEN, "the connection broke"},
		{{{FOUR "abc"}, RESET}, -ECONNRESET, REQ_FAULT_BROKEN, "the connection broke"},
		{{{OK "transfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n"}, CLOSE},
		 -ECONNRESET,
		 REQ_FAULT_BROKEN,
		 "the connection broke"},
		{{{"rubbish\r\n\r\n"}, CLOSE},
		 -EPROTO,
		 REQ_FAULT_BROKEN,
		 "the answer is not HTTP/1.1"},
		{{{OK "content-length: -1\r\n\r\n"}, CLOSE},
		 -EPROTO,
		 REQ_FAULT_BROKEN,
		 "the answer is not HTTP/1.1"},
		{{{OK "name: ", line}, CLOSE},
		 -EPROTO,
		 REQ_FAULT_OTHER,
		 "a line in the head of the answer is too long"},
	};

	memset(line, 'x', sizeof(line) - 1);
	for (size_t k = 0; k < 2 * sizeof(table) / sizeof(table[0]); k++) {
		const struct failed *e = &table[k / 2];
		struct exchange x;
		struct transport *t;
		char url[64];

		server_listen(8);
		t = open_transport(transports[k % 2], &real, 10 * SECOND);
		x = get(url, "127.0.0.1");
		carry(t, &x, &e->script, NULL);
		CU_ASSERT_EQUAL(x.status, e->status);
		CU_ASSERT_EQUAL(x.fault, e->fault);
		CU_ASSERT_STRING_EQUAL(x.why, e->why);
		CU_ASSERT_EQUAL(x.connections, 1);
		t->ops->close(t);
		server_end(CLOSE);
		close(server.listener);
	}
}

/* A server that answers before it has read all is heard, and its connection is not used again. One that claims success
 * then cannot be right. */
static void test_early_answers(void)
{
	static const struct script refuses = {
		{"HTTP/1.1 403 Forbidden\r\ncontent-length: 4\r\n\r\nnono"}, EARLY};
	static const struct script lies = {{FOUR "abcd"}, EARLY};

	for (int k = 0; k < 2; k++) {
		struct transport *t;
		struct exchange x;
		char url[64];

		server_listen(8);
		t = open_transport(&transport_native, &real, 10 * SECOND);
		for (int i = 0; i < 2; i++) {
			x = get(url, "127.0.0.1");
			x.method = HTTP_PUT;
			x.send_bytes = 1 << 30;
			x.supply = supply;
			carry(t, &x, k ? &lies : &refuses, NULL);
			CU_ASSERT_EQUAL(x.answer.status, k ? 200 : 403);
			CU_ASSERT_EQUAL(x.status, k ? -EPROTO : 0);
			CU_ASSERT_EQUAL(x.fault, k ? REQ_FAULT_BROKEN : REQ_FAULT_NONE);
			server_end(CLOSE);
		}
		CU_ASSERT_EQUAL(server.accepted, 2);
		t->ops->close(t);
		close(server.listener);
	}
}

static int enough(struct exchange *x, const void *data, uint64_t n)
{
	keep(x, data, n);
	return EXCHANGE_ENOUGH;
}

static int refuse(struct exchange *x, const void *data, uint64_t n)
{
	(void)x;
	(void)data;
	(void)n;
	return -EILSEQ;
}

static int supply_nothing(struct exchange *x, uint64_t at, const void **from, uint64_t *n)
{
	return at < 2000 ? supply(x, at, from, n) : -EDOM;
}

/* The caller ends an exchange: neither is a fault of the connection, and none is used again. */
static void test_ended_by_caller(void)
{
	static const struct script s = {{OK "content-length: 40\r\n\r\nabcd"}, KEEP};

	for (int k = 0; k < 6; k++) {
		struct transport *t;
		struct exchange x;
		char url[64];

		server_listen(8);
		t = open_transport(transports[k % 2], &real, 10 * SECOND);
		for (int i = 0; i < 2; i++) {
			x = get(url, "127.0.0.1");
			x.consume = k / 2 == 0 ? enough : refuse;
			if (k / 2 == 2) {
				x.method = HTTP_PUT;
				x.send_bytes = 5000;
				x.supply = supply_nothing;
			}
			carry(t, &x, &s, NULL);
			CU_ASSERT_EQUAL(x.status, k / 2 == 0 ? 0 : k / 2 == 1 ? -EILSEQ : -EDOM);
			CU_ASSERT_EQUAL(x.fault, REQ_FAULT_NONE);
			CU_ASSERT_EQUAL(x.connections, 1);
			server_end(CLOSE);
		}
		t->ops->close(t);
		close(server.listener);
	}
}

/* The server ends a kept connection, or sends what nobody asked for: the next exchange makes another connection. (libcurl
 * uses one with such bytes again, and the exchange breaks.) */
static void test_kept_connection_ends(void)
{
	static const struct script says_more = {{FOUR "abcd", "more"}, KEEP};
	static const struct script closes = {{FOUR "abcd"}, CLOSE};
	static const struct script good = {{FOUR "abcd"}, KEEP};

	for (int k = 0; k < 3; k++) {
		const struct script *s = k == 2 ? &says_more : &closes;
		struct exchange *ended;
		struct transport *t;
		struct exchange x;
		char url[64];

		server_listen(8);
		t = open_transport(transports[k > 0], &real, 10 * SECOND);
		x = get(url, "127.0.0.1");
		carry(t, &x, s, NULL);
		CU_ASSERT_EQUAL(x.status, 0);
		server_step(s);
		t->ops->poll(t, &ended, 0, 1, 0);
		server_end(CLOSE);
		x = get(url, "127.0.0.1");
		carry(t, &x, &good, NULL);
		CU_ASSERT_EQUAL(x.status, 0);
		CU_ASSERT_EQUAL(x.connections, 1);
		CU_ASSERT_EQUAL(server.accepted, 2);
		t->ops->close(t);
		server_end(CLOSE);
		close(server.listener);
	}
}

/* No server, no such name, no answer to the connection. */
static void test_no_connection(void)
{
	static const struct script s = {{FOUR "abcd"}, KEEP};

	for (int k = 0; k < 2; k++) {
		struct exchange x;
		struct transport *t;
		char url[64];

		server_listen(8);
		close(server.listener);
		t = open_transport(transports[k], &real, 10 * SECOND);
		x = get(url, "127.0.0.1");
		carry(t, &x, &s, NULL);
		CU_ASSERT_EQUAL(x.status, -ECONNREFUSED);
		CU_ASSERT_EQUAL(x.fault, REQ_FAULT_CONNECT);
		x = get(url, "localhost");
		carry(t, &x, &s, NULL);
		CU_ASSERT_EQUAL(x.status, -ECONNREFUSED);
		CU_ASSERT_EQUAL(x.fault, REQ_FAULT_CONNECT);
		x = get(url, "nowhere.invalid");
		carry(t, &x, &s, NULL);
		CU_ASSERT_EQUAL(x.status, -EHOSTUNREACH);
		CU_ASSERT_EQUAL(x.fault, REQ_FAULT_CONNECT);
		CU_ASSERT_STRING_EQUAL(x.why, "its name is not known");
		CU_ASSERT_EQUAL(x.connections, 0);
		t->ops->close(t);
	}
}

/* A server whose queue of connections is full does not answer. */
static void test_slow_connection(void)
{
	static const struct script none = {{NULL}, KEEP};

	for (int k = 0; k < 2; k++) {
		struct sockaddr_in a = {.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		int filling[4];
		struct exchange x;
		struct transport *t;
		char url[64];

		server_listen(0);
		server.deaf = true;
		a.sin_port = htons(server.port);
		for (int i = 0; i < 4; i++) {
			filling[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
			connect(filling[i], (struct sockaddr *)&a, sizeof(a));
		}
		t = open_transport(transports[k], &real, SECOND / 20);
		x = get(url, "127.0.0.1");
		carry(t, &x, &none, NULL);
		CU_ASSERT_EQUAL(x.status, -ETIMEDOUT);
		CU_ASSERT_EQUAL(x.fault, REQ_FAULT_CONNECT);
		for (int i = 0; i < 4; i++)
			close(filling[i]);
		t->ops->close(t);
		close(server.listener);
	}
}

/* A server that is silent, or slow, on a clock that moves by itself. */
static void test_stalls(void)
{
	static const struct {
		struct script script;
		enum request_fault fault;
		const char *why;
	} table[] = {
		{{{""}, KEEP}, REQ_FAULT_TIMEOUT, "no answer in time"},
		{{{OK, ""}, KEEP}, REQ_FAULT_STALL, "bytes stopped coming"},
		{{{FOUR "a", ""}, KEEP}, REQ_FAULT_STALL, "bytes stopped coming"},
	};

	for (size_t k = 0; k < 2 * sizeof(table) / sizeof(table[0]); k++) {
		struct clock fake;
		struct exchange x;
		struct transport *t;
		char url[64];

		clock_init_fake(&fake, SECOND);
		server_listen(8);
		t = open_transport(transports[k % 2], &fake, 10 * SECOND);
		x = get(url, "127.0.0.1");
		carry(t, &x, &table[k / 2].script, &fake);
		CU_ASSERT_EQUAL(x.status, -ETIMEDOUT);
		CU_ASSERT_EQUAL(x.fault, table[k / 2].fault);
		CU_ASSERT_STRING_EQUAL(x.why, table[k / 2].why);
		t->ops->close(t);
		server_end(CLOSE);
		close(server.listener);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"answers", test_answers},
		{"head", test_head},
		{"in place", test_in_place},
		{"guessed heads", test_guessed_heads},
		{"failures", test_failures},
		{"early answers", test_early_answers},
		{"ended by the caller", test_ended_by_caller},
		{"a kept connection ends", test_kept_connection_ends},
		{"no connection", test_no_connection},
		{"slow connection", test_slow_connection},
		{"stalls", test_stalls},
		CU_TEST_INFO_NULL,
	};

	clock_init(&real);
	return unit_main("transport", tests);
}
