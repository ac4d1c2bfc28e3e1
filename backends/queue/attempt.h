/* Attempts at a request, for the queue: which endpoint each takes, what came of it, whether another
 * follows. Stores without endpoints and without retries pass through untouched. */
#ifndef HAUL_BACKENDS_QUEUE_ATTEMPT_H
#define HAUL_BACKENDS_QUEUE_ATTEMPT_H

#include "backends/queue/queue.h"

/* The attempt under way at a request. done_bytes, wire_bytes and connections of the answer as they were before
 * it; asked: it goes to the store. */
struct attempt {
	uint64_t begin_ns;
	uint64_t before_bytes, before_wire_bytes;
	uint32_t before_connections;
	bool asked;
};

static inline struct attempt *attempt_of(const struct queue *q, const struct request *req)
{
	return &q->attempts[req->ticket];
}

/* What a queue keeps for it. */
int attempts_open(struct queue *q, struct err *err);
void attempts_close(struct queue *q);

static inline bool attempts_matter(const struct queue *q)
{
	return q->endpoint_counts || q->retry.options;
}

/* The next attempt at io, which is handed to the backend now. */
void attempt_begin(struct queue *q, struct request *req, uint64_t now_ns);

/* It has come back. True: another attempt must be made, at *again_ns or later. */
bool attempt_end(struct queue *q, struct request *req, uint64_t now_ns, uint64_t *again_ns);

#endif
