/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts at a request: which endpoint each takes, what became of it, whether another follows.
 * Private to the queue, which passes attempts by where its store has neither endpoints nor retries
 * (attempts_matter). */
#ifndef HAUL_BACKENDS_QUEUE_ATTEMPT_H
#define HAUL_BACKENDS_QUEUE_ATTEMPT_H

#include "backends/queue/state.h"

/* The attempt under way at a request. */
struct attempt {
	uint64_t begin_ns;
	/* done_bytes, wire_bytes and connections of the answer, as they were before it. */
	uint64_t before_bytes, before_wire_bytes;
	uint32_t before_connections;
	bool asked; /* it goes to the store */
};

static inline struct attempt *attempt_of(const struct queue *q, const struct request *req)
{
	return &q->attempts[req->ticket];
}

/* What a queue keeps of its attempts. close also after a failed open. */
int attempts_open(struct queue *q, struct err *err);
void attempts_close(struct queue *q);

/* The next attempt at req, which is handed to the backend now. */
void attempt_begin(struct queue *q, struct request *req, uint64_t now_ns);

/* The attempt has come back. True: another one must be made, at *again_ns or later. */
bool attempt_end(struct queue *q, struct request *req, uint64_t now_ns, uint64_t *again_ns);

#endif
