/* The clock is read twice a request on a synchronous backend, once a batch on an asynchronous one;
 * everything else is adding to plain counters. */
#include "backends/queue/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

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
	q->free_pieces = calloc(depth, sizeof(struct io *));
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
	free(q->stats);
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
	/* Pages of counters never used are never touched. */
	q->stats = calloc(1, sizeof(*q->stats));
	q->done = calloc(depth, sizeof(*q->done));
	if (!q->stats || !q->done) {
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
		queue_listen(q, op_log_see, q->logged);
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
	if (!q->stats)
		return;
	queue_unlogged(q);
	if (q->channel.store->ops->channel_close)
		q->channel.store->ops->channel_close(&q->channel);
	memory_free(q);
}

void queue_listen(struct queue *q, void (*see)(void *argument, const struct io *io), void *argument)
{
	assert(q->tap_count < QUEUE_TAPS);
	q->taps[q->tap_count++] = (struct queue_tap){see, argument};
}

void queue_unlogged(struct queue *q)
{
	uint32_t kept = 0;

	if (!q->logged)
		return;
	op_log_leave(q->logged);
	for (uint32_t i = 0; i < q->tap_count; i++)
		if (q->taps[i].argument != q->logged)
			q->taps[kept++] = q->taps[i];
	q->tap_count = kept;
	q->logged = NULL;
}

void queue_memory(struct queue *q, void *base, uint64_t bytes)
{
	const struct backend_ops *ops = q->channel.store->ops;

	if (base && bytes && ops->channel_memory)
		ops->channel_memory(&q->channel, base, bytes);
}

static void prepare(const struct queue *q, struct io *io, uint64_t now_ns)
{
	io->submit_ns = now_ns;
	io->first_byte_ns = 0;
	io->done_ns = 0;
	io->done_bytes = 0;
	io->before_bytes = 0;
	io->retry_after_ns = 0;
	io->lead = 0;
	io->status = 0;
	io->protocol_status = 0;
	io->fault = IO_FAULT_NONE;
	io->transient = false;
	io->why = NULL;
	io->wire_bytes = 0;
	io->connections = 0;
	io->attempts = 1;
	io->endpoint = q->channel.store->place.endpoint;
	for (uint32_t i = 0; i < io->key_count; i++) {
		io->keys[i].status = -EINPROGRESS;
		io->keys[i].why = NULL;
		io->keys[i].again = true;
	}
}

static void finish(struct queue *q, struct io *io)
{
	struct queue_counts *counts = &q->stats->op[io->op];
	uint64_t due_ns = io->due_ns ? io->due_ns : io->submit_ns;
	uint64_t service_ns = io->done_ns - io->submit_ns;

	counts->operations++;
	if (io->op == IO_READ || io->op == IO_WRITE)
		counts->bytes += io->done_bytes;
	counts->errors += io_failures(io);
	if (q->timeout_ns && service_ns > q->timeout_ns)
		counts->late++;
	hist_record(&q->stats->service[io->op], service_ns);
	if (io->attempts > 1) {
		counts->retries += io->attempts - 1;
		hist_record(&q->stats->retried[io->op], service_ns);
		hist_record(&q->stats->first[io->op], io->first_attempt_ns - io->submit_ns);
	}
	hist_record(&q->stats->response[io->op], io->done_ns > due_ns ? io->done_ns - due_ns : 0);
	if (io->done_ns > q->now_ns)
		q->now_ns = io->done_ns;
	for (uint32_t i = 0; i < q->tap_count; i++)
		q->taps[i].see(q->taps[i].argument, io);
}

/* Whether another attempt must follow the one that has come back. One that moved nothing ends it:
 * the object is shorter than asked for, or takes no more. */
static bool falls_short(struct queue *q, struct io *io)
{
	if ((io->op != IO_READ && io->op != IO_WRITE) || io->status || io->done_bytes >= io->length)
		return false;
	if (io->done_bytes == io->before_bytes) {
		io->status = io->op == IO_READ ? -ENODATA : -EIO;
		return false;
	}
	q->stats->op[io->op].short_transfers++;
	io->before_bytes = io->done_bytes;
	io->done_ns = 0;
	return true;
}

static void hand_over(struct queue *q, struct io *const *ios, uint32_t n)
{
	uint64_t now_ns;

	if (attempts_matter(q)) {
		now_ns = clock_now(q->channel.store->clock);
		for (uint32_t i = 0; i < n; i++)
			attempt_begin(q, ios[i], now_ns);
	}
	q->out += n;
	q->channel.store->ops->submit(&q->channel, ios, n);
}

/* An attempt has come back. True: another must be made, which is not before *again_ns. */
static bool goes_on(struct queue *q, struct io *io, uint64_t *again_ns)
{
	uint64_t now_ns;

	q->out--;
	*again_ns = 0;
	if (attempts_matter(q)) {
		now_ns = io->done_ns ? io->done_ns : clock_now(q->channel.store->clock);
		if (attempt_end(q, io, now_ns, again_ns)) {
			io->done_ns = 0;
			return true;
		}
	}
	return falls_short(q, io);
}

