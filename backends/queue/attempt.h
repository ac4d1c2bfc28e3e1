/* Attempts at a request, for the queue: which endpoint each takes, what came of it, whether another
 * follows. Stores without endpoints and without retries pass through untouched. */
#ifndef HAUL_BACKENDS_QUEUE_ATTEMPT_H
#define HAUL_BACKENDS_QUEUE_ATTEMPT_H

#include "backends/queue/queue.h"

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
