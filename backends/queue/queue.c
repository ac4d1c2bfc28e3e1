/* SPDX-License-Identifier: Apache-2.0 */
/* The queue itself: opening and closing, what it records, and the calls that its owner makes. How
 * requests are done is in sync.c and async.c, each attempt in attempt.c and retry.c. */
#include "backends/queue/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/op_log/op_log.h"
#include "backends/queue/steps.h"
#include "backends/store.h"
#include "core/invariant.h"

static int pieces_open(struct queue *q)
{
	uint32_t depth = q->channel.depth;

	q->pieces = calloc(depth, sizeof(*q->pieces));
	q->free_pieces = calloc(depth, sizeof(struct request *));
	if (!q->pieces || !q->free_pieces)
		return -ENOMEM;
	for (uint32_t i = 0; i < depth; i++)
		q->free_pieces[i] = &q->pieces[i];
	q->free_count = depth;
	return 0;
}

static void queue_free_memory(struct queue *q)
{
	attempts_close(q);
	free(q->free_pieces);
	free(q->pieces);
	free(q->done);
	*q = (struct queue){0};
}

/* Once the channel is open, which knows whether it is synchronous. */
static int queue_make_ready(struct queue *q, struct err *err)
{
	struct store *store = q->channel.store;
	uint32_t depth = q->channel.depth;
	int rc;

	if (depth > store->ops->depth_max)
		return err_set(err, -EINVAL, "%s:// works on %u at a time, not %u; set depth %u",
			       store->ops->scheme, store->ops->depth_max, depth,
			       store->ops->depth_max);
	q->cuts = store_can(store, BACKEND_CONTENT) && !store_can(store, BACKEND_STREAMS);
	if (!q->channel.synchronous && q->cuts && pieces_open(q) < 0)
		return err_set(err, -ENOMEM, "no memory for a queue of depth %u", depth);
	rc = attempts_open(q, err);
	if (rc == 0 && store->op_log) {
		rc = op_log_join(&q->logged, store, err);
		if (rc == 0)
			queue_observe(q, op_log_observe, q->logged);
	}
	q->now_ns = clock_read(&q->clock);
	return rc;
}

int queue_open(struct queue *q, struct store *store, uint32_t depth, struct err *err)
{
	const struct backend_ops *ops = store->ops;
	int rc;

	*q = (struct queue){
		.channel = {.store = store, .depth = depth, .synchronous = !ops->reap},
		.timeout_ns = store_common(store)->timeout_ns,
	};
	if (depth == 0 || depth > QUEUE_DEPTH_MAX)
		return err_set(err, -EINVAL, "depth is 1 to %d, not %u", QUEUE_DEPTH_MAX, depth);
	clock_reader_init(&q->clock, store->clock);
	q->done = calloc(depth, sizeof(*q->done));
	if (!q->done) {
		rc = err_set(err, -ENOMEM, "no memory for a queue of depth %u", depth);
		goto out_free;
	}
	rc = ops->channel_open ? ops->channel_open(&q->channel, err) : 0;
	if (rc < 0)
		goto out_free;
	rc = queue_make_ready(q, err);
	if (rc == 0)
		return 0;
	if (ops->channel_close)
		ops->channel_close(&q->channel);
out_free:
	queue_free_memory(q);
	return rc;
}

void queue_close(struct queue *q)
{
	if (!q->done)
		return;
	queue_unlogged(q);
	if (q->channel.store->ops->channel_close)
		q->channel.store->ops->channel_close(&q->channel);
	queue_free_memory(q);
}

void queue_observe(struct queue *q, void (*observe)(void *argument, const struct request *req),
		   void *argument)
{
	INVARIANT(q->observer_count < QUEUE_OBSERVERS, "the owner has the rest of QUEUE_OBSERVERS");
	q->observers[q->observer_count++] = (struct queue_observer){observe, argument};
}

