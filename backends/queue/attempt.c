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

void attempt_begin(struct queue *q, struct io *io, uint64_t now_ns)
{
	const struct backend_ops *ops = q->channel.store->ops;
	struct endpoints *e = q->channel.store->endpoints;

	io->asked = !ops->asks || ops->asks(&q->channel, io);
	io->attempt_ns = now_ns;
	io->before_bytes = io->done_bytes;
	io->before_wire_bytes = io->wire_bytes;
	io->before_connections = io->connections;
	if (e && io->asked)
		io->endpoint = endpoints_choose(e, &q->retry.random,
						io->fault ? io->endpoint : UINT32_MAX, now_ns);
	io->status = 0;
	io->protocol_status = 0;
	io->fault = IO_FAULT_NONE;
	io->transient = false;
	io->why = NULL;
	io->retry_after_ns = 0;
}

/* An answer that is no failure: what was asked for is not there. */
static bool absent(const struct io *io)
{
	return io->status == -ENOENT && (io->op == IO_STAT || io->op == IO_DELETE);
}

static void count(struct queue *q, const struct io *io, uint64_t took_ns)
{
	struct endpoint_counts *c = &q->endpoint_counts[io->endpoint];
	bool moves = io->op == IO_READ || io->op == IO_WRITE;

	c->attempts++;
	c->wire_bytes += io->wire_bytes - io->before_wire_bytes;
	c->connections += io->connections - io->before_connections;
	c->time_ns += took_ns;
	c->max_ns = took_ns > c->max_ns ? took_ns : c->max_ns;
	c->latency[tally_latency_bucket(took_ns)]++;
	if (moves && io->done_bytes > io->before_bytes)
		c->bytes += io->done_bytes - io->before_bytes;
	if (io->fault == IO_FAULT_NONE || absent(io))
		return;
	c->failures++;
	c->fault[io->fault < IO_FAULTS ? io->fault : IO_FAULT_OTHER]++;
}

bool attempt_end(struct queue *q, struct io *io, uint64_t now_ns, uint64_t *again_ns)
{
	uint64_t took_ns = now_ns > io->attempt_ns ? now_ns - io->attempt_ns : 0;

	if (q->endpoint_counts && io->asked) {
		count(q, io, took_ns);
		endpoints_done(q->channel.store->endpoints, io->endpoint, io->fault, took_ns,
			       now_ns);
	}
	if (io->status >= 0) {
		retry_succeeded(&q->retry);
		return false;
	}
	if (io->attempts == 1)
		io->first_attempt_ns = now_ns;
	if (!retry_allows(&q->retry, io))
		return false;
	*again_ns = retry_at(&q->retry, io, now_ns);
	io->attempts++;
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
