/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the transports with TLS, whose server takes its turns in the same thread. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/http/curl/transport.h"
#include "backends/http/native/transport.h"
#include "backends/http/wire/suites.h"
#include "tests/backends/http/client_buffer.h"
#include "tests/backends/http/tls_server.h"
#include "tests/libs/doubles/fake_clock.h"
#include "tests/unit.h"

enum { LARGE = 3 << 20, HANGS_S = 60 };
#define SECOND UINT64_C(1000000000)
#define OK     "HTTP/1.1 200 OK\r\n"
#define FOUR   OK "content-length: 4\r\n\r\nabcd"
#define OPEN   OK "\r\nabcd"

static struct tls_server server;
static struct clock real;
static char ca[64];
static char received[LARGE + 1], large[LARGE + 256];
static uint64_t received_bytes;
static const struct transport_ops *const transports[] = {&transport_curl, &transport_native};

static char body_byte(uint64_t at)
{
	return (char)('a' + at % 23);
}

static int keep(struct exchange *x, const void *data, uint64_t n)
{
	(void)x;
	CU_ASSERT_FATAL(received_bytes + n <= LARGE);
	memmove(received + received_bytes, data, n);
	received_bytes += n;
	received[received_bytes] = '\0';
	return 0;
}

static void *place(struct exchange *x, uint64_t *n)
{
	(void)x;
	*n = 100000;
	return received_bytes + *n <= LARGE ? received + received_bytes : NULL;
}

static int supply(struct exchange *x, uint64_t at, const void **from, uint64_t *n)
{
	*from = large + at;
	*n = x->send_bytes - at;
	return 0;
}

static struct transport *open_transport_at(const struct transport_ops *ops, const char *bundle,
					   bool insecure, const struct clock *clock)
{
	const struct transport_options options = {
		.depth = 2,
		.connections = 1,
		.connect_ns = 60 * SECOND,
		.stall = {.first_byte_ns = 60 * SECOND, .stall_ns = 60 * SECOND},
		.insecure = insecure,
		.ca = bundle,
		.clock = clock};
	struct transport *t;

	CU_ASSERT_EQUAL_FATAL(ops->open(&t, &options, NULL), 0);
	return t;
}

static struct transport *open_transport(const struct transport_ops *ops, const char *bundle,
					bool insecure)
{
	return open_transport_at(ops, bundle, insecure, &real);
}

static void start(struct transport *t, struct exchange *x, enum http_method method,
		  const char *host)
{
	static char url[64];

	snprintf(url, sizeof(url), "https://%s:%u/key", host, server.port);
	*x = (struct exchange){.method = method,
			       .url = url,
			       .consume = keep,
			       .place = place,
			       .supply = supply,
			       .send_bytes = method == HTTP_PUT ? TLS_SENT_MAX : 0};
	received_bytes = 0;
	received[0] = '\0';
	t->ops->start(t, x);
}

/* Goes on until the exchange ends or so much of its body has come. fake: the clock, which moves a
 * millisecond at each turn; or NULL. Returns whether the exchange has ended. */
static bool go_on(struct transport *t, uint64_t until, struct clock *fake)
{
	uint64_t hangs_ns = clock_kernel_ns() + HANGS_S * SECOND;
	struct exchange *ended = NULL;

	while (received_bytes < until) {
		if (fake)
			clock_advance(fake, SECOND / 1000);
		ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR); /* of somebody else in this thread */
		if (t->ops->poll(t, &ended, 0, 1, 0))
			return true;
		CU_ASSERT_FATAL(clock_kernel_ns() < hangs_ns);
		tls_server_step(&server);
	}
	return false;
}

static struct exchange ask(struct transport *t, enum http_method method, const char *host)
{
	struct exchange x;

	start(t, &x, method, host);
	CU_ASSERT_TRUE(go_on(t, UINT64_MAX, NULL));
	return x;
}

#define NAMES "DNS:localhost,IP:127.0.0.1"

