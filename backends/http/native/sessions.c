/* Sessions of TLS, by peer: a connection to a peer that is known goes on with the keys of an earlier one, which saves both
 * sides the certificate and its signature. A session comes from a connection whose certificate was accepted for the same
 * host. */
#include <stdlib.h>
#include <string.h>

#include "backends/http/native/internal.h"

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

void native_sessions_open(struct native_transport *t)
{
	SSL_CTX_set_app_data(t->tls, t);
	SSL_CTX_set_session_cache_mode(t->tls, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(t->tls, session_offered);
}

void native_sessions_use(struct native_transport *t, struct native_connection *c)
{
	const struct native_session *s = &t->sessions[c->hash % NATIVE_SESSIONS];

	SSL_set_app_data(c->ssl, c);
	if (session_is_for(s, c))
		SSL_set_session(c->ssl, s->session);
}

void native_sessions_close(struct native_transport *t)
{
	for (uint32_t i = 0; i < NATIVE_SESSIONS; i++)
		session_drop(&t->sessions[i]);
}
