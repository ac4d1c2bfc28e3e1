/* A queue of requests on a store: above every backend it finishes short transfers, chooses the endpoint
 * of each attempt, tries again what is transient, stamps, counts, keeps both latencies and feeds its
 * taps.
 *
 * A queue belongs to one thread. Nothing here allocates after queue_open. Two latencies are kept:
 * response (from due_ns, so a stalled queue cannot hide its own delay) and service (from
 * submit_ns). */
#ifndef HAUL_BACKENDS_QUEUE_QUEUE_H
#define HAUL_BACKENDS_QUEUE_QUEUE_H

#include "backends/backend.h"
#include "backends/endpoint.h"
#include "backends/queue/retry.h"
#include "core/measure/hist.h"

enum { QUEUE_OBSERVERS = 4 };

/* Every finished request counts once, failed ones too; its errors as request_failures says. An answer of
 * -ENOENT to stat or delete is no error. bytes are those of reads and writes. late: took longer than the store's timeout. retries:
 * attempts beyond the first. */
struct queue_counts {
	uint64_t operations, errors, bytes, late, short_transfers, retries;
};

/* Where the latencies of requests are kept: histograms of the queue's owner, any of them NULL. Several kinds of
 * requests, and several queues of one thread, may share them. */
struct queue_latency {
	struct hist *service;  /* from submit */
	struct hist *response; /* from when it was due */
	/* Of the requests that took several attempts alone: how long all took, as in service, and how
	 * long the first. So the first attempts of all are service - retried + first. */
	struct hist *retried, *first;
};

struct queue {
	struct channel channel;
	uint32_t in_flight;
	uint64_t timeout_ns;
	/* The last stamp: callers at an operation boundary need not read the clock again. Never
	 * goes back; on sim:// in virtual time, at or before the clock's own. */
	uint64_t now_ns;
	struct queue_counts op[REQ_OPS];
	struct queue_latency latency[REQ_OPS];
	struct queue_observer {
		void (*observe)(void *argument, const struct request *req);
		void *argument;
	} observers[QUEUE_OBSERVERS];
	uint32_t observer_count;
	struct op_log_queue *logged; /* its place in the store's operation log; NULL: none */
	struct request **done;       /* completed and not yet reaped: a ring of depth */
	uint32_t done_head, done_count;
	/* Asynchronous channels: the piece under way of each streamed request. [depth] */
	struct request *pieces, **free_pieces;
	uint32_t free_count;
	/* The attempts under way, by the ticket of their request. A synchronous channel has one; else tickets
	 * below depth are the requests' (those that are free: free_tickets), the pieces' follow. */
	struct attempt *attempts;
	uint32_t *free_tickets, free_ticket_count;
	uint32_t out; /* attempts that the backend holds */
	struct retry retry;
	struct endpoint_counts *endpoint_counts; /* [store->endpoints->count] */
};

/* depth requests in flight at most; -EINVAL with a sentence when the backend cannot ("file://
 * engine psync works on one request at a time; set depth 1 or another engine"). */
int queue_open(struct queue *q, struct store *store, uint32_t depth, struct err *err);
void queue_close(struct queue *q);

/* From now on see is called for every finished request, in the queue's thread: timelines, operation
 * logs, live figures. Of QUEUE_OBSERVERS the queue itself may take one, the rest are its owner's. */
void queue_observe(struct queue *q, void (*observe)(void *argument, const struct request *req),
		   void *argument);

/* What it does is not the phase's own work, is not in the results, and so has no rows in the store's
 * operation log. Before its first request. */
void queue_unlogged(struct queue *q);

/* Says that data of later requests will lie in [base, base + bytes): an engine may register it and
 * then move bytes for less. Data elsewhere works too. The memory must outlive the queue; call it
 * while nothing is in flight. NULL or 0 bytes: nothing is said. */
void queue_memory(struct queue *q, void *base, uint64_t bytes);

/* Accepts n requests; -EAGAIN, none accepted, when more than depth would be in flight. */
int queue_submit(struct queue *q, struct request *const *reqs, uint32_t n);

/* Finished requests: waits for at least min (0: does not wait) until deadline_ns (0: now,
 * UINT64_MAX: for ever), gives at most max. Returns how many. */
uint32_t queue_reap(struct queue *q, struct request **done, uint32_t min, uint32_t max,
		    uint64_t deadline_ns);

/* One request, submitted and waited for; nothing else may be in flight. Returns io->status. */
int queue_do(struct queue *q, struct request *req);

/* Bytes a data buffer needs for requests of at most length bytes: more than length where direct I/O
 * reads whole blocks around an unaligned range. Buffers must be aligned to store->alignment. */
uint64_t queue_buffer_bytes(const struct store *store, uint64_t length);

/* A window for what is streamed through it: eight of them stay in a core's second cache. Objects of
 * 8 MiB by HTTP cost 5 to 12 % less CPU so than through windows of their own size. */
enum { QUEUE_STREAM_BYTES = 64 << 10 };

/* Adds what the queue met at each endpoint to a table of kind endpoint_table; NULL: nothing. */
void queue_count_endpoints(const struct queue *q, struct table *to);

/* From now on the latencies of requests of that kind are kept there. */
void queue_record(struct queue *q, enum request_op op, const struct queue_latency *latency);

/* Forgets what was counted so far, at the endpoints too; histograms are their owner's to clear. */
void queue_clear(struct queue *q);

/* The latencies of the first attempts of all requests that l has; none of its histograms is NULL. */
void queue_first_attempts(const struct queue_latency *l, struct hist *out);

#endif
