/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP exchange: one request and its answer, as a transport carries it.
 *
 * The caller owns the exchange and fills in what is asked; the transport fills in the answer and
 * how it ended. From start until the transport gives it back nothing in it may move or change. No
 * member belongs to one transport alone: whatever a transport has to remember beside it lies in its
 * own memory. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_EXCHANGE_H
#define HAUL_BACKENDS_HTTP_WIRE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/http/wire/answer.h"
#include "backends/http/wire/stall.h"
#include "backends/request.h"

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_PUT, HTTP_POST, HTTP_DELETE };
const char *http_method_name(enum http_method method);

enum { EXCHANGE_HEADERS = 20, ADDRESS_BYTES = 64 };

/* What consume returns when it wants no more of the body. The exchange then ends as a success
 * would, and its connection is closed. */
#define EXCHANGE_ENOUGH 1

/* One address of a server's name. */
struct address {
	char text[ADDRESS_BYTES]; /* "192.0.2.1:443", "[2001:db8::1]:443" */
};

struct exchange {
	/* What is asked. */
	enum http_method method;
	const char *url; /* "https://host:port/path?query", encoded */
	const struct address *
		address; /* where to connect to; it outlives the transport. NULL: the name is looked up */
	uint32_t header_count;
	const char *headers
		[EXCHANGE_HEADERS]; /* "name: value"; no other is sent but host and content-length */
	uint64_t send_bytes;
	/* Sets *from to where the bytes of the body from at on lie, and *n to how many lie there in
	 * a row, which is at least one. They stay there until the next call. A transport sends at
	 * least one of them before it asks again; at never goes back, except to 0, where the body
	 * begins anew. A negative errno ends the exchange. */
	int (*supply)(struct exchange *x, uint64_t at, const void **from, uint64_t *n);
	/* Where the next bytes of the answer's body belong, and in *n for how many of them there is
	 * room. A transport that can receive there hands the same address to consume. NULL, and
	 * where it returns NULL: the bytes come from memory of the transport. While answer.status
	 * is 0, the head has not come, and it says where a good answer's body would belong: the
	 * transport may leave anything there until it consumes. */
	void *(*place)(struct exchange *x, uint64_t *n);
	/* Takes the body of the answer as it comes, after the whole head. Returns 0,
	 * EXCHANGE_ENOUGH, or a negative errno, which ends the exchange. NULL: the body is
	 * dropped. */
	int (*consume)(struct exchange *x, const void *data, uint64_t n);
	/* A successful answer may come slower than the transport's least rate: the server sends a
	 * byte now and then only to say that it still works on the request. */
	bool may_trickle;
	void *user; /* the caller's */

	/* The answer. */
	struct http_answer answer;
	uint64_t first_byte_ns;  /* when the head began, on the transport's clock */
	uint64_t received_bytes; /* of the body */
	uint64_t wire_bytes;     /* both ways, heads included */
	uint32_t connections;    /* made for it */
	struct stall stall;      /* how its bytes move; kept by the transport */

	/* How it ended. status is 0 when a whole answer came, whatever its HTTP status, else a
	 * negative errno with the kind of fault and a constant sentence. For REQ_FAULT_CONNECT why
	 * says what is the matter with the server ("its name is not known"), and may be NULL. An
	 * error of supply or consume has no fault. */
	int status;
	enum request_fault fault;
	const char *why;
};

/* Clears the answer and the end: every transport does so when it starts the exchange. */
void exchange_begin(struct exchange *x);

/* The run is to end: nobody waits for the answer any more. */
void exchange_give_up(struct exchange *x);

/* Ends the exchange with a fault that the transport found; why is a constant sentence. */
void exchange_fail(struct exchange *x, int status, enum request_fault fault, const char *why);

/* Whether the exchange, of whose body sent_bytes have gone, has been silent or slow for too long at
 * now_ns: then it has failed, and the transport has to end it. For exchanges that have a
 * connection. */
bool exchange_stalled(struct exchange *x, const struct stall_limits *limits, uint64_t sent_bytes,
		      uint64_t now_ns);

#endif
