/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a request in its queue: prepared, handed to the backend for each attempt, finished.
 * Private to the queue; inlined, for they are what every operation costs.
 *
 * 	prepare ──► hand over ──► the backend ──► goes on? ──no──► finish ──► given back
 * 	                ▲                            │yes
 * 	                └─── rest of a short one ────┤
 * 	                └─── another attempt ────────┘
 */
#ifndef HAUL_BACKENDS_QUEUE_STEPS_H
#define HAUL_BACKENDS_QUEUE_STEPS_H

#include <errno.h>

#include "backends/queue/attempt.h"
#include "backends/queue/state.h"
#include "core/invariant.h"
#include "core/measure/window.h"
#include "core/numbers.h"

/* Pieces of a streamed request: one that is larger than its buffer goes through it piece by piece,
 * where the backend does not stream itself. Private to the queue.
 *
 * 	object      |───────|───────|───────|──|
 * 	pieces          0       1       2     3     one of them in flight at a time
 * 	buffer      [       ]                       chunk fills it before a write, reads it after a read
 *
 * Pieces end at multiples of the store's alignment, so that direct I/O reads no block twice and
 * writes only whole blocks before the last. */

/* Whether the queue must cut the request. */
static inline bool piece_wanted(const struct queue *q, const struct request *req)
{
	return req->chunk && q->cuts && !(req->op == REQ_READ && q->channel.streams);
}

/* The piece that begins at at, filled where it is to be written. False: none follows, be it for the
 * end or for an error, which the request's status says. */
bool piece_begin(struct queue *q, struct request *req, struct request *piece, uint64_t at);
/* It has come back: handed to chunk where it was read, and added to the request's answer. */
void piece_end(struct request *req, const struct request *piece);

static inline bool queue_moves(const struct request *req)
{
	return req->op == REQ_READ || req->op == REQ_WRITE;
}

/* An answer at its begin. Copied, for that takes a few wide moves where zeroing a struct of this
 * size is a string instruction, which takes 10 ns to start. */
static const struct answer queue_no_answer_yet = {.attempts = 1};

/* Begins the answer. False: the store cannot do it, as the status says, and need not be asked. */
static inline bool queue_prepare(const struct queue *q, struct request *req, uint64_t now_ns)
{
	req->answer = queue_no_answer_yet;
	req->answer.submit_ns = now_ns;
	req->answer.endpoint = q->channel.store->place.endpoint;
	attempt_of(q, req)->before_bytes = 0;
	if (req->op == REQ_DELETE || req->op == REQ_LIST)
		return attempt_names(q, req);
	return true;
}

static inline void queue_hand_over(struct queue *q, struct request *const *reqs, uint32_t n)
{
	uint64_t now_ns;

	if (q->attempts_matter) {
		now_ns = clock_read(&q->clock);
		for (uint32_t i = 0; i < n; i++)
			attempt_begin(q, reqs[i], now_ns);
	}
	q->out += n;
	q->channel.store->ops->submit(&q->channel, reqs, n);
}

/* Whether the rest must follow of an attempt that moved less than was asked for. One that moved
 * nothing ends the request: the object is shorter than asked for, or takes no more. */
static inline bool queue_falls_short(struct queue *q, struct request *req)
{
	struct attempt *a;

	if (!queue_moves(req) || req->answer.done_bytes >= req->length || req->answer.status)
		return false;
	a = attempt_of(q, req);
	if (req->answer.done_bytes == a->before_bytes) {
		req->answer.status = req->op == REQ_READ ? -ENODATA : -EIO;
		return false;
	}
	q->op[req->op].short_transfers++;
	a->before_bytes = req->answer.done_bytes;
	req->answer.done_ns = 0;
	return true;
}

/* An attempt has come back. True: another must be made, not before *again_ns. */
static inline bool queue_goes_on(struct queue *q, struct request *req, uint64_t *again_ns)
{
	uint64_t now_ns;

	INVARIANT_SLOW(q->out, "a backend gives back only what it holds");
	q->out--;
	*again_ns = 0;
	if (q->attempts_matter) {
		now_ns = req->answer.done_ns ? req->answer.done_ns : clock_read(&q->clock);
		if (attempt_end(q, req, now_ns, again_ns)) {
			req->answer.done_ns = 0;
			return true;
		}
	}
	return queue_falls_short(q, req);
}

