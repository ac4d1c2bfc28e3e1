/* The clock is read twice a request on a synchronous backend, once a batch on an asynchronous one;
 * everything else is adding to plain counters. */
#include "backends/queue/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/op_log/op_log.h"
#include "backends/queue/attempt.h"
#include "backends/store.h"

static bool synchronous(const struct queue *q)
{
	return q->channel.synchronous;
}

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

static void memory_free(struct queue *q)
{
	attempts_close(q);
	free(q->free_pieces);
	free(q->pieces);
	free(q->done);
	*q = (struct queue){0};
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
	q->done = calloc(depth, sizeof(*q->done));
	if (!q->done) {
		rc = err_set(err, -ENOMEM, "no memory for a queue of depth %u", depth);
		goto out_free;
	}
	rc = ops->channel_open ? ops->channel_open(&q->channel, err) : 0;
	if (rc < 0)
		goto out_free;
	if (depth > ops->depth_max) {
		rc = err_set(err, -EINVAL, "%s:// works on %u at a time, not %u; set depth %u",
			     ops->scheme, ops->depth_max, depth, ops->depth_max);
		goto out_channel;
	}
	if (!synchronous(q) && store_can(store, BACKEND_CONTENT) &&
	    !store_can(store, BACKEND_STREAMS) && pieces_open(q) < 0) {
		rc = err_set(err, -ENOMEM, "no memory for a queue of depth %u", depth);
		goto out_channel;
	}
	rc = attempts_open(q, err);
	if (rc < 0)
		goto out_channel;
	if (store->op_log) {
		rc = op_log_join(&q->logged, store, err);
		if (rc < 0)
			goto out_channel;
		queue_observe(q, op_log_see, q->logged);
	}
	q->now_ns = clock_now(store->clock);
	return 0;

out_channel:
	if (ops->channel_close)
		ops->channel_close(&q->channel);
out_free:
	memory_free(q);
	return rc;
}

void queue_close(struct queue *q)
{
	if (!q->done)
		return;
	queue_unlogged(q);
	if (q->channel.store->ops->channel_close)
		q->channel.store->ops->channel_close(&q->channel);
	memory_free(q);
}