/* Requests and answers by one connection, to a name and to an address. */
static void test_good(void)
{
	static const char *const hosts[] = {"localhost", "127.0.0.1"};

	for (int k = 0; k < 4; k++) {
		struct transport *t;
		struct exchange x;

		tls_server_start(&server, NAMES, ca, FOUR, strlen(FOUR), KEEP);
		t = open_transport(transports[k % 2], ca, false);
		x = ask(t, HTTP_GET, hosts[k / 2]);
		CU_ASSERT_EQUAL(x.status, 0);
		CU_ASSERT_EQUAL(x.answer.status, 200);
		CU_ASSERT_EQUAL(x.connections, 1);
		CU_ASSERT_STRING_EQUAL(received, "abcd");
		memset(server.request, 0, sizeof(server.request));
		x = ask(t, HTTP_PUT, hosts[k / 2]);
		CU_ASSERT_EQUAL(x.status, 0);
		CU_ASSERT_EQUAL(x.connections, 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(server.request, "\r\n\r\n"));
		CU_ASSERT_EQUAL(memcmp(strstr(server.request, "\r\n\r\n") + 4, large, TLS_SENT_MAX),
				0);
		CU_ASSERT_EQUAL(server.accepted, 1);
		t->ops->close(t);
		tls_server_stop(&server);
	}
}

/* Makes the answer that large is: its head, and LARGE bytes behind it. Returns how long the head
 * is. */
static size_t large_answer(const char *connection)
{
	size_t head = (size_t)snprintf(
		large, 256, OK "connection: %s\r\ncontent-length: %d\r\n\r\n", connection, LARGE);

	large[head] = body_byte(head); /* snprintf has ended it */
	return head;
}

/* A body of many records, more than a transport takes in one turn, on a connection that is kept or
 * not. The native transport's clock stands still: nothing may have to wait until it looks for what
 * is late. */
static void test_large(void)
{
	struct clock still;

	clock_init_fake(&still, SECOND);
	for (int k = 0; k < 4; k++) {
		struct transport *t;
		struct exchange x;
		size_t head = large_answer(k / 2 ? "close" : "keep-alive");

		tls_server_start(&server, NAMES, ca, large, head + LARGE, k / 2 ? CLOSE : KEEP);
		t = open_transport_at(transports[k % 2], ca, false, k % 2 ? &still : &real);
		for (int i = 0; i < 2; i++) {
			x = ask(t, HTTP_GET, "localhost");
			CU_ASSERT_EQUAL(x.status, 0);
			CU_ASSERT_EQUAL(received_bytes, LARGE);
			CU_ASSERT_EQUAL(memcmp(received, large + head, LARGE), 0);
		}
		t->ops->close(t);
		tls_server_stop(&server);
	}
}

/* The server sends what it may, and the transport receives only what it is told of. */
static void few_turns(struct transport *t)
{
	struct exchange *ended;

	for (int turns = 0; turns < 3; turns++) {
		tls_server_step(&server);
		CU_ASSERT_EQUAL(t->ops->poll(t, &ended, 0, 1, 0), 0);
	}
}

/* The server sends few bytes at a time, for longer than a stall lasts, after so many. They wait
 * until some time has passed, or are received while the clock stands still. */
static void trickle(struct transport *t, uint64_t after, struct clock *fake, bool waits)
{
	enum { FEW = 1000, SLOW_S = 90 };

	for (int i = 0; i < SLOW_S; i++, after += FEW) {
		clock_advance(fake, SECOND);
		CU_ASSERT_FALSE_FATAL(go_on(t, after, fake));
		server.kept_back -= FEW;
		if (waits)
			few_turns(t);
		CU_ASSERT_FALSE_FATAL(go_on(t, waits ? 0 : after + FEW, NULL));
		CU_ASSERT_EQUAL(received_bytes, waits ? after : after + FEW);
	}
}

/* Near the end, what is left waits for its last record, or else nothing does. */
static void near_end(struct transport *t, struct clock *fake, bool waits)
{
	enum { NEAR = 100000, LAST = 15000 };

	server.kept_back = NEAR;
	CU_ASSERT_FALSE_FATAL(go_on(t, LARGE - NEAR, fake));
	server.kept_back = LAST;
	if (waits)
		few_turns(t);
	else
		CU_ASSERT_FALSE_FATAL(go_on(t, LARGE - LAST, NULL));
	CU_ASSERT_EQUAL(received_bytes, LARGE - (waits ? NEAR : LAST));
	/* Nothing waits within the last record. */
	CU_ASSERT_FALSE_FATAL(go_on(t, LARGE - LAST, fake));
	server.kept_back--;
	CU_ASSERT_FALSE_FATAL(go_on(t, LARGE - LAST + 1, NULL));
}

