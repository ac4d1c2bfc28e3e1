/* SPDX-License-Identifier: Apache-2.0 */
/* Request queue: one thread's requests on a store.
 *
 * Above every backend it finishes short transfers, cuts what is larger than its buffer, chooses the
 * endpoint of each attempt, tries again what failed in passing, stamps, counts, records latencies
 * and shows every finished request to its observers. A queue belongs to one thread, and allocates
 * nothing after queue_open.
 *
 * Once a stop has begun (core/stop.h) nothing is tried again. What would have been, and what a store
 * has given up, comes back with -ECANCELED: it was not done, is in no count and is nobody's error.
 *
 * Two latencies are recorded: response, from when the request was due, so that a stalled queue
 * cannot hide its own delay, and service, from when it was submitted.
 *
 * Memory: 1.4 KB per queue; per request in flight 8 bytes on a synchronous channel, 44 on an
 * asynchronous one, and 240 more where the queue cuts large requests itself. With its channel a
 * queue has at depth 1 and 64 so: on null:// 1.4 and 1.9 KB, on sim:// 1.4 and 4.7 KB, with
 * io_uring 3.0 and 21.9 KB (bench/bench_queue.c). Histograms, of 19 KB each, are its owner's, who
 * has those that it records. docs/internals/queue.md has a drawing. */
#ifndef HAUL_BACKENDS_QUEUE_QUEUE_H
#define HAUL_BACKENDS_QUEUE_QUEUE_H

#include "backends/queue/state.h"

/* depth requests in flight at most; -EINVAL with a sentence when the backend cannot ("file://
 * engine psync works on one request at a time; set depth 1 or another engine"). */
int queue_open(struct queue *q, struct store *store, uint32_t depth, struct err *err);
void queue_close(struct queue *q);

/* From now on observe is called for every finished request, in the queue's thread: timelines,
 * operation logs, live figures. Of QUEUE_OBSERVERS the queue itself may take one, the rest are its
 * owner's. */
void queue_observe(struct queue *q, void (*observe)(void *argument, const struct request *req),
		   void *argument);

/* What is measured begins at from_ns, in the future. What ends earlier is a warm-up, which is counted until enter is called, before
 * the first request is counted that ends later: the owner drops what there is (queue_clear). From then on requests count by the rule
 * of core/measure/window.h. */
void queue_measure_from(struct queue *q, uint64_t from_ns, void (*enter)(void *argument),
			void *argument);

/* What this queue does is not the phase's own work, is not in the results, and so has no rows in
 * the store's operation log. Call it before the first request. */
void queue_unlogged(struct queue *q);

/* Announces that data of later requests will lie in [base, base + bytes): an engine may register
 * the memory and then move bytes for less. Data elsewhere works, too. The memory must outlive the
 * queue; call it while nothing is in flight. NULL or 0 bytes: nothing is announced. */
void queue_memory(struct queue *q, void *base, uint64_t bytes);

/* Accepts n requests; -EAGAIN, none accepted, when more than depth would be in flight. */
int queue_submit(struct queue *q, struct request *const *reqs, uint32_t n);

/* Gives back finished requests: waits for at least min (0: does not wait) until deadline_ns (0:
 * now, UINT64_MAX: for ever), gives at most max. Returns how many. */
uint32_t queue_reap(struct queue *q, struct request **done, uint32_t min, uint32_t max,
		    uint64_t deadline_ns);

/* One request, submitted and waited for; nothing else may be in flight. Returns the answer's
 * status. */
int queue_do(struct queue *q, struct request *req);

/* Bytes that a data buffer needs for requests of at most length bytes: more than length where
 * direct I/O reads whole blocks around an unaligned range. Buffers must be aligned to
 * store->alignment. */
uint64_t queue_buffer_bytes(const struct store *store, uint64_t length);

/* A buffer for what is streamed through it. The native transport of HTTP receives at most one
 * buffer by one call: objects of 8 MiB cost 0.5 to 0.6 of the CPU of buffers of 64 KiB, because
 * each call also acknowledges to the sender what it took. */
enum { QUEUE_STREAM_BYTES = 512 << 10 };

/* Adds what the queue met at each endpoint to a table of kind endpoint_table; NULL: nothing. */
void queue_count_endpoints(const struct queue *q, struct table *to);

/* From now on the latencies of requests of that kind are recorded there. */
void queue_record(struct queue *q, enum request_op op, const struct queue_latency *latency);

/* Resets all counts, those of the endpoints too; histograms are their owner's to clear. */
void queue_clear(struct queue *q);

/* The latencies of the first attempts of all requests that l has; none of its histograms is
 * NULL. */
void queue_first_attempts(const struct queue_latency *l, struct hist *out);

#endif
