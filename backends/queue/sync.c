/* SPDX-License-Identifier: Apache-2.0 */
/* Requests on synchronous channels: each is done from submit to done before the next begins. The
 * clock is read once before and once after a request, and only once where requests follow each
 * other in one submit: the end of one is then the start of the next. */
#include "backends/queue/steps.h"

/* Sleeps until the next attempt is due. False: none is made, because the run is to end. */
static bool sync_await_due(struct queue *q, struct request *req, uint64_t again_ns)
{
	uint64_t until_ns;

	do {
		if (attempt_was_last(q)) {
			attempt_give_up(req);
			return false;
		}
		until_ns = attempt_look_ns(q, again_ns);
		clock_sleep_until(q->channel.store->clock, until_ns);
	} while (until_ns < again_ns);
	return true;
}

static inline void sync_run_whole(struct queue *q, struct request *req)
{
	uint64_t again_ns;

	queue_hand_over(q, &req, 1);
	while (queue_goes_on(q, req, &again_ns)) {
		if (again_ns && !sync_await_due(q, req, again_ns))
			return;
		queue_hand_over(q, &req, 1);
	}
}

static void sync_run_pieces(struct queue *q, struct request *req)
{
	struct request piece = {.ticket = req->ticket};

	for (uint64_t at = req->offset; piece_begin(q, req, &piece, at);
	     at = piece.offset + piece.length) {
		sync_run_whole(q, &piece);
		piece_end(req, &piece);
	}
}

void queue_sync_run(struct queue *q, struct request *req, uint64_t now_ns)
{
	req->ticket = 0;
	if (!queue_prepare(q, req, now_ns))
		req->answer.done_ns = now_ns;
	else if (piece_wanted(q, req))
		sync_run_pieces(q, req);
	else
		sync_run_whole(q, req);
	if (!req->answer.done_ns)
		req->answer.done_ns = clock_read(&q->clock);
	queue_finish(q, req);
}

void queue_sync_submit(struct queue *q, struct request *const *reqs, uint32_t n, uint64_t now_ns)
{
	for (uint32_t i = 0; i < n; i++) {
		queue_sync_run(q, reqs[i], now_ns);
		now_ns = reqs[i]->answer.done_ns;
		queue_push_done(q, reqs[i]);
	}
}