/* In the midst of a long body the native transport lets some bytes wait, so that it is woken less
 * often, unless the buffer of the connection is small. It takes them nevertheless when nothing has
 * come for a while, so that a slow server is not held to be silent. */
static void test_low_water(void)
{
	enum { FAST = 2 << 20, NEARLY = FAST - (1 << 18), ROOM = 512 << 10 };

	for (int row = 0; row < 3; row++) {
		bool small = row == 0, others = row == 2;
		struct clock fake;
		struct transport *t;
		struct exchange x, other;
		bool waits;
		size_t head = large_answer("keep-alive");

		clock_init_fake(&fake, SECOND);
		tls_server_start(&server, NAMES, ca, large, head + LARGE, KEEP);
		t = open_transport_at(&transport_native, ca, false, &fake);
		server.kept_back = LARGE - FAST;
		start(t, &x, HTTP_GET, "127.0.0.1");
		waits = client_buffer(server.port, small ? 1 << 16 : 1 << 20) >= ROOM;
		CU_ASSERT(!small || !waits);
		CU_ASSERT_FALSE(go_on(t, NEARLY, NULL));
		trickle(t, FAST, &fake, waits);
		if (others) { /* the server does not get to it */
			other = x;
			t->ops->start(t, &other);
		}
		near_end(t, &fake, waits && others);
		server.kept_back = 0;
		CU_ASSERT_TRUE(go_on(t, UINT64_MAX, NULL));
		CU_ASSERT_EQUAL(x.status, 0);
		CU_ASSERT_EQUAL(received_bytes, LARGE);
		CU_ASSERT_EQUAL(memcmp(received, large + head, LARGE), 0);
		/* A short answer on the same connection is told of at once. */
		server.answer = FOUR;
		server.answer_bytes = strlen(FOUR);
		x = ask(t, HTTP_GET, "127.0.0.1");
		CU_ASSERT_EQUAL(x.connections, 0);
		CU_ASSERT_STRING_EQUAL(received, "abcd");
		t->ops->close(t);
		tls_server_stop(&server);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *names;
		bool known; /* its CA */
		const char *why;
	} table[] = {
		{NAMES, false,
		 "no known CA signed the server's certificate; name its bundle with \"ca\""},
		{"DNS:other.example", true, "the server's certificate is for another host"},
		{"DNS:localhost.example,DNS:*.localhost", true,
		 "the server's certificate is for another host"},
		{"IP:127.0.0.1", true, "the server's certificate is for another host"},
		/* A name in the subject alone counts for nothing, whatever the transport. */
		{"CN:localhost", true, "the server's certificate is for another host"},
	};

	for (size_t k = 0; k < 2 * sizeof(table) / sizeof(table[0]); k++) {
		for (int insecure = 0; insecure < 2; insecure++) {
			struct transport *t;
			struct exchange x;

			tls_server_start(&server, table[k / 2].names, ca, FOUR, strlen(FOUR), KEEP);
			t = open_transport(transports[k % 2], table[k / 2].known ? ca : NULL,
					   insecure);
			x = ask(t, HTTP_GET, "localhost");
			CU_ASSERT_EQUAL(x.status, insecure ? 0 : -EPROTO);
			CU_ASSERT_EQUAL(x.fault, insecure ? REQ_FAULT_NONE : REQ_FAULT_TLS);
			if (!insecure)
				CU_ASSERT_STRING_EQUAL(x.why, table[k / 2].why);
			t->ops->close(t);
			tls_server_stop(&server);
		}
	}
}

/* No such file, no TLS at all. */
static void test_no_tls(void)
{
	for (int k = 0; k < 4; k++) {
		struct transport *t;
		struct exchange x;

		tls_server_start(&server, NAMES, ca, FOUR, strlen(FOUR), CLOSE);
		server.plain = k / 2;
		t = open_transport(transports[k % 2], k / 2 ? ca : "/nowhere/bundle.pem", false);
		x = ask(t, HTTP_GET, "localhost");
		CU_ASSERT_EQUAL(x.status, -EPROTO);
		CU_ASSERT_EQUAL(x.fault, REQ_FAULT_TLS);
		CU_ASSERT_STRING_EQUAL(x.why, k / 2 ? "no TLS with this server"
						    : "the CA bundle cannot be read");
		t->ops->close(t);
		tls_server_stop(&server);
	}
}

