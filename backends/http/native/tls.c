/* SPDX-License-Identifier: Apache-2.0 */
/* TLS of the native transport, by OpenSSL. Certificates are verified against the bundle of the job
 * or the system's, for the host of the URL, unless the job says otherwise.
 *
 * A connection to a peer that is known goes on with the keys of an earlier session, which saves
 * both sides the certificate and its signature. A session comes from a connection whose certificate
 * was accepted for the same host. */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "backends/http/native/internal.h"
#include "backends/http/wire/certificate.h"
#include "backends/http/wire/suites.h"
#include "core/numbers.h"

enum { TLS_RECORD_BYTES = 16 << 10 };

/* OpenSSL's own BIO of a socket writes in a way that ends the process by SIGPIPE where the server
 * has closed. */
static int tls_write(BIO *b, const char *data, int n)
{
	const struct native_connection *c = BIO_get_data(b);
	ssize_t sent = send(c->fd, data, (size_t)n, MSG_NOSIGNAL);

	BIO_clear_retry_flags(b);
	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_write(b);
	return (int)sent;
}

static int tls_read(BIO *b, char *to, int n)
{
	struct native_connection *c = BIO_get_data(b);
	ssize_t got = recv(c->fd, to, (size_t)n, 0);

	BIO_clear_retry_flags(b);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(b);
	c->tls_holds += got > 0 ? (uint64_t)got : 0;
	return (int)got;
}

static long tls_control(BIO *b, int what, long number, void *pointer)
{
	(void)b;
	(void)number;
	(void)pointer;
	return what == BIO_CTRL_FLUSH;
}

static int tls_create(BIO *b)
{
	BIO_set_init(b, 1);
	return 1;
}

static bool tls_bio_open(struct native_transport *t)
{
	t->bio = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "haul");
	return t->bio && BIO_meth_set_write(t->bio, tls_write) &&
	       BIO_meth_set_read(t->bio, tls_read) && BIO_meth_set_ctrl(t->bio, tls_control) &&
	       BIO_meth_set_create(t->bio, tls_create);
}

static bool session_is_for(const struct native_session *s, const struct native_connection *c)
{
	return s->session && s->hash == c->hash && s->address == c->address &&
	       strcmp(s->host, c->host) == 0;
}

static void session_drop(struct native_session *s)
{
	SSL_SESSION_free(s->session);
	free(s->host);
	*s = (struct native_session){0};
}

/* OpenSSL calls this when the server offers a session. 1: the session is now the transport's. */
static int session_offered(SSL *ssl, SSL_SESSION *session)
{
	struct native_transport *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	const struct native_connection *c = SSL_get_app_data(ssl);
	struct native_session *s = &t->sessions[c->hash % NATIVE_SESSIONS];
	char *host;

	if (session_is_for(s, c)) { /* the newest serves the next connection */
		SSL_SESSION_free(s->session);
		s->session = session;
		return 1;
	}
	host = strdup(c->host);
	if (!host)
		return 0;
	session_drop(s);
	*s = (struct native_session){c->hash, c->address, host, session};
	return 1;
}

