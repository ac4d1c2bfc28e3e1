#include "backends/queue/attempt.h"

#include <errno.h>
#include <stdlib.h>

#include "backends/store.h"

int attempts_open(struct queue *q, struct err *err)
{
	const struct store *store = q->channel.store;
	uint64_t seed = random_at(store->seed, store->place.rank, (uintptr_t)q);

	if (store->endpoints) {
		q->endpoint_counts = calloc(store->endpoints->count, sizeof(*q->endpoint_counts));
		if (!q->endpoint_counts)
			return err_set(err, -ENOMEM, "no memory for the figures of %u endpoints",
				       store->endpoints->count);
	}
	q->channel.counts = q->endpoint_counts;
	return retry_open(&q->retry, store->retry, q->channel.depth, seed, err);
}

void attempts_close(struct queue *q)
{
	free(q->endpoint_counts);
	retry_close(&q->retry);
}

void attempt_begin(struct queue *q, struct request *req, uint64_t now_ns)
{
	const struct backend_ops *ops = q->channel.store->ops;
	struct endpoints *e = q->channel.store->endpoints;

	req->asked = !ops->asks || ops->asks(&q->channel, req);
	req->attempt_ns = now_ns;
	req->before_bytes = req->done_bytes;
	req->before_wire_bytes = req->wire_bytes;
	req->before_connections = req->connections;
	if (e && req->asked)
		req->endpoint = endpoints_choose(e, &q->retry.random,
						 req->fault ? req->endpoint : UINT32_MAX, now_ns);
	req->status = 0;
	req->protocol_status = 0;
	req->fault = REQ_FAULT_NONE;
	req->transient = false;
	req->why = NULL;
	req->retry_after_ns = 0;
}

/* An answer that is no failure: what was asked for is not there. */
static bool absent(const struct request *req)
{
	return req->status == -ENOENT && (req->op == REQ_STAT || req->op == REQ_DELETE);
}

static void count(struct queue *q, const struct request *req, uint64_t took_ns)
{
	struct endpoint_counts *c = &q->endpoint_counts[req->endpoint];
	bool moves = req->op == REQ_READ || req->op == REQ_WRITE;

	c->attempts++;
	c->wire_bytes += req->wire_bytes - req->before_wire_bytes;
	c->connections += req->connections - req->before_connections;
	c->time_ns += took_ns;
	c->max_ns = took_ns > c->max_ns ? took_ns : c->max_ns;
	c->latency[tally_latency_bucket(took_ns)]++;
	if (moves && req->done_bytes > req->before_bytes)
		c->bytes += req->done_bytes - req->before_bytes;
	if (req->fault == REQ_FAULT_NONE || absent(req))
		return;
	c->failures++;
	c->fault[req->fault < REQ_FAULTS ? req->fault : REQ_FAULT_OTHER]++;
}

bool attempt_end(struct queue *q, struct request *req, uint64_t now_ns, uint64_t *again_ns)
{
	uint64_t took_ns = now_ns > req->attempt_ns ? now_ns - req->attempt_ns : 0;

	if (q->endpoint_counts && req->asked) {
		count(q, req, took_ns);
		endpoints_done(q->channel.store->endpoints, req->endpoint, req->fault, took_ns,
			       now_ns);
	}
	if (req->status >= 0) {
		retry_succeeded(&q->retry);
		return false;
	}
	if (req->attempts == 1)
		req->first_attempt_ns = now_ns;
	if (!retry_allows(&q->retry, req))
		return false;
	*again_ns = retry_at(&q->retry, req, now_ns);
	req->attempts++;
	return true;
}

void queue_count_endpoints(const struct queue *q, struct tally *t)
{
	const struct endpoints *e = q->endpoint_counts ? q->channel.store->endpoints : NULL;

	for (uint32_t i = 0; e && i < e->count; i++) {
		struct tally_endpoint *to = tally_endpoint(t, e->list[i].name);

		if (to)
			endpoint_counts_add(&q->endpoint_counts[i], to);
	}
}