/* A body that lasts until the connection ends is whole only if TLS says that it is over: anybody on
 * the way can end a connection. libcurl 7.88 has OpenSSL ignore that, so only the native transport
 * refuses a body that was cut. */
static void test_ends(void)
{
	for (int k = 0; k < 3; k++) {
		bool cut = k == 2;
		struct transport *t;
		struct exchange x;

		tls_server_start(&server, NAMES, ca, OPEN, strlen(OPEN), cut ? CUT : CLOSE);
		t = open_transport(cut ? &transport_native : transports[k], ca, false);
		x = ask(t, HTTP_GET, "localhost");
		CU_ASSERT_EQUAL(x.status, cut ? -ECONNRESET : 0);
		CU_ASSERT_EQUAL(x.fault, cut ? REQ_FAULT_BROKEN : REQ_FAULT_NONE);
		CU_ASSERT_STRING_EQUAL(received, "abcd");
		t->ops->close(t);
		tls_server_stop(&server);
	}
}

/* Later connections to a host go on with the session of an earlier one; those to another host do
 * not, whoever answers. */
static void test_sessions(void)
{
	struct transport *t;
	struct exchange x;

	tls_server_start(&server, "DNS:localhost", ca, FOUR, strlen(FOUR), CLOSE);
	t = open_transport(&transport_native, ca, false);
	for (unsigned i = 0; i < 4; i++) {
		x = ask(t, HTTP_GET, "localhost");
		CU_ASSERT_EQUAL(x.status, 0);
		CU_ASSERT_EQUAL(x.connections, 1);
		CU_ASSERT_EQUAL(server.resumed, i);
	}
	x = ask(t, HTTP_GET, "127.0.0.1");
	CU_ASSERT_EQUAL(x.fault, REQ_FAULT_TLS);
	CU_ASSERT_EQUAL(server.resumed, 3);
	t->ops->close(t);
	tls_server_stop(&server);
}

/* Both transports ask first for AES with 128 bits; a server that does not have it gets what it
 * has. */
static void test_suites(void)
{
	static const struct {
		const char *has, *agreed;
	} table[] = {
		{"TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256",
		 "TLS_AES_128_GCM_SHA256"},
		{"TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"},
		{"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"},
	};

	for (size_t k = 0; k < 2 * sizeof(table) / sizeof(table[0]); k++) {
		struct transport *t;
		struct exchange x;

		tls_server_start(&server, NAMES, ca, FOUR, strlen(FOUR), KEEP);
		CU_ASSERT_EQUAL_FATAL(SSL_CTX_set_ciphersuites(server.tls, table[k / 2].has), 1);
		t = open_transport(transports[k % 2], ca, false);
		x = ask(t, HTTP_GET, "localhost");
		CU_ASSERT_EQUAL(x.status, 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(server.ssl);
		CU_ASSERT_STRING_EQUAL(SSL_get_cipher_name(server.ssl), table[k / 2].agreed);
		t->ops->close(t);
		tls_server_stop(&server);
	}
}

/* What the context does not offer is not added. */
static void test_suites_of_policy(void)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_client_method());

	CU_ASSERT_EQUAL_FATAL(SSL_CTX_set_ciphersuites(tls, "TLS_AES_256_GCM_SHA384"), 1);
	suites_prefer_short(tls);
	CU_ASSERT_STRING_EQUAL(
		SSL_CIPHER_get_name(sk_SSL_CIPHER_value(SSL_CTX_get_ciphers(tls), 0)),
		"TLS_AES_256_GCM_SHA384");
	CU_ASSERT_STRING_NOT_EQUAL(
		SSL_CIPHER_get_name(sk_SSL_CIPHER_value(SSL_CTX_get_ciphers(tls), 1)),
		"TLS_AES_128_GCM_SHA256");
	SSL_CTX_free(tls);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"good", test_good},
		{"large", test_large},
		{"low-water mark", test_low_water},
		{"refused", test_refused},
		{"no TLS", test_no_tls},
		{"ends", test_ends},
		{"sessions", test_sessions},
		{"suites", test_suites},
		{"suites of a policy", test_suites_of_policy},
		CU_TEST_INFO_NULL,
	};

	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = body_byte(i);
	snprintf(ca, sizeof(ca), "/tmp/haul-test-ca.%d", (int)getpid());
	clock_init(&real);
	return unit_main("transport_tls", tests);
}
