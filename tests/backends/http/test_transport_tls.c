/* Tests of the transports with TLS. The server is a socket of this program, in turn with the transport; its certificate is made
 * here. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "backends/http/curl/transport.h"
#include "backends/http/native/transport.h"
#include "tests/unit.h"

enum { LARGE = 3 << 20, SENT = 200000, HANGS_S = 60 };
#define SECOND UINT64_C(1000000000)
#define OK     "HTTP/1.1 200 OK\r\n"
#define FOUR   OK "content-length: 4\r\n\r\nabcd"
#define OPEN   OK "\r\nabcd"

/* How the server ends a connection after its answer: not at all, as TLS wants it, without a word. */
enum end { KEEP, CLOSE, CUT };

static struct {
	SSL_CTX *tls;
	SSL *ssl;
	int listener, client;
	uint16_t port;
	unsigned accepted, resumed;
	bool plain; /* it speaks HTTP without TLS */
	const char *answer;
	size_t answer_bytes, sent;
	size_t kept_back; /* last bytes of the answer, which it does not send yet */
	enum end end;
	char request[4 * SENT];
	size_t used;
	bool asked;
} server;

static struct clock real;
static char ca[64];
static char received[LARGE + 1], large[LARGE + 256];
static uint64_t received_bytes;
static const struct transport_ops *const transports[] = {&transport_curl, &transport_native};

static char body_byte(uint64_t at)
{
	return (char)('a' + at % 23);
}

/* A certificate that signs itself, for these names; it is written to the file ca, too. */
static void certificate_make(const char *names)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_EXTENSION *e;
	FILE *f = fopen(ca, "w");

	CU_ASSERT_FATAL(key && x && f);
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)"haul test", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	e = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
	X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	CU_ASSERT_FATAL(X509_sign(x, key, EVP_sha256()) > 0);
	PEM_write_X509(f, x);
	fclose(f);
	server.tls = SSL_CTX_new(TLS_server_method());
	SSL_CTX_set_mode(server.tls,
			 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	CU_ASSERT_EQUAL_FATAL(SSL_CTX_use_certificate(server.tls, x), 1);
	CU_ASSERT_EQUAL_FATAL(SSL_CTX_use_PrivateKey(server.tls, key), 1);
	X509_free(x);
	EVP_PKEY_free(key);
}

static void server_start(const char *names, const char *answer, size_t bytes, enum end end)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);

	memset(&server, 0, sizeof(server));
	server.client = -1;
	server.answer = answer;
	server.answer_bytes = bytes;
	server.end = end;
	server.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL_FATAL(bind(server.listener, (struct sockaddr *)&a, n), 0);
	CU_ASSERT_EQUAL_FATAL(listen(server.listener, 8), 0);
	getsockname(server.listener, (struct sockaddr *)&a, &n);
	server.port = ntohs(a.sin_port);
	certificate_make(names);
}

static void server_hang_up(enum end how)
{
	if (how == KEEP || server.client < 0)
		return;
	server.resumed += server.ssl && SSL_session_reused(server.ssl);
	if (how == CLOSE && server.ssl)
		SSL_shutdown(server.ssl);
	SSL_free(server.ssl);
	server.ssl = NULL;
	close(server.client);
	server.client = -1;
	server.used = server.sent = 0;
	server.asked = false;
}

static void server_stop(void)
{
	server_hang_up(CUT);
	close(server.listener);
	SSL_CTX_free(server.tls);
	unlink(ca);
}

/* Whether the request is whole: its head, and as many bytes behind it as it says. */
static bool server_has_all(void)
{
	const char *body, *length;

	server.request[server.used] = '\0';
	body = strstr(server.request, "\r\n\r\n");
	if (!body)
		return false;
	length = strcasestr(server.request, "content-length: ");
	return server.used ==
	       (size_t)(body + 4 - server.request) + (length ? strtoull(length + 16, NULL, 10) : 0);
}

static int server_read(void)
{
	char *to = server.request + server.used;
	size_t room = sizeof(server.request) - 1 - server.used;

	return server.ssl ? SSL_read(server.ssl, to, (int)room)
			  : (int)recv(server.client, to, room, MSG_DONTWAIT);
}

