/* SPDX-License-Identifier: Apache-2.0 */
/* A server in the thread of the test: it reads a request and then answers piece by piece, in turn
 * with the transport. */
#ifndef HAUL_TESTS_BACKENDS_HTTP_SCRIPT_SERVER_H
#define HAUL_TESTS_BACKENDS_HTTP_SCRIPT_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PIECES = 4, HEAD_MAX = 64 << 10 };

/* How the server's turn ends; EARLY: it keeps the connection, and answers as soon as it has the
 * head of the request. */
enum end { KEEP, CLOSE, RESET, EARLY };

/* What the server does with each request. */
struct script {
	const char
		*pieces[PIECES]; /* of the answer, each sent after the transport has had its turn */
	enum end end;
};

struct script_server {
	int listener, client;
	uint16_t port;
	unsigned accepted, piece;
	size_t sent; /* of the piece */
	uint64_t in_bytes, out_bytes;
	size_t head_bytes; /* 0: the head is not complete */
	uint64_t body_bytes;
	bool asked, body_wrong;
	bool deaf; /* accepts no connection */
	char head[HEAD_MAX];
	size_t used;
};
extern struct script_server server;

/* The byte of a request's body at that place. */
char body_byte(uint64_t at);
void server_listen(int backlog);
/* The turn with a client ends; the next request begins. */
void server_end(enum end how);
/* A turn of the server: reads what there is, or sends the next piece. */
void server_step(const struct script *s);

#endif