static void run_whole(struct queue *q, struct io *io)
{
	uint64_t again_ns;

	hand_over(q, &io, 1);
	while (goes_on(q, io, &again_ns)) {
		if (again_ns)
			clock_sleep_until(q->channel.store->clock, again_ns);
		hand_over(q, &io, 1);
	}
}

/* A request that goes through a window in pieces. They end at multiples of the alignment, so that
 * direct I/O reads no block twice and writes only whole ones before the last. */
static bool streams(const struct queue *q, const struct io *io)
{
	const struct store *store = q->channel.store;

	if (io->op == IO_READ && q->channel.streams)
		return false;
	return io->chunk && store_can(store, BACKEND_CONTENT) && !store_can(store, BACKEND_STREAMS);
}

/* The piece that begins at at, filled where it is to be written. False: none follows, be it the end
 * or an error, which io->status says. */
static bool piece_begin(struct queue *q, struct io *io, struct io *piece, uint64_t at)
{
	uint64_t align = q->channel.store->alignment;
	uint64_t room = io->window - io->window % align;
	uint64_t end = io->offset + io->length;
	uint64_t stop = at - at % align + room;
	int rc = 0;

	if (io->status || at >= end)
		return false;
	if (stop > end)
		stop = end;
	*piece = (struct io){.op = io->op,
			     .object = io->object,
			     .offset = at,
			     .length = stop - at,
			     .data = io->data,
			     .user = io,
			     .attempts = 1};
	if (!room)
		rc = -EINVAL;
	else if (io->op == IO_WRITE)
		rc = io->chunk(io, at, io->data, piece->length);
	if (rc < 0)
		io->status = rc;
	return rc >= 0;
}

static void piece_end(struct io *io, const struct io *piece)
{
	int rc = piece->status;

	if (io->op == IO_READ && rc == 0)
		rc = io->chunk(io, piece->offset, (char *)io->data + piece->lead, piece->length);
	io->status = rc < 0 ? rc : 0;
	io->done_bytes += piece->done_bytes;
	io->protocol_status = piece->protocol_status;
	io->fault = piece->fault;
	io->why = piece->why;
	io->endpoint = piece->endpoint;
	io->wire_bytes += piece->wire_bytes;
	io->connections += piece->connections;
	if (piece->attempts > 1 && io->attempts == 1)
		io->first_attempt_ns = piece->first_attempt_ns;
	io->attempts += piece->attempts - 1;
	if (!io->first_byte_ns)
		io->first_byte_ns = piece->first_byte_ns;
}

static void run_stream(struct queue *q, struct io *io)
{
	struct io piece;

	for (uint64_t at = io->offset; piece_begin(q, io, &piece, at);
	     at = piece.offset + piece.length) {
		run_whole(q, &piece);
		piece_end(io, &piece);
	}
}

/* One request from submit to done. Back to back, one's done stamp is the next one's submit. */
static void run(struct queue *q, struct io *io, uint64_t now_ns)
{
	prepare(q, io, now_ns);
	if (streams(q, io))
		run_stream(q, io);
	else
		run_whole(q, io);
	if (!io->done_ns)
		io->done_ns = clock_now(q->channel.store->clock);
	finish(q, io);
}

static void done_push(struct queue *q, struct io *io)
{
	uint32_t tail = q->done_head + q->done_count++;

	q->done[tail < q->channel.depth ? tail : tail - q->channel.depth] = io;
}

static void submit_sync(struct queue *q, struct io *const *ios, uint32_t n, uint64_t now_ns)
{
	for (uint32_t i = 0; i < n; i++) {
		run(q, ios[i], now_ns);
		now_ns = ios[i]->done_ns;
		done_push(q, ios[i]);
	}
}

/* Sends the next piece of a streamed request on its way. False: it is over. */
static bool stream_on(struct queue *q, struct io *io, struct io *piece, uint64_t at)
{
	if (!piece_begin(q, io, piece, at)) {
		q->free_pieces[q->free_count++] = piece;
		return false;
	}
	hand_over(q, &piece, 1);
	return true;
}

static void stream_start(struct queue *q, struct io *io)
{
	struct io *piece = q->free_pieces[--q->free_count];

	if (stream_on(q, io, piece, io->offset))
		return;
	io->done_ns = clock_now(q->channel.store->clock);
	finish(q, io);
	done_push(q, io);
}

/* What need not be cut goes to the store as one batch. */
static void submit_async(struct queue *q, struct io *const *ios, uint32_t n, uint64_t now_ns)
{
	uint32_t from = 0;

	for (uint32_t i = 0; i < n; i++)
		prepare(q, ios[i], now_ns);
	for (uint32_t i = 0; i < n; i++) {
		if (!streams(q, ios[i]))
			continue;
		if (i > from)
			hand_over(q, ios + from, i - from);
		stream_start(q, ios[i]);
		from = i + 1;
	}
	if (n > from)
		hand_over(q, ios + from, n - from);
}