void queue_measure_from(struct queue *q, uint64_t from_ns, void (*enter)(void *argument),
			void *argument)
{
	q->from_ns = from_ns;
	q->entered = false;
	q->enter = enter;
	q->enter_argument = argument;
}

void queue_unlogged(struct queue *q)
{
	uint32_t kept = 0;

	if (!q->logged)
		return;
	op_log_leave(q->logged);
	for (uint32_t i = 0; i < q->observer_count; i++)
		if (q->observers[i].argument != q->logged)
			q->observers[kept++] = q->observers[i];
	q->observer_count = kept;
	q->logged = NULL;
}

void queue_memory(struct queue *q, void *base, uint64_t bytes)
{
	const struct backend_ops *ops = q->channel.store->ops;

	if (base && bytes && ops->channel_memory)
		ops->channel_memory(&q->channel, base, bytes);
}

int queue_submit(struct queue *q, struct request *const *reqs, uint32_t n)
{
	uint64_t now_ns;

	if (n > q->channel.depth - q->in_flight)
		return -EAGAIN;
	now_ns = clock_read(&q->clock);
	q->in_flight += n;
	if (q->channel.synchronous)
		queue_sync_submit(q, reqs, n, now_ns);
	else
		queue_async_submit(q, reqs, n, now_ns);
	return 0;
}

uint32_t queue_reap(struct queue *q, struct request **done, uint32_t min, uint32_t max,
		    uint64_t deadline_ns)
{
	uint32_t n;

	if (max > q->in_flight)
		max = q->in_flight;
	if (min > max)
		min = max;
	if (max == 0)
		return 0;
	n = q->channel.synchronous ? queue_pop_done(q, done, max)
				   : queue_async_reap(q, done, min, max, deadline_ns);
	INVARIANT(n <= max, "no more requests come back than the caller has room for");
	q->in_flight -= n;
	return n;
}

int queue_do(struct queue *q, struct request *req)
{
	struct request *done;

	if (q->in_flight) {
		req->answer.status = -EBUSY;
		return -EBUSY;
	}
	if (q->channel.synchronous) {
		queue_sync_run(q, req, clock_read(&q->clock));
		return req->answer.status;
	}
	queue_submit(q, &req, 1);
	queue_reap(q, &done, 1, 1, UINT64_MAX);
	return req->answer.status;
}

uint64_t queue_buffer_bytes(const struct store *store, uint64_t length)
{
	uint64_t align = store->alignment;

	if (align <= 1 || length > UINT64_MAX - 2 * align)
		return length;
	return (length + align - 1) / align * align + align;
}

void queue_record(struct queue *q, enum request_op op, const struct queue_latency *latency)
{
	q->latency[op] = *latency;
}

void queue_clear(struct queue *q)
{
	memset(q->op, 0, sizeof(q->op));
	if (q->endpoint_counts)
		memset(q->endpoint_counts, 0,
		       q->channel.store->endpoints->count * sizeof(*q->endpoint_counts));
}

void queue_count_endpoints(const struct queue *q, struct table *to)
{
	const struct endpoints *e = q->endpoint_counts ? q->channel.store->endpoints : NULL;

	for (uint32_t i = 0; e && to && i < e->count; i++)
		endpoint_counts_add(&q->endpoint_counts[i], e->list[i].name, to);
}

void queue_first_attempts(const struct queue_latency *l, struct hist *out)
{
	const struct hist *retried = l->retried, *first = l->first;
	unsigned lowest, highest;

	*out = *l->service;
	if (!hist_count(retried))
		return;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		out->bucket[i] += first->bucket[i] - retried->bucket[i];
	out->sum_ns += first->sum_ns - retried->sum_ns;
	out->clipped += first->clipped - retried->clipped;
	if (out->min_not_ns < first->min_not_ns)
		out->min_not_ns = first->min_not_ns;
	/* The largest may have been one that was tried again. */
	if (out->max_ns == retried->max_ns && hist_range(out, &lowest, &highest) == 0)
		out->max_ns = hist_edge(highest + 1) - 1;
}
