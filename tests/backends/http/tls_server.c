/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/backends/http/tls_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit.h"

/* A certificate that signs itself, for these names; it is written to the file, too. "CN:NAME": the
 * name stands in its subject alone. */
static void certificate_make(struct tls_server *s, const char *names)
{
	bool alone = strncmp(names, "CN:", 3) == 0;
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_EXTENSION *e;
	FILE *f = fopen(s->ca, "w");

	CU_ASSERT_FATAL(key && x && f);
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)(alone ? names + 3 : "haul test"), -1, -1,
				   0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	if (!alone) {
		e = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
		X509_add_ext(x, e, -1);
		X509_EXTENSION_free(e);
	}
	CU_ASSERT_FATAL(X509_sign(x, key, EVP_sha256()) > 0);
	PEM_write_X509(f, x);
	fclose(f);
	s->tls = SSL_CTX_new(TLS_server_method());
	SSL_CTX_set_mode(s->tls,
			 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	CU_ASSERT_EQUAL_FATAL(SSL_CTX_use_certificate(s->tls, x), 1);
	CU_ASSERT_EQUAL_FATAL(SSL_CTX_use_PrivateKey(s->tls, key), 1);
	X509_free(x);
	EVP_PKEY_free(key);
}

void tls_server_start(struct tls_server *s, const char *names, const char *ca, const char *answer,
		      size_t bytes, enum tls_end end)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);

	memset(s, 0, sizeof(*s));
	s->client = -1;
	s->ca = ca;
	s->answer = answer;
	s->answer_bytes = bytes;
	s->end = end;
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL_FATAL(bind(s->listener, (struct sockaddr *)&a, n), 0);
	CU_ASSERT_EQUAL_FATAL(listen(s->listener, 8), 0);
	getsockname(s->listener, (struct sockaddr *)&a, &n);
	s->port = ntohs(a.sin_port);
	certificate_make(s, names);
}

static void server_hang_up(struct tls_server *s, enum tls_end how)
{
	if (how == KEEP || s->client < 0)
		return;
	s->resumed += s->ssl && SSL_session_reused(s->ssl);
	if (how == CLOSE && s->ssl)
		SSL_shutdown(s->ssl);
	SSL_free(s->ssl);
	s->ssl = NULL;
	close(s->client);
	s->client = -1;
	s->used = s->sent = 0;
	s->asked = false;
}

void tls_server_stop(struct tls_server *s)
{
	server_hang_up(s, CUT);
	close(s->listener);
	SSL_CTX_free(s->tls);
	unlink(s->ca);
}

/* Whether the request is whole: its head, and as many bytes behind it as it says. */
static bool server_has_all(struct tls_server *s)
{
	const char *body, *length;

	s->request[s->used] = '\0';
	body = strstr(s->request, "\r\n\r\n");
	if (!body)
		return false;
	length = strcasestr(s->request, "content-length: ");
	return s->used ==
	       (size_t)(body + 4 - s->request) + (length ? strtoull(length + 16, NULL, 10) : 0);
}

static int server_read(struct tls_server *s)
{
	char *to = s->request + s->used;
	size_t room = sizeof(s->request) - 1 - s->used;

	return s->ssl ? SSL_read(s->ssl, to, (int)room)
		      : (int)recv(s->client, to, room, MSG_DONTWAIT);
}

static int server_write(struct tls_server *s, const char *from, size_t n)
{
	return s->ssl ? SSL_write(s->ssl, from, (int)n)
		      : (int)send(s->client, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void server_answer(struct tls_server *s)
{
	size_t until = s->answer_bytes - s->kept_back;
	int n = 1;

	while (n > 0 && s->sent < until) { /* as much as the connection takes */
		n = server_write(s, s->answer + s->sent, until - s->sent);
		s->sent += n > 0 ? (size_t)n : 0;
	}
	if (s->sent < s->answer_bytes)
		return;
	s->used = s->sent = 0;
	s->asked = false;
	server_hang_up(s, s->end);
}

static void server_turn(struct tls_server *s)
{
	int yes = 1, n;

	if (s->client < 0) {
		s->client = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (s->client < 0)
			return;
		s->accepted++;
		setsockopt(s->client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		s->ssl = s->plain ? NULL : SSL_new(s->tls);
		if (s->ssl) {
			SSL_set_fd(s->ssl, s->client);
			SSL_set_accept_state(s->ssl);
		}
	}
	if (!s->asked) {
		n = server_read(s);
		s->used += n > 0 ? (size_t)n : 0;
		s->asked = s->plain ? n > 0 : n > 0 && server_has_all(s);
		return;
	}
	server_answer(s);
}

void tls_server_step(struct tls_server *s)
{
	const struct timespec now = {0};
	sigset_t pipe, before;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	server_turn(s);
	while (sigtimedwait(&pipe, NULL, &now) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