int queue_submit(struct queue *q, struct io *const *ios, uint32_t n)
{
	struct store *store = q->channel.store;
	uint64_t now_ns;

	if (n > q->channel.depth - q->in_flight)
		return -EAGAIN;
	now_ns = clock_now(store->clock);
	q->in_flight += n;
	if (synchronous(q))
		submit_sync(q, ios, n, now_ns);
	else
		submit_async(q, ios, n, now_ns);
	return 0;
}

static uint32_t done_pop(struct queue *q, struct io **done, uint32_t max)
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

static bool is_piece(const struct queue *q, const struct io *io)
{
	return q->pieces && io >= q->pieces && io < q->pieces + q->channel.depth;
}

/* A piece has come back: the whole request if it was the last, else NULL. */
static struct io *piece_done(struct queue *q, struct io *piece)
{
	struct io *io = piece->user;

	piece_end(io, piece);
	return stream_on(q, io, piece, piece->offset + piece->length) ? NULL : io;
}

/* Keeps those of the n at done that are finished, in order; sends the others on their way again. */
static uint32_t settle(struct queue *q, struct io **done, uint32_t n)
{
	uint64_t now_ns = 0, again_ns;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct io *io = done[i];

		if (goes_on(q, io, &again_ns)) {
			if (again_ns)
				retry_keep(&q->retry, io, again_ns);
			else
				hand_over(q, &io, 1);
			continue;
		}
		if (is_piece(q, io) && !(io = piece_done(q, io)))
			continue;
		if (!io->done_ns) {
			now_ns = now_ns ? now_ns : clock_now(q->channel.store->clock);
			io->done_ns = now_ns;
		}
		finish(q, io);
		done[kept++] = io;
	}
	return kept;
}

static void resume_due(struct queue *q)
{
	uint64_t now_ns;
	struct io *io;

	if (!q->retry.count)
		return;
	now_ns = clock_now(q->channel.store->clock);
	while ((io = retry_due(&q->retry, now_ns)) != NULL)
		hand_over(q, &io, 1);
}

/* Between attempts, when the backend holds none. False: the deadline comes first. */
static bool await_due(struct queue *q, uint64_t deadline_ns)
{
	bool due = q->retry.soonest_ns < deadline_ns;

	clock_sleep_until(q->channel.store->clock, due ? q->retry.soonest_ns : deadline_ns);
	return due;
}

static uint32_t reap_async(struct queue *q, struct io **done, uint32_t min, uint32_t max,
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

uint32_t queue_reap(struct queue *q, struct io **done, uint32_t min, uint32_t max,
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

int queue_do(struct queue *q, struct io *io)
{
	struct io *done;

	if (q->in_flight) {
		io->status = -EBUSY;
		return -EBUSY;
	}
	if (synchronous(q)) {
		run(q, io, clock_now(q->channel.store->clock));
		return io->status;
	}
	queue_submit(q, &io, 1);
	queue_reap(q, &done, 1, 1, UINT64_MAX);
	return io->status;
}

uint64_t queue_window(const struct store *store, uint64_t length)
{
	uint64_t align = store->alignment;

	if (align <= 1 || length > UINT64_MAX - 2 * align)
		return length;
	return (length + align - 1) / align * align + align;
}

void queue_first_attempts(const struct queue_stats *stats, enum io_op op, struct hist *out)
{
	const struct hist *retried = &stats->retried[op], *first = &stats->first[op];
	unsigned lowest, highest;

	*out = stats->service[op];
	if (!stats->op[op].retries)
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

void queue_add_first_attempts(const struct queue *q, enum io_op op, struct hist *into)
{
	struct hist first;

	if (!q->retry.options || !q->stats->op[op].operations)
		return;
	queue_first_attempts(q->stats, op, &first);
	hist_merge(into, &first);
}

void queue_stats_merge(struct queue_stats *into, const struct queue_stats *from)
{
	for (int op = 0; op < IO_OPS; op++) {
		const struct queue_counts *c = &from->op[op];

		/* What was never used stays untouched memory on both sides. */
		if (c->operations == 0)
			continue;
		into->op[op].operations += c->operations;
		into->op[op].errors += c->errors;
		into->op[op].bytes += c->bytes;
		into->op[op].late += c->late;
		into->op[op].short_transfers += c->short_transfers;
		into->op[op].retries += c->retries;
		if (c->retries) {
			hist_merge(&into->retried[op], &from->retried[op]);
			hist_merge(&into->first[op], &from->first[op]);
		}
		hist_merge(&into->service[op], &from->service[op]);
		hist_merge(&into->response[op], &from->response[op]);
	}
}