void queue_observe(struct queue *q, void (*observe)(void *argument, const struct request *req),
		   void *argument)
{
	assert(q->observer_count < QUEUE_OBSERVERS);
	q->observers[q->observer_count++] = (struct queue_observer){observe, argument};
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

static void prepare(const struct queue *q, struct request *req, uint64_t now_ns)
{
	req->answer = (struct answer){
		.submit_ns = now_ns,
		.attempts = 1,
		.endpoint = q->channel.store->place.endpoint,
	};
	for (uint32_t i = 0; i < request_keys(req); i++) {
		req->batch.keys[i].status = -EINPROGRESS;
		req->batch.keys[i].why = NULL;
		req->batch.keys[i].again = true;
	}
	attempt_of(q, req)->before_bytes = 0;
}

static void keep_latency(const struct queue_latency *l, const struct request *req,
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

static void finish(struct queue *q, struct request *req)
{
	const struct answer *a = &req->answer;
	struct queue_counts *counts = &q->op[req->op];
	uint64_t due_ns = req->due_ns ? req->due_ns : a->submit_ns;
	uint64_t service_ns = a->done_ns - a->submit_ns;

	counts->operations++;
	if (req->op == REQ_READ || req->op == REQ_WRITE)
		counts->bytes += a->done_bytes;
	counts->errors += request_failures(req);
	counts->retries += a->attempts - 1;
	if (q->timeout_ns && service_ns > q->timeout_ns)
		counts->late++;
	keep_latency(&q->latency[req->op], req, service_ns,
		     a->done_ns > due_ns ? a->done_ns - due_ns : 0);
	if (a->done_ns > q->now_ns)
		q->now_ns = a->done_ns;
	for (uint32_t i = 0; i < q->observer_count; i++)
		q->observers[i].observe(q->observers[i].argument, req);
}

/* Whether another attempt must follow the one that has come back. One that moved nothing ends it:
 * the object is shorter than asked for, or takes no more. */
static bool falls_short(struct queue *q, struct request *req)
{
	struct attempt *a = attempt_of(q, req);

	if ((req->op != REQ_READ && req->op != REQ_WRITE) || req->answer.status ||
	    req->answer.done_bytes >= req->length)
		return false;
	if (req->answer.done_bytes == a->before_bytes) {
		req->answer.status = req->op == REQ_READ ? -ENODATA : -EIO;
		return false;
	}
	q->op[req->op].short_transfers++;
	a->before_bytes = req->answer.done_bytes;
	req->answer.done_ns = 0;
	return true;
}

static void hand_over(struct queue *q, struct request *const *reqs, uint32_t n)
{
	uint64_t now_ns;

	if (attempts_matter(q)) {
		now_ns = clock_now(q->channel.store->clock);
		for (uint32_t i = 0; i < n; i++)
			attempt_begin(q, reqs[i], now_ns);
	}
	q->out += n;
	q->channel.store->ops->submit(&q->channel, reqs, n);
}

/* An attempt has come back. True: another must be made, which is not before *again_ns. */
static bool goes_on(struct queue *q, struct request *req, uint64_t *again_ns)
{
	uint64_t now_ns;

	q->out--;
	*again_ns = 0;
	if (attempts_matter(q)) {
		now_ns = req->answer.done_ns ? req->answer.done_ns
					     : clock_now(q->channel.store->clock);
		if (attempt_end(q, req, now_ns, again_ns)) {
			req->answer.done_ns = 0;
			return true;
		}
	}
	return falls_short(q, req);
}

static void run_whole(struct queue *q, struct request *req)
{
	uint64_t again_ns;

	hand_over(q, &req, 1);
	while (goes_on(q, req, &again_ns)) {
		if (again_ns)
			clock_sleep_until(q->channel.store->clock, again_ns);
		hand_over(q, &req, 1);
	}
}

/* A request that goes through a window in pieces. They end at multiples of the alignment, so that
 * direct I/O reads no block twice and writes only whole ones before the last. */
static bool streams(const struct queue *q, const struct request *req)
{
	const struct store *store = q->channel.store;

	if (req->op == REQ_READ && q->channel.streams)
		return false;
	return req->chunk && store_can(store, BACKEND_CONTENT) &&
	       !store_can(store, BACKEND_STREAMS);
}

/* The piece that begins at at, filled where it is to be written. False: none follows, be it the end
 * or an error, which io->status says. */
static bool piece_begin(struct queue *q, struct request *req, struct request *piece, uint64_t at)
{
	uint64_t align = q->channel.store->alignment;
	uint64_t room = req->buffer_bytes - req->buffer_bytes % align;
	uint64_t end = req->offset + req->length;
	uint64_t stop = at - at % align + room;
	uint32_t ticket = piece->ticket;
	int rc = 0;

	if (req->answer.status || at >= end)
		return false;
	if (stop > end)
		stop = end;
	*piece = (struct request){.op = req->op,
				  .object = req->object,
				  .offset = at,
				  .length = stop - at,
				  .data = req->data,
				  .user = req,
				  .answer.attempts = 1,
				  .ticket = ticket};
	attempt_of(q, piece)->before_bytes = 0;
	if (!room)
		rc = -EINVAL;
	else if (req->op == REQ_WRITE)
		rc = req->chunk(req, at, req->data, piece->length);
	if (rc < 0)
		req->answer.status = rc;
	return rc >= 0;
}

static void piece_end(struct request *req, const struct request *piece)
{
	int rc = piece->answer.status;

	if (req->op == REQ_READ && rc == 0)
		rc = req->chunk(req, piece->offset, (char *)req->data + piece->answer.lead,
				piece->length);
	req->answer.status = rc < 0 ? rc : 0;
	req->answer.done_bytes += piece->answer.done_bytes;
	req->answer.protocol_status = piece->answer.protocol_status;
	req->answer.fault = piece->answer.fault;
	req->answer.why = piece->answer.why;
	req->answer.endpoint = piece->answer.endpoint;
	req->answer.wire_bytes += piece->answer.wire_bytes;
	req->answer.connections += piece->answer.connections;
	if (piece->answer.attempts > 1 && req->answer.attempts == 1)
		req->answer.first_attempt_ns = piece->answer.first_attempt_ns;
	req->answer.attempts += piece->answer.attempts - 1;
	if (!req->answer.first_byte_ns)
		req->answer.first_byte_ns = piece->answer.first_byte_ns;
}

static void run_stream(struct queue *q, struct request *req)
{
	struct request piece = {.ticket = req->ticket};

	for (uint64_t at = req->offset; piece_begin(q, req, &piece, at);
	     at = piece.offset + piece.length) {
		run_whole(q, &piece);
		piece_end(req, &piece);
	}
}

/* One request from submit to done. Back to back, one's done stamp is the next one's submit. */
static void run(struct queue *q, struct request *req, uint64_t now_ns)
{
	prepare(q, req, now_ns);
	if (streams(q, req))
		run_stream(q, req);
	else
		run_whole(q, req);
	if (!req->answer.done_ns)
		req->answer.done_ns = clock_now(q->channel.store->clock);
	finish(q, req);
}

static void done_push(struct queue *q, struct request *req)
{
	uint32_t tail = q->done_head + q->done_count++;

	q->done[tail < q->channel.depth ? tail : tail - q->channel.depth] = req;
}

/* An asynchronous request has ended: its ticket is free. */
static void finish_async(struct queue *q, struct request *req)
{
	q->free_tickets[q->free_ticket_count++] = req->ticket;
	finish(q, req);
}

static void submit_sync(struct queue *q, struct request *const *reqs, uint32_t n, uint64_t now_ns)
{
	for (uint32_t i = 0; i < n; i++) {
		reqs[i]->ticket = 0;
		run(q, reqs[i], now_ns);
		now_ns = reqs[i]->answer.done_ns;
		done_push(q, reqs[i]);
	}
}

/* Sends the next piece of a streamed request on its way. False: it is over. */
static bool stream_on(struct queue *q, struct request *req, struct request *piece, uint64_t at)
{
	if (!piece_begin(q, req, piece, at)) {
		q->free_pieces[q->free_count++] = piece;
		return false;
	}
	hand_over(q, &piece, 1);
	return true;
}

static void stream_start(struct queue *q, struct request *req)
{
	struct request *piece = q->free_pieces[--q->free_count];

	if (stream_on(q, req, piece, req->offset))
		return;
	req->answer.done_ns = clock_now(q->channel.store->clock);
	finish_async(q, req);
	done_push(q, req);
}

/* What need not be cut goes to the store as one batch. */
static void submit_async(struct queue *q, struct request *const *reqs, uint32_t n, uint64_t now_ns)
{
	uint32_t from = 0;

	for (uint32_t i = 0; i < n; i++) {
		reqs[i]->ticket = q->free_tickets[--q->free_ticket_count];
		prepare(q, reqs[i], now_ns);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!streams(q, reqs[i]))
			continue;
		if (i > from)
			hand_over(q, reqs + from, i - from);
		stream_start(q, reqs[i]);
		from = i + 1;
	}
	if (n > from)
		hand_over(q, reqs + from, n - from);
}

int queue_submit(struct queue *q, struct request *const *reqs, uint32_t n)
{
	struct store *store = q->channel.store;
	uint64_t now_ns;

	if (n > q->channel.depth - q->in_flight)
		return -EAGAIN;
	now_ns = clock_now(store->clock);
	q->in_flight += n;
	if (synchronous(q))
		submit_sync(q, reqs, n, now_ns);
	else
		submit_async(q, reqs, n, now_ns);
	return 0;
}

static uint32_t done_pop(struct queue *q, struct request **done, uint32_t max)
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

static bool is_piece(const struct queue *q, const struct request *req)
{
	return q->pieces && req >= q->pieces && req < q->pieces + q->channel.depth;
}

/* A piece has come back: the whole request if it was the last, else NULL. */
static struct request *piece_done(struct queue *q, struct request *piece)
{
	struct request *req = piece->user;

	piece_end(req, piece);
	return stream_on(q, req, piece, piece->offset + piece->length) ? NULL : req;
}

/* Keeps those of the n at done that are finished, in order; sends the others on their way again. */
static uint32_t settle(struct queue *q, struct request **done, uint32_t n)
{
	uint64_t now_ns = 0, again_ns;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct request *req = done[i];

		if (goes_on(q, req, &again_ns)) {
			if (again_ns)
				retry_keep(&q->retry, req, again_ns);
			else
				hand_over(q, &req, 1);
			continue;
		}
		if (is_piece(q, req) && !(req = piece_done(q, req)))
			continue;
		if (!req->answer.done_ns) {
			now_ns = now_ns ? now_ns : clock_now(q->channel.store->clock);
			req->answer.done_ns = now_ns;
		}
		finish_async(q, req);
		done[kept++] = req;
	}
	return kept;
}

