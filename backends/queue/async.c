/* SPDX-License-Identifier: Apache-2.0 */
/* Requests on asynchronous channels: many at once, the clock being read once a batch. Each holds a
 * ticket, which names the state of its attempt, until it ends. */
#include "backends/queue/steps.h"
#include "core/numbers.h"

static void async_finish(struct queue *q, struct request *req)
{
	INVARIANT(q->free_ticket_count < q->channel.depth, "a request ends once");
	q->free_tickets[q->free_ticket_count++] = req->ticket;
	queue_finish(q, req);
}

/* Sends the next piece of a streamed request on its way. False: it is over. */
static bool async_send_piece(struct queue *q, struct request *req, struct request *piece,
			     uint64_t at)
{
	if (!piece_begin(q, req, piece, at)) {
		q->free_pieces[q->free_count++] = piece;
		return false;
	}
	queue_hand_over(q, &piece, 1);
	return true;
}

/* A request that ends before the store was asked. */
static void async_end_early(struct queue *q, struct request *req, uint64_t now_ns)
{
	req->answer.done_ns = now_ns;
	async_finish(q, req);
	queue_push_done(q, req);
}

static void async_start_pieces(struct queue *q, struct request *req)
{
	struct request *piece;

	INVARIANT_SLOW(q->free_count, "a request in flight has one piece under way at most");
	piece = q->free_pieces[--q->free_count];
	if (!async_send_piece(q, req, piece, req->offset))
		async_end_early(q, req, clock_read(&q->clock));
}

/* Requests that need not be cut, and stand together, go to the store as one batch. */
void queue_async_submit(struct queue *q, struct request *const *reqs, uint32_t n, uint64_t now_ns)
{
	uint32_t from = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool asked, cut;

		INVARIANT_SLOW(q->free_ticket_count, "depth bounds what is in flight");
		reqs[i]->ticket = q->free_tickets[--q->free_ticket_count];
		asked = queue_prepare(q, reqs[i], now_ns);
		cut = piece_wanted(q, reqs[i]);
		if (asked && !cut)
			continue;
		if (i > from)
			queue_hand_over(q, reqs + from, i - from);
		if (asked)
			async_start_pieces(q, reqs[i]);
		else
			async_end_early(q, reqs[i], now_ns);
		from = i + 1;
	}
	if (n > from)
		queue_hand_over(q, reqs + from, n - from);
}

static bool is_piece(const struct queue *q, const struct request *req)
{
	return q->pieces && req >= q->pieces && req < q->pieces + q->channel.depth;
}

/* A piece has come back: the whole request if it was the last, else NULL. */
static struct request *async_end_piece(struct queue *q, struct request *piece)
{
	struct request *req = piece->user;

	piece_end(req, piece);
	if (async_send_piece(q, req, piece, piece->offset + piece->length))
		return NULL;
	return req;
}

/* Keeps those of the n at done that are finished, in order, and sends the others on their way
 * again. */
static uint32_t async_settle(struct queue *q, struct request **done, uint32_t n)
{
	uint64_t now_ns = 0, again_ns;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct request *req = done[i];

		if (queue_goes_on(q, req, &again_ns)) {
			if (again_ns)
				retry_keep(&q->retry, req, again_ns);
			else
				queue_hand_over(q, &req, 1);
			continue;
		}
		if (is_piece(q, req) && !(req = async_end_piece(q, req)))
			continue;
		if (!req->answer.done_ns) {
			now_ns = now_ns ? now_ns : clock_read(&q->clock);
			req->answer.done_ns = now_ns;
		}
		async_finish(q, req);
		done[kept++] = req;
	}
	return kept;
}

/* Begins the attempts that have waited long enough. */
static void async_resume_due(struct queue *q)
{
	uint64_t now_ns;
	struct request *req;

	if (!q->retry.count)
		return;
	now_ns = clock_read(&q->clock);
	while ((req = retry_due(&q->retry, now_ns)) != NULL)
		queue_hand_over(q, &req, 1);
}

/* The run is to end: those that wait for another attempt come back without it. */
static void async_give_up(struct queue *q)
{
	uint64_t now_ns = clock_read(&q->clock);
	struct request *req;

	while ((req = retry_due(&q->retry, UINT64_MAX)) != NULL) {
		attempt_give_up(req);
		if (!is_piece(q, req) || (req = async_end_piece(q, req)))
			async_end_early(q, req, now_ns);
	}
}

/* Waits for the next attempt that is due, when the backend holds none. False: the deadline comes
 * first. */
static bool async_await_due(struct queue *q, uint64_t deadline_ns)
{
	uint64_t until_ns = q->retry.count ? attempt_look_ns(q, q->retry.soonest_ns) : UINT64_MAX;
	bool due = until_ns < deadline_ns;

	clock_sleep_until(q->channel.store->clock, due ? until_ns : deadline_ns);
	return due;
}

uint32_t queue_async_reap(struct queue *q, struct request **done, uint32_t min, uint32_t max,
			  uint64_t deadline_ns)
{
	uint32_t n = queue_pop_done(q, done, max);

	if (n == max)
		return n;
	do {
		uint32_t wanted = excess_u64(min, n), got;
		uint64_t until_ns;

		if (q->retry.count && attempt_was_last(q)) {
			async_give_up(q);
			n += queue_pop_done(q, done + n, max - n);
			if (n >= min)
				break;
			wanted = min - n;
		}
		async_resume_due(q);
		if (!q->out) {
			if (wanted && async_await_due(q, deadline_ns))
				continue;
			break;
		}
		/* Requests that wait to be tried again must not wait for those under way. */
		until_ns = min_u64(q->retry.soonest_ns, deadline_ns);
		if (q->retry.count)
			until_ns = attempt_look_ns(q, until_ns);
		got = q->channel.store->ops->reap(&q->channel, done + n, min_u64(wanted, q->out),
						  max - n, until_ns);
		INVARIANT(got <= q->out, "a backend gives back only what it holds");
		n += async_settle(q, done + n, got);
		if (got < wanted && until_ns == deadline_ns && !q->retry.count)
			break;
		if (got < wanted && clock_read(&q->clock) >= deadline_ns)
			break;
	} while (n < min);
	return n;
}
