/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue holds: counts, where latencies go, observers, and what is under way. Callers read
 * counts and now_ns; all else is for the files of this folder. */
#ifndef HAUL_BACKENDS_QUEUE_STATE_H
#define HAUL_BACKENDS_QUEUE_STATE_H

#include "backends/backend.h"
#include "backends/endpoint.h"
#include "backends/retry.h"
#include "core/clock.h"
#include "core/content/random.h"
#include "core/measure/hist.h"

/* Retry with exponential backoff: how often what failed in passing is tried again, after how long,
 * and when no more.
 *
 * The wait before attempt n + 1 is uniform in [0, min(longest, first * 2^(n-1))) ("full jitter"),
 * or what the store asked for where that is longer, up to the bound patience. A budget bounds the
 * load that retries add to a store in trouble: it starts full, each further attempt takes one from
 * it, each success gives a tenth back. Belongs to a queue's thread; allocates nothing after
 * open. */

struct retry_waiting {
	uint64_t at_ns;
	struct request *req;
};

struct retry {
	const struct retry_options *options; /* NULL: never */
	struct random random;
	uint64_t tenths; /* that are left of the budget */
	uint32_t count;
	uint64_t soonest_ns;           /* UINT64_MAX: none waits */
	struct retry_waiting *waiting; /* [depth] */
};

int retry_open(struct retry *r, const struct retry_options *options, uint32_t depth, uint64_t seed,
	       struct err *err);
void retry_close(struct retry *r);

/* Whether req, whose attempt has just failed, gets another, which is then taken from the budget. */
bool retry_allows(struct retry *r, const struct request *req);
/* When that attempt may begin. */
uint64_t retry_at(struct retry *r, const struct request *req, uint64_t now_ns);
void retry_succeeded(struct retry *r);

/* retry_keep holds req until at_ns; retry_due gives back one that is due, or NULL. */
void retry_keep(struct retry *r, struct request *req, uint64_t at_ns);
struct request *retry_due(struct retry *r, uint64_t now_ns);

enum { QUEUE_OBSERVERS = 4 };

/* Every finished request counts once, a failed one too. errors: as request_failures says, so a
 * missing object is no error of stat and delete. bytes: of reads and writes. late: took longer than
 * the store's timeout. retries: attempts beyond the first. */
struct queue_counts {
	uint64_t operations, errors, bytes, late, short_transfers, retries;
};

/* Where the latencies of requests are recorded: histograms of the queue's owner, any of them NULL.
 * Several kinds of requests, and several queues of one thread, may share them. */
struct queue_latency {
	struct hist *service;  /* from submit */
	struct hist *response; /* from when it was due */
	/* Of those requests alone that took several attempts: how long all attempts took, as in
	 * service, and how long the first one. So the first attempts of all requests are service -
	 * retried + first. */
	struct hist *retried, *first;
};

struct queue {
	struct channel channel;
	uint32_t in_flight;
	uint64_t timeout_ns;
	struct clock_reader clock; /* of the store's; all stamps of the queue are its */
	/* The last stamp: callers at an operation boundary need not read the clock again. Never
	 * goes back, and is at or before the clock's own; on sim:// in virtual time. */
	uint64_t now_ns;
	/* Of the window that is measured (core/measure/window.h): where it begins, 0: everything is
	 * measured; whether a request has ended in it; what is called before that one is counted. */
	uint64_t from_ns;
	bool entered;
	uint64_t outside; /* requests that ended after that and belong to the warm-up */
	void (*enter)(void *argument);
	void *enter_argument;
	struct queue_counts op[REQ_OPS];
	struct queue_latency latency[REQ_OPS];
	struct queue_observer {
		void (*observe)(void *argument, const struct request *req);
		void *argument;
	} observers[QUEUE_OBSERVERS];
	uint32_t observer_count;
	bool cuts;                   /* large requests go to the backend in pieces */
	bool attempts_matter;        /* there are endpoints, or retries */
	struct op_log_queue *logged; /* its place in the store's operation log; NULL: none */
	struct request **done;       /* completed and not yet reaped: a ring of depth */
	uint32_t done_head, done_count;
	/* Asynchronous channels: the piece under way of each streamed request. [depth] */
	struct request *pieces, **free_pieces;
	uint32_t free_count;
	/* The attempts under way, by the ticket of their request. A synchronous channel has one;
	 * else tickets below depth are the requests' (those that are free: free_tickets), and the
	 * pieces' follow. */
	struct attempt *attempts;
	uint32_t *free_tickets, free_ticket_count;
	uint32_t out; /* attempts that the backend holds */
	struct retry retry;
	struct endpoint_counts *endpoint_counts; /* [store->endpoints->count] */
};

#endif