static inline void queue_keep_latency(const struct queue_latency *l, const struct request *req,
				      uint64_t service_ns, uint64_t response_ns)
{
	if (l->service)
		hist_record(l->service, service_ns);
	if (l->response)
		hist_record(l->response, response_ns);
	if (req->answer.attempts > 1 && l->retried) {
		hist_record(l->retried, service_ns);
		hist_record(l->first, req->answer.first_attempt_ns - req->answer.submit_ns);
	}
}

/* Counts a request with that share of its bytes. Failures and retries count wherever they end. */
static inline void queue_count(struct queue *q, const struct request *req, uint64_t bytes,
			       bool whole)
{
	const struct answer *a = &req->answer;
	struct queue_counts *counts = &q->op[req->op];
	uint64_t due_ns = req->due_ns ? req->due_ns : a->submit_ns;
	uint64_t service_ns = a->done_ns - a->submit_ns;

	if (queue_moves(req))
		counts->bytes += bytes;
	if (a->status)
		counts->errors += request_failures(req);
	counts->retries += a->attempts - 1;
	if (!whole)
		return;
	counts->operations++;
	if (q->timeout_ns && service_ns > q->timeout_ns)
		counts->late++;
	queue_keep_latency(&q->latency[req->op], req, service_ns, excess_u64(a->done_ns, due_ns));
}

/* What of a request belongs to the window of a queue with a warm-up: the share of its bytes, and whether the rest does. False: it
 * lies before the window. */
static inline bool queue_within(struct queue *q, const struct answer *a, uint64_t *bytes,
				bool *whole)
{
	if (a->done_ns >= q->from_ns && !q->entered) {
		q->entered = true;
		q->enter(q->enter_argument);
	}
	/* Before the window is entered, all of the warm-up counts. */
	if (!q->entered)
		return true;
	*bytes = window_share(q->from_ns, a->submit_ns, a->done_ns, a->done_bytes);
	*whole = window_has(q->from_ns, a->submit_ns, a->done_ns);
	q->outside += !*whole;
	return a->done_ns >= q->from_ns;
}

/* Counts a request that has ended, and shows it to the observers. One that was given up, because the
 * run is to end, was not done, and so is in no count. */
static inline void queue_finish(struct queue *q, struct request *req)
{
	const struct answer *a = &req->answer;
	uint64_t bytes = a->done_bytes;
	bool whole = true;

	INVARIANT_SLOW(a->done_ns >= a->submit_ns, "no request is done before it was submitted");
	if (a->done_ns > q->now_ns)
		q->now_ns = a->done_ns;
	if (a->status == -ECANCELED)
		return;
	if (!q->from_ns || queue_within(q, a, &bytes, &whole))
		queue_count(q, req, bytes, whole);
	for (uint32_t i = 0; i < q->observer_count; i++)
		q->observers[i].observe(q->observers[i].argument, req);
}

/* Ended, and not yet received by the caller. */
static inline void queue_push_done(struct queue *q, struct request *req)
{
	uint32_t tail = q->done_head + q->done_count++;

	INVARIANT_SLOW(q->done_count <= q->channel.depth, "the ring has room for all in flight");
	q->done[tail < q->channel.depth ? tail : tail - q->channel.depth] = req;
}

static inline uint32_t queue_pop_done(struct queue *q, struct request **done, uint32_t max)
{
	uint32_t n;

	for (n = 0; n < max && q->done_count; n++) {
		done[n] = q->done[q->done_head];
		if (++q->done_head == q->channel.depth)
			q->done_head = 0;
		q->done_count--;
	}
	return n;
}

/* sync.c: channels that complete inside submit. */
void queue_sync_run(struct queue *q, struct request *req, uint64_t now_ns);
void queue_sync_submit(struct queue *q, struct request *const *reqs, uint32_t n, uint64_t now_ns);

/* async.c: channels that complete later. */
void queue_async_submit(struct queue *q, struct request *const *reqs, uint32_t n, uint64_t now_ns);
uint32_t queue_async_reap(struct queue *q, struct request **done, uint32_t min, uint32_t max,
			  uint64_t deadline_ns);

#endif
