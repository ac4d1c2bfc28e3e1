/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/queue/attempt.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static int tickets_open(struct queue *q)
{
	uint32_t depth = q->channel.synchronous ? 1 : q->channel.depth;
	uint32_t count = depth + (q->pieces ? depth : 0);

	q->attempts = calloc(count, sizeof(*q->attempts));
	q->free_tickets = calloc(depth, sizeof(*q->free_tickets));
	if (!q->attempts || !q->free_tickets)
		return -ENOMEM;
	while (q->free_ticket_count < depth) {
		q->free_tickets[q->free_ticket_count] = q->free_ticket_count;
		q->free_ticket_count++;
	}
	for (uint32_t i = 0; q->pieces && i < depth; i++)
		q->pieces[i].ticket = depth + i;
	return 0;
}

int attempts_open(struct queue *q, struct err *err)
{
	struct store *store = q->channel.store;
	uint64_t seed =
		random_at(store->seed, store->place.rank,
			  atomic_fetch_add_explicit(&store->queues, 1, memory_order_relaxed));

	if (store->endpoints) {
		q->endpoint_counts = calloc(store->endpoints->count, sizeof(*q->endpoint_counts));
		if (!q->endpoint_counts)
			return err_set(err, -ENOMEM, "no memory for the figures of %u endpoints",
				       store->endpoints->count);
	}
	q->channel.counts = q->endpoint_counts;
	if (tickets_open(q) < 0)
		return err_set(err, -ENOMEM, "no memory for a queue of depth %u", q->channel.depth);
	q->attempts_matter = q->endpoint_counts || store->retry;
	return retry_open(&q->retry, store->retry, q->channel.depth, seed, err);
}

void attempts_close(struct queue *q)
{
	free(q->free_tickets);
	free(q->attempts);
	free(q->endpoint_counts);
	retry_close(&q->retry);
}

void attempt_begin(struct queue *q, struct request *req, uint64_t now_ns)
{
	const struct backend_ops *ops = q->channel.store->ops;
	struct endpoints *e = q->channel.store->endpoints;
	struct attempt *a = attempt_of(q, req);

	a->asked = !ops->asks || ops->asks(&q->channel, req);
	a->begin_ns = now_ns;
	a->before_bytes = req->answer.done_bytes;
	a->before_wire_bytes = req->answer.wire_bytes;
	a->before_connections = req->answer.connections;
	if (e && a->asked)
		req->answer.endpoint = endpoints_choose(
			e, &q->retry.random, req->answer.fault ? req->answer.endpoint : UINT32_MAX,
			now_ns);
	req->answer.status = 0;
	req->answer.protocol_status = 0;
	req->answer.fault = REQ_FAULT_NONE;
	req->answer.transient = false;
	req->answer.why = NULL;
	req->answer.retry_after_ns = 0;
}

/* An answer that is not a failure: what was asked for does not exist. */
static bool attempt_found_nothing(const struct request *req)
{
	return req->answer.status == -ENOENT && (req->op == REQ_STAT || req->op == REQ_DELETE);
}

static void attempt_count(struct queue *q, const struct request *req, uint64_t took_ns)
{
	struct endpoint_counts *c = &q->endpoint_counts[req->answer.endpoint];
	const struct attempt *a = attempt_of(q, req);
	bool moves = req->op == REQ_READ || req->op == REQ_WRITE;

	c->attempts++;
	c->wire_bytes += req->answer.wire_bytes - a->before_wire_bytes;
	c->connections += req->answer.connections - a->before_connections;
	c->time_ns += took_ns;
	c->max_ns = max_u64(took_ns, c->max_ns);
	coarse_record(&c->latency, took_ns);
	if (moves && req->answer.done_bytes > a->before_bytes)
		c->bytes += req->answer.done_bytes - a->before_bytes;
	if (req->answer.fault == REQ_FAULT_NONE || attempt_found_nothing(req))
		return;
	c->failures++;
	c->fault[req->answer.fault < REQ_FAULTS ? req->answer.fault : REQ_FAULT_OTHER]++;
}

void attempt_give_up(struct request *req)
{
	req->answer.attempts--;
	req->answer.status = -ECANCELED;
	req->answer.why = "the run is to end, so it is not tried again";
}

bool attempt_end(struct queue *q, struct request *req, uint64_t now_ns, uint64_t *again_ns)
{
	const struct attempt *a = attempt_of(q, req);
	uint64_t took_ns = excess_u64(now_ns, a->begin_ns);

	if (q->endpoint_counts && a->asked) {
		/* One that was given up says nothing of the endpoint. */
		if (req->answer.status != -ECANCELED)
			attempt_count(q, req, took_ns);
		endpoints_done(q->channel.store->endpoints, req->answer.endpoint, req->answer.fault,
			       took_ns, now_ns);
	}
	if (req->answer.status >= 0) {
		retry_succeeded(&q->retry);
		return false;
	}
	if (req->answer.attempts == 1)
		req->answer.first_attempt_ns = now_ns;
	if (!retry_allows(&q->retry, req))
		return false;
	*again_ns = retry_at(&q->retry, req, now_ns);
	req->answer.attempts++;
	if (!attempt_was_last(q))
		return true;
	attempt_give_up(req);
	return false;
}

bool attempt_names(const struct queue *q, struct request *req)
{
	const struct listing *l = req->listing;

	for (uint32_t i = 0; i < request_keys(req); i++) {
		req->batch.keys[i].status = -EINPROGRESS;
		req->batch.keys[i].why = NULL;
		req->batch.keys[i].again = true;
	}
	if (req->op != REQ_LIST)
		return true;
	if (l->parts > 1 && l->part >= l->parts)
		req->answer.status = -EINVAL;
	else if ((l->parts > 1 && !store_can(q->channel.store, BACKEND_LIST_PARTS)) ||
		 (l->uploads && !store_can(q->channel.store, BACKEND_UPLOADS)))
		req->answer.status = -EOPNOTSUPP;
	return req->answer.status == 0;
}
