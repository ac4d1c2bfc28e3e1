/* Tests of the transports with TLS. The server is a socket of this program, in turn with the transport; its certificate is made
 * here. */
#include <arpa/inet.h>
#include <errno.h>
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

static void server_turn(void)
{
	int n;

	if (server.client < 0) {
		server.client = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (server.client < 0)
			return;
		server.accepted++;
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
	do { /* as much as the connection takes */
		n = server_write(server.answer + server.sent, server.answer_bytes - server.sent);
		server.sent += n > 0 ? (size_t)n : 0;
	} while (n > 0 && server.sent < server.answer_bytes);
	if (server.sent < server.answer_bytes)
		return;
	server.used = server.sent = 0;
	server.asked = false;
	server_hang_up(server.end);
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

static struct transport *open_transport(const struct transport_ops *ops, const char *bundle,
					bool insecure)
{
	const struct transport_options options = {
		.depth = 1,
		.connections = 1,
		.connect_ns = 60 * SECOND,
		.stall = {.first_byte_ns = 60 * SECOND, .stall_ns = 60 * SECOND},
		.insecure = insecure,
		.ca = bundle,
		.clock = &real};
	struct transport *t;

	CU_ASSERT_EQUAL_FATAL(ops->open(&t, &options, NULL), 0);
	return t;
}

static struct exchange ask(struct transport *t, enum http_method method, const char *host)
{
	static char url[64];
	uint64_t hangs_ns = clock_kernel_ns() + HANGS_S * SECOND;
	struct exchange x = {.method = method,
			     .url = url,
			     .consume = keep,
			     .place = place,
			     .supply = supply,
			     .send_bytes = method == HTTP_PUT ? SENT : 0};
	struct exchange *ended = NULL;

	snprintf(url, sizeof(url), "https://%s:%u/key", host, server.port);
	received_bytes = 0;
	received[0] = '\0';
	t->ops->start(t, &x);
	while (t->ops->poll(t, &ended, 0, 1, 0) == 0) {
		CU_ASSERT_FATAL(clock_kernel_ns() < hangs_ns);
		server_step();
	}
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

/* A body of many records, more than a transport takes in one turn, on a connection that is kept or not. */
static void test_large(void)
{
	for (int k = 0; k < 4; k++) {
		struct transport *t;
		struct exchange x;
		size_t head = (size_t)snprintf(large, 256,
					       OK "connection: %s\r\ncontent-length: %d\r\n\r\n",
					       k / 2 ? "close" : "keep-alive", LARGE);

		large[head] = body_byte(head); /* snprintf has ended it */
		server_start(NAMES, large, head + LARGE, k / 2 ? CLOSE : KEEP);
		t = open_transport(transports[k % 2], ca, false);
		x = ask(t, HTTP_GET, "localhost");
		CU_ASSERT_EQUAL(x.status, 0);
		CU_ASSERT_EQUAL(received_bytes, LARGE);
		CU_ASSERT_EQUAL(memcmp(received, large + head, LARGE), 0);
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
		{"good", test_good},     {"large", test_large}, {"refused", test_refused},
		{"no TLS", test_no_tls}, {"ends", test_ends},   {"sessions", test_sessions},
		CU_TEST_INFO_NULL,
	};

	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = body_byte(i);
	snprintf(ca, sizeof(ca), "/tmp/haul-test-ca.%d", (int)getpid());
	clock_init(&real);
	return unit_main("transport_tls", tests);
}