static int server_write(const char *from, size_t n)
{
	return server.ssl ? SSL_write(server.ssl, from, (int)n)
			  : (int)send(server.client, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void server_answer(void)
{
	size_t until = server.answer_bytes - server.kept_back;
	int n = 1;

	while (n > 0 && server.sent < until) { /* as much as the connection takes */
		n = server_write(server.answer + server.sent, until - server.sent);
		server.sent += n > 0 ? (size_t)n : 0;
	}
	if (server.sent < server.answer_bytes)
		return;
	server.used = server.sent = 0;
	server.asked = false;
	server_hang_up(server.end);
}

static void server_turn(void)
{
	int yes = 1, n;

	if (server.client < 0) {
		server.client = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (server.client < 0)
			return;
		server.accepted++;
		setsockopt(server.client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		server.ssl = server.plain ? NULL : SSL_new(server.tls);
		if (server.ssl) {
			SSL_set_fd(server.ssl, server.client);
			SSL_set_accept_state(server.ssl);
		}
	}
	if (!server.asked) {
		n = server_read();
		server.used += n > 0 ? (size_t)n : 0;
		server.asked = server.plain ? n > 0 : n > 0 && server_has_all();
		return;
	}
	server_answer();
}

/* A turn of the server. It may write to who has gone; the signal for that is kept from the transport, which must not cause
 * any. */
static void server_step(void)
{
	const struct timespec now = {0};
	sigset_t pipe, before;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	server_turn();
	while (sigtimedwait(&pipe, NULL, &now) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
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
		.depth = 1,
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
			       .send_bytes = method == HTTP_PUT ? SENT : 0};
	received_bytes = 0;
	received[0] = '\0';
	t->ops->start(t, x);
}

/* Goes on until the exchange ends or so much of its body has come. fake: the clock, which moves a millisecond at each
 * turn; or NULL. Returns whether the exchange has ended. */
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
		server_step();
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

		server_start(NAMES, FOUR, strlen(FOUR), KEEP);
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
		CU_ASSERT_EQUAL(memcmp(strstr(server.request, "\r\n\r\n") + 4, large, SENT), 0);
		CU_ASSERT_EQUAL(server.accepted, 1);
		t->ops->close(t);
		server_stop();
	}
}

/* Makes the answer that large is: its head, and LARGE bytes behind it. Returns how long the head is. */
static size_t large_answer(const char *connection)
{
	size_t head = (size_t)snprintf(
		large, 256, OK "connection: %s\r\ncontent-length: %d\r\n\r\n", connection, LARGE);

	large[head] = body_byte(head); /* snprintf has ended it */
	return head;
}

/* A body of many records, more than a transport takes in one turn, on a connection that is kept or not. The native
 * transport's clock stands still: nothing may have to wait until it looks for what is late. */
static void test_large(void)
{
	struct clock still;

	clock_init_fake(&still, SECOND);
	for (int k = 0; k < 4; k++) {
		struct transport *t;
		struct exchange x;
		size_t head = large_answer(k / 2 ? "close" : "keep-alive");

		server_start(NAMES, large, head + LARGE, k / 2 ? CLOSE : KEEP);
		t = open_transport_at(transports[k % 2], ca, false, k % 2 ? &still : &real);
		for (int i = 0; i < 2; i++) {
			x = ask(t, HTTP_GET, "localhost");
			CU_ASSERT_EQUAL(x.status, 0);
			CU_ASSERT_EQUAL(received_bytes, LARGE);
			CU_ASSERT_EQUAL(memcmp(received, large + head, LARGE), 0);
		}
		t->ops->close(t);
		server_stop();
	}
}

/* Makes the receive buffer of the transport's connection small, for ever. */
static void client_shrink(void)
{
	struct sockaddr_in a;
	int bytes = 1 << 16, shrunk = 0;

	for (int fd = 3; fd < 64; fd++) {
		socklen_t n = sizeof(a);

		if (getpeername(fd, (struct sockaddr *)&a, &n) == 0 &&
		    ntohs(a.sin_port) == server.port)
			shrunk += setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) == 0;
	}
	CU_ASSERT_EQUAL_FATAL(shrunk, 1);
}

/* The server sends few bytes at a time, for longer than a stall lasts, after so many. They wait until some time has passed, or
 * are received while the clock stands still. */
static void trickle(struct transport *t, uint64_t after, struct clock *fake, bool waits)
{
	enum { FEW = 1000, SLOW_S = 90 };
	struct exchange *ended;

	for (int i = 0; i < SLOW_S; i++, after += FEW) {
		clock_advance(fake, SECOND);
		CU_ASSERT_FALSE_FATAL(go_on(t, after, fake));
		server.kept_back -= FEW;
		for (int turns = 0; waits && turns < 3; turns++) {
			server_step();
			CU_ASSERT_EQUAL(t->ops->poll(t, &ended, 0, 1, 0), 0);
		}
		CU_ASSERT_FALSE_FATAL(go_on(t, waits ? 0 : after + FEW, NULL));
		CU_ASSERT_EQUAL(received_bytes, waits ? after : after + FEW);
	}
}

