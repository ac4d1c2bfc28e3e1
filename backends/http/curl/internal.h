/* SPDX-License-Identifier: Apache-2.0 */
/* State of the transport on libcurl, shared by its files: transport.c (exchanges from start to
 * end), transfer.c (libcurl's callbacks of one transfer) and sockets.c (its sockets in epoll, its
 * timer). */
#ifndef HAUL_BACKENDS_HTTP_CURL_INTERNAL_H
#define HAUL_BACKENDS_HTTP_CURL_INTERNAL_H

#include <curl/curl.h>

#include "backends/http/wire/exchange.h"
#include "backends/http/wire/transport.h"

/* The request of an exchange, handed to libcurl: method, length of the body, and headers, none of
 * libcurl's own among them. */

enum {
	CURL_REQUEST_OWN = 3, /* headers of libcurl's own that are left out */
	CURL_REQUEST_HEADERS = EXCHANGE_HEADERS + CURL_REQUEST_OWN
};

/* nodes: [CURL_REQUEST_HEADERS]; they point to the exchange's lines until it ends. */
void curl_request_set(CURL *easy, const struct exchange *x, struct curl_slist *nodes);

enum { CURL_SOCKETS_MAX = 1 << 16, CURL_CONNECT_TO_BYTES = ADDRESS_BYTES + 2 };

/* An easy handle, made when the transport opens and used for one exchange after the other. */
struct curl_handle {
	CURL *easy;
	struct exchange *exchange; /* NULL: idle */
	struct curl_transport *owner;
	uint64_t sent_bytes; /* of the exchange's body */
	int ended; /* a callback of the exchange ended it with this: errno or EXCHANGE_ENOUGH */
	uint32_t sendings;   /* of the request; libcurl would send it again by itself */
	uint32_t head_bytes; /* of the answer so far, with those of 1xx before it */
	int socket;          /* of its connection, the last that libcurl named */
	bool connected;
	bool ahead; /* its connection is read ahead: ahead.h */
	bool moved; /* it is in the transport's list of those that received */
	struct curl_slist headers[CURL_REQUEST_HEADERS];
	struct curl_slist to;
	char connect_to
		[CURL_CONNECT_TO_BYTES]; /* the address that it is set to, as libcurl wants it; "": none */
};

struct curl_transport {
	struct transport base;
	CURLM *multi;
	int epoll;
	uint8_t *watched; /* events that epoll knows of a socket; 0: none. [CURL_SOCKETS_MAX] */
	bool *idle;       /* no exchange uses the socket. [CURL_SOCKETS_MAX] */
	struct curl_handle **user; /* whose exchange uses the socket, or NULL. [CURL_SOCKETS_MAX] */
	bool *kept;  /* a connection, closed by curl_on_close and nobody else. [CURL_SOCKETS_MAX] */
	bool shares; /* libcurl has one receive buffer for all exchanges (8.7.0) */
	bool ahead;  /* TLS is read ahead */
	uint64_t records;                    /* of TLS, read by all connections */
	uint64_t now_ns, timer_ns, check_ns; /* timer_ns UINT64_MAX: none */
	uint32_t active, free_count, ended_count, moved_count;
	struct curl_handle *handles; /* [depth] */
	struct curl_handle **free;   /* [depth] */
	struct exchange **ended;     /* [depth] */
	struct curl_handle **moved;  /* received by TLS since they were last looked at. [depth] */
};

/* transfer.c: sets what holds for every exchange of the handle, its callbacks among it. */
void curl_handle_set(struct curl_handle *h);
/* transfer.c: the connection of the handle received, and so may hold more than libcurl has taken
 * from it. */
void curl_note_moved(struct curl_handle *h);

/* sockets.c. */
void curl_sockets_set(struct curl_transport *t);
curl_socket_t curl_on_open(void *handle, curlsocktype purpose, struct curl_sockaddr *a);
int curl_on_close(void *transport, curl_socket_t fd);
/* Whether nothing has come on a socket that no exchange uses. Else its connection is ended, since
 * libcurl would take that for the beginning of the next answer. */
bool curl_quiet(struct curl_transport *t, int fd);
/* Takes a socket out of epoll. */
void curl_unwatch(struct curl_transport *t, int fd);

#endif
