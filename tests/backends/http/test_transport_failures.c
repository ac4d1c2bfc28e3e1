/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the transports: both have to fail in the same way with a server that answers badly, late
 * or not at all, and for a caller that wants no more. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/http/curl/transport.h"
#include "backends/http/native/transport.h"
#include "tests/backends/http/carry.h"
#include "tests/libs/doubles/fake_clock.h"
#include "tests/unit.h"

static const struct transport_ops *const transports[] = {&transport_curl, &transport_native};

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
		t = carry_open(transports[k % 2], &carried.clock, 60 * SECOND);
		x = carry_get(url, "127.0.0.1");
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

/* A server that answers before it has read all is heard, and its connection is not used again. One
 * that claims success then cannot be right. */
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
		t = carry_open(&transport_native, &carried.clock, 60 * SECOND);
		for (int i = 0; i < 2; i++) {
			x = carry_get(url, "127.0.0.1");
			x.method = HTTP_PUT;
			x.send_bytes = 1 << 30;
			x.supply = carry_supply;
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
	carry_keep(x, data, n);
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
	return at < 2000 ? carry_supply(x, at, from, n) : -EDOM;
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
		t = carry_open(transports[k % 2], &carried.clock, 60 * SECOND);
		for (int i = 0; i < 2; i++) {
			x = carry_get(url, "127.0.0.1");
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

/* The server ends a kept connection, or sends what nobody asked for: the next exchange makes
 * another connection. (libcurl uses one with such bytes again, and the exchange breaks.) */
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
		t = carry_open(transports[k > 0], &carried.clock, 60 * SECOND);
		x = carry_get(url, "127.0.0.1");
		carry(t, &x, s, NULL);
		CU_ASSERT_EQUAL(x.status, 0);
		server_step(s);
		t->ops->poll(t, &ended, 0, 1, 0);
		server_end(CLOSE);
		x = carry_get(url, "127.0.0.1");
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
		t = carry_open(transports[k], &carried.clock, 60 * SECOND);
		x = carry_get(url, "127.0.0.1");
		carry(t, &x, &s, NULL);
		CU_ASSERT_EQUAL(x.status, -ECONNREFUSED);
		CU_ASSERT_EQUAL(x.fault, REQ_FAULT_CONNECT);
		x = carry_get(url, "localhost");
		carry(t, &x, &s, NULL);
		CU_ASSERT_EQUAL(x.status, -ECONNREFUSED);
		CU_ASSERT_EQUAL(x.fault, REQ_FAULT_CONNECT);
		x = carry_get(url, "nowhere.invalid");
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
		t = carry_open(transports[k], &carried.clock, SECOND / 20);
		x = carry_get(url, "127.0.0.1");
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
		t = carry_open(transports[k % 2], &fake, 10 * SECOND);
		x = carry_get(url, "127.0.0.1");
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
		{"failures", test_failures},
		{"early answers", test_early_answers},
		{"ended by the caller", test_ended_by_caller},
		{"a kept connection ends", test_kept_connection_ends},
		{"no connection", test_no_connection},
		{"slow connection", test_slow_connection},
		{"stalls", test_stalls},
		CU_TEST_INFO_NULL,
	};

	clock_init(&carried.clock);
	return unit_main("transport failures", tests);
}