/* In the midst of a long body the native transport lets some bytes wait, so that it is woken less often, unless the buffer of
 * the connection is small. It takes them nevertheless when nothing has come for a while, so that a slow server is not held to
 * be silent. */
static void test_low_water(void)
{
	enum { FAST = 2 << 20, NEARLY = FAST - (1 << 18), NEAR = 100000 };

	for (int small = 0; small < 2; small++) {
		struct clock fake;
		struct transport *t;
		struct exchange x;
		size_t head = large_answer("keep-alive");

		clock_init_fake(&fake, SECOND);
		server_start(NAMES, large, head + LARGE, KEEP);
		server.kept_back = LARGE - FAST;
		t = open_transport_at(&transport_native, ca, false, &fake);
		start(t, &x, HTTP_GET, "127.0.0.1");
		if (small)
			client_shrink();
		CU_ASSERT_FALSE(go_on(t, NEARLY, NULL));
		trickle(t, FAST, &fake, !small);
		/* Near the end, nothing waits. */
		server.kept_back = NEAR;
		CU_ASSERT_FALSE_FATAL(go_on(t, LARGE - NEAR, &fake));
		server.kept_back--;
		CU_ASSERT_FALSE_FATAL(go_on(t, LARGE - NEAR + 1, NULL));
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
		server_stop();
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
	};

	for (size_t k = 0; k < 2 * sizeof(table) / sizeof(table[0]); k++) {
		for (int insecure = 0; insecure < 2; insecure++) {
			struct transport *t;
			struct exchange x;

			server_start(table[k / 2].names, FOUR, strlen(FOUR), KEEP);
			t = open_transport(transports[k % 2], table[k / 2].known ? ca : NULL,
					   insecure);
			x = ask(t, HTTP_GET, "localhost");
			CU_ASSERT_EQUAL(x.status, insecure ? 0 : -EPROTO);
			CU_ASSERT_EQUAL(x.fault, insecure ? REQ_FAULT_NONE : REQ_FAULT_TLS);
			if (!insecure)
				CU_ASSERT_STRING_EQUAL(x.why, table[k / 2].why);
			t->ops->close(t);
			server_stop();
		}
	}
}

/* No such file, no TLS at all. */
static void test_no_tls(void)
{
	for (int k = 0; k < 4; k++) {
		struct transport *t;
		struct exchange x;

		server_start(NAMES, FOUR, strlen(FOUR), CLOSE);
		server.plain = k / 2;
		t = open_transport(transports[k % 2], k / 2 ? ca : "/nowhere/bundle.pem", false);
		x = ask(t, HTTP_GET, "localhost");
		CU_ASSERT_EQUAL(x.status, -EPROTO);
		CU_ASSERT_EQUAL(x.fault, REQ_FAULT_TLS);
		CU_ASSERT_STRING_EQUAL(x.why, k / 2 ? "no TLS with this server"
						    : "the CA bundle cannot be read");
		t->ops->close(t);
		server_stop();
	}
}

/* A body that lasts until the connection ends is whole only if TLS says that it is over: anybody on the way can end a
 * connection. libcurl 7.88 has OpenSSL ignore that, so only the native transport refuses a body that was cut. */
static void test_ends(void)
{
	for (int k = 0; k < 3; k++) {
		bool cut = k == 2;
		struct transport *t;
		struct exchange x;

		server_start(NAMES, OPEN, strlen(OPEN), cut ? CUT : CLOSE);
		t = open_transport(cut ? &transport_native : transports[k], ca, false);
		x = ask(t, HTTP_GET, "localhost");
		CU_ASSERT_EQUAL(x.status, cut ? -ECONNRESET : 0);
		CU_ASSERT_EQUAL(x.fault, cut ? REQ_FAULT_BROKEN : REQ_FAULT_NONE);
		CU_ASSERT_STRING_EQUAL(received, "abcd");
		t->ops->close(t);
		server_stop();
	}
}

/* Later connections to a host go on with the session of an earlier one; those to another host do not, whoever answers. */
static void test_sessions(void)
{
	struct transport *t;
	struct exchange x;

	server_start("DNS:localhost", FOUR, strlen(FOUR), CLOSE);
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
	server_stop();
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
		CU_TEST_INFO_NULL,
	};

	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = body_byte(i);
	snprintf(ca, sizeof(ca), "/tmp/haul-test-ca.%d", (int)getpid());
	clock_init(&real);
	return unit_main("transport_tls", tests);
}
