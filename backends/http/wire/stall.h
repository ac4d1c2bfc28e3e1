/* SPDX-License-Identifier: Apache-2.0 */
/* Pace of a transfer: whether bytes move, and fast enough.
 *
 * A transfer is silent when no byte moves for a while, and slow when fewer bytes move within that
 * while than a least rate asks for. While the server works on the answer only the wait for its
 * first byte counts. Plain data; the clock is the caller's. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_STALL_H
#define HAUL_BACKENDS_HTTP_WIRE_STALL_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