static void resume_due(struct queue *q)
{
	uint64_t now_ns;
	struct request *req;

	if (!q->retry.count)
		return;
	now_ns = clock_now(q->channel.store->clock);
	while ((req = retry_due(&q->retry, now_ns)) != NULL)
		hand_over(q, &req, 1);
}

/* Between attempts, when the backend holds none. False: the deadline comes first. */
static bool await_due(struct queue *q, uint64_t deadline_ns)
{
	bool due = q->retry.soonest_ns < deadline_ns;

	clock_sleep_until(q->channel.store->clock, due ? q->retry.soonest_ns : deadline_ns);
	return due;
}

static uint32_t reap_async(struct queue *q, struct request **done, uint32_t min, uint32_t max,
			   uint64_t deadline_ns)
{
	uint32_t n = done_pop(q, done, max);

	if (n == max)
		return n;
	do {
		uint32_t wanted = min > n ? min - n : 0, got;
		uint64_t until_ns;

		resume_due(q);
		if (!q->out) {
			if (wanted && await_due(q, deadline_ns))
				continue;
			break;
		}
		/* Those that wait to be tried again must not wait for those under way. */
		until_ns = q->retry.soonest_ns < deadline_ns ? q->retry.soonest_ns : deadline_ns;
		got = q->channel.store->ops->reap(&q->channel, done + n,
						  wanted < q->out ? wanted : q->out, max - n,
						  until_ns);
		n += settle(q, done + n, got);
		if (got < wanted && until_ns == deadline_ns && !q->retry.count)
			break;
		if (got < wanted && clock_now(q->channel.store->clock) >= deadline_ns)
			break;
	} while (n < min);
	return n;
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
	n = synchronous(q) ? done_pop(q, done, max) : reap_async(q, done, min, max, deadline_ns);
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
	if (synchronous(q)) {
		req->ticket = 0;
		run(q, req, clock_now(q->channel.store->clock));
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
