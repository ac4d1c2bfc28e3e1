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
#include "backends/request.h"

/* Pace of a transfer: whether bytes move, and fast enough.
 *
 * A transfer is silent when no byte moves for a while, and slow when fewer bytes move within that
 * while than a least rate asks for. While the server works on the answer only the wait for its
 * first byte counts. Plain data; the clock is the caller's. */

struct stall_limits {
	uint64_t first_byte_ns; /* from the request's last byte to the answer's first */
	uint64_t stall_ns;      /* without a byte; also the window over which the rate is judged */
	uint64_t least_rate;    /* bytes per second; 0: any */
};

/* How many times stall_ns a server may say that it still works on a request, and no more. */
enum { STALL_TRICKLE_TIMES = 20 };

struct stall {
	uint64_t begun_ns;
	uint64_t moved_ns;     /* when a byte moved last */
	uint64_t checked_ns;   /* when stall_check looked last */
	uint64_t window_ns;    /* when the window under way began */
	uint64_t window_bytes; /* moved in it */
};

enum stall_verdict { STALL_GOOD, STALL_NO_ANSWER, STALL_SILENT, STALL_SLOW };

/* The connection is there and the request goes out. */
static inline void stall_begin(struct stall *p, uint64_t now_ns)
{
	*p = (struct stall){
		.begun_ns = now_ns, .moved_ns = now_ns, .checked_ns = now_ns, .window_ns = now_ns};
}

/* That number of bytes was sent or came. */
static inline void stall_move(struct stall *p, uint64_t bytes, uint64_t now_ns)
{
	p->moved_ns = now_ns;
	p->window_bytes += bytes;
}

/* waits: the whole request has gone and nothing of its answer has come. trickles: the rate does not
 * matter, for STALL_TRICKLE_TIMES * stall_ns. To be called several times a second; a longer gap
 * means that the caller itself was away, and a new window begins. */
enum stall_verdict stall_check(struct stall *p, const struct stall_limits *limits, bool waits,
			       bool trickles, uint64_t now_ns);

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
