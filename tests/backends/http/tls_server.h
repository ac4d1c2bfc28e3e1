/* SPDX-License-Identifier: Apache-2.0 */
/* A server with TLS in the thread of the test: it reads a request and then sends its answer, in
 * turn with the transport. Its certificate is made for each server. */
#ifndef HAUL_TESTS_BACKENDS_HTTP_TLS_SERVER_H
#define HAUL_TESTS_BACKENDS_HTTP_TLS_SERVER_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TLS_SENT_MAX = 200000 }; /* body of a request */

/* How the server ends a connection after its answer: not at all, as TLS wants it, without a
 * word. */
enum tls_end { KEEP, CLOSE, CUT };

struct tls_server {
	const char *ca; /* file of its certificate */
	SSL_CTX *tls;
	SSL *ssl;
	int listener, client;
	uint16_t port;
	unsigned accepted, resumed;
	bool plain; /* it speaks HTTP without TLS */
	const char *answer;
	size_t answer_bytes, sent;
	size_t kept_back; /* last bytes of the answer, which it does not send yet */
	enum tls_end end;
	char request[4 * TLS_SENT_MAX];
	size_t used;
	bool asked;
};

/* names: for whom its certificate is, as X.509 writes subjectAltName; ca: the file that it is
 * written to. */
void tls_server_start(struct tls_server *s, const char *names, const char *ca, const char *answer,
		      size_t bytes, enum tls_end end);
void tls_server_stop(struct tls_server *s);

/* A turn of the server. It may write to who has gone; the signal for that is kept from the
 * transport, which must not cause any. */
void tls_server_step(struct tls_server *s);

#endif