static void sessions_open(struct native_transport *t)
{
	SSL_CTX_set_app_data(t->tls, t);
	SSL_CTX_set_session_cache_mode(t->tls, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(t->tls, session_offered);
}

static void sessions_use(struct native_transport *t, struct native_connection *c)
{
	const struct native_session *s = &t->sessions[c->hash % NATIVE_SESSIONS];

	SSL_set_app_data(c->ssl, c);
	if (session_is_for(s, c))
		SSL_set_session(c->ssl, s->session);
}

static void sessions_close(struct native_transport *t)
{
	for (uint32_t i = 0; i < NATIVE_SESSIONS; i++)
		session_drop(&t->sessions[i]);
}

/* What holds for every connection. */
static int tls_context_open(struct native_transport *t, const char **why)
{
	static const unsigned char protocols[] = "\x08http/1.1";
	const struct transport_options *o = &t->base.options;

	if (!tls_bio_open(t))
		return -ENOMEM;
	t->tls = SSL_CTX_new(TLS_client_method());
	if (!t->tls)
		return -ENOMEM;
	SSL_CTX_set_min_proto_version(t->tls, TLS1_2_VERSION);
	SSL_CTX_set_options(t->tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(t->tls,
			 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	suites_prefer_short(t->tls);
	SSL_CTX_set_alpn_protos(t->tls, protocols, sizeof(protocols) - 1);
	/* One system call per record, not one for its header and one for the rest. */
	SSL_CTX_set_read_ahead(t->tls, 1);
	sessions_open(t);
	SSL_CTX_set_verify(t->tls, o->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	if (o->insecure)
		return 0;
	/* A bundle may hold the CA of a server without the CA above it. */
	X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(t->tls),
				    X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
	if (o->ca ? SSL_CTX_load_verify_file(t->tls, o->ca) == 1
		  : SSL_CTX_set_default_verify_paths(t->tls) == 1)
		return 0;
	*why = CERTIFICATE_NO_BUNDLE;
	return -EPROTO;
}

void native_tls_close(struct native_transport *t)
{
	sessions_close(t);
	SSL_CTX_free(t->tls);
	BIO_meth_free(t->bio);
	t->tls = NULL;
	t->bio = NULL;
}

/* The host of the URL without its port and brackets. */
static void tls_host(const struct native_connection *c, char host[NATIVE_HOST_BYTES])
{
	const char *from = c->host;
	size_t n;

	if (*from == '[') {
		from++;
		n = strcspn(from, "]");
	} else {
		n = strcspn(from, ":");
	}
	memcpy(host, from, n);
	host[n] = '\0';
}

/* For whom the certificate has to be, and whose it is that the server shall show. */
static bool tls_name(struct native_connection *c)
{
	char host[NATIVE_HOST_BYTES];
	unsigned char address[sizeof(struct in6_addr)];

	tls_host(c, host);
	/* An address is no name that a server could be asked for. */
	if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
		return certificate_expect(SSL_get0_param(c->ssl), host);
	return certificate_expect(SSL_get0_param(c->ssl), host) &&
	       SSL_set_tlsext_host_name(c->ssl, host) == 1;
}

int native_tls_begin(struct native_flight *f, const char **why)
{
	struct native_connection *c = f->connection;
	struct native_transport *t = f->owner;
	int rc = t->tls ? 0 : tls_context_open(t, why);
	BIO *b;

	ERR_clear_error();
	if (rc < 0) {
		native_tls_close(t);
		return rc;
	}
	c->tls_holds = 0;
	c->ssl = SSL_new(t->tls);
	b = c->ssl ? BIO_new(t->bio) : NULL;
	if (!b)
		return -ENOMEM;
	BIO_set_data(b, c);
	SSL_set_bio(c->ssl, b, b);
	SSL_set_connect_state(c->ssl);
	sessions_use(t, c);
	f->state = NATIVE_SHAKES;
	return tls_name(c) ? 0 : -ENOMEM;
}

int native_tls_shake(struct native_flight *f, enum request_fault *fault, const char **why)
{
	struct native_connection *c = f->connection;
	int rc, error;

	ERR_clear_error();
	errno = 0;
	rc = SSL_do_handshake(c->ssl);
	error = errno;
	if (rc == 1)
		return 1;
	switch (SSL_get_error(c->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
		native_watch(f->owner, c, EPOLLIN);
		return 0;
	case SSL_ERROR_WANT_WRITE:
		native_watch(f->owner, c, EPOLLIN | EPOLLOUT);
		return 0;
	default:
		break;
	}
	/* A server that dies in the handshake looks like this. */
	if (error == ECONNRESET || error == EPIPE) {
		*fault = REQ_FAULT_CONNECT;
		*why = "it broke in the handshake";
		return -error;
	}
	*fault = REQ_FAULT_TLS;
	*why = certificate_refusal(SSL_get_verify_result(c->ssl));
	if (!*why || f->owner->base.options.insecure)
		*why = CERTIFICATE_NO_TLS;
	return -EPROTO;
}

/* OpenSSL tells by its queue of errors why a call has failed, so none may be left in it from
 * before. Looking is cheaper than clearing, which a record would pay for. */
static void tls_forget_errors(void)
{
	if (ERR_peek_error())
		ERR_clear_error();
}

/* 0 where the server has ended the connection as TLS wants it; else the connection is broken, or
 * has to wait. */
static ssize_t tls_error(const struct native_connection *c, int rc)
{
	switch (SSL_get_error(c->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		return -ECONNRESET;
	}
}

ssize_t native_tls_receive(struct native_connection *c, void *to, size_t n)
{
	size_t got = 0;
	int rc;

	tls_forget_errors();
	rc = SSL_read_ex(c->ssl, to, n, &got);
	if (rc != 1)
		return tls_error(c, rc);
	c->tls_holds -= got;
	return (ssize_t)got;
}

ssize_t native_tls_send(struct native_connection *c, const struct iovec v[2])
{
	char both[TLS_RECORD_BYTES];
	const void *from = v[0].iov_len ? v[0].iov_base : v[1].iov_base;
	size_t n = v[0].iov_len ? v[0].iov_len : v[1].iov_len, sent = 0, more;
	int rc;

	/* A head and what fits behind it are one record. */
	if (v[0].iov_len && v[1].iov_len && v[0].iov_len < sizeof(both)) {
		more = sizeof(both) - v[0].iov_len;
		more = min_u64(more, v[1].iov_len);
		memcpy(both, v[0].iov_base, v[0].iov_len);
		memcpy(both + v[0].iov_len, v[1].iov_base, more);
		from = both;
		n = v[0].iov_len + more;
	}
	tls_forget_errors();
	rc = SSL_write_ex(c->ssl, from, n, &sent);
	return rc == 1 ? (ssize_t)sent : tls_error(c, rc);
}

bool native_tls_pending(const struct native_connection *c)
{
	return c->ssl && SSL_has_pending(c->ssl);
}

ssize_t native_tls_peek(const struct native_connection *c)
{
	char byte;
	size_t got = 0;
	int rc;

	tls_forget_errors();
	rc = SSL_peek_ex(c->ssl, &byte, 1, &got);
	return rc == 1 ? 1 : tls_error(c, rc);
}

void native_tls_end(struct native_connection *c)
{
	if (!c->ssl)
		return;
	/* Says that no more comes, but does not wait for the server to say so, too. */
	if (SSL_is_init_finished(c->ssl))
		SSL_shutdown(c->ssl);
	SSL_free(c->ssl);
	c->ssl = NULL;
	ERR_clear_error();
}
