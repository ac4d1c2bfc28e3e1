/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts at a request: which endpoint each takes, what became of it, whether another follows.
 * Private to the queue, which passes attempts by where its store has neither endpoints nor retries
 * (attempts_matter). */
#ifndef HAUL_BACKENDS_QUEUE_ATTEMPT_H
#define HAUL_BACKENDS_QUEUE_ATTEMPT_H

#include "backends/queue/state.h"
#include "core/numbers.h"

#define ATTEMPT_LOOK_NS 100000000u

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

/* Begins the answers about single names: those of a delete of several keys, and of a listing.
 * False: the store cannot do it, as the status says. */
bool attempt_names(const struct queue *q, struct request *req);

/* The next attempt at req, which is handed to the backend now. */
void attempt_begin(struct queue *q, struct request *req, uint64_t now_ns);

/* The attempt has come back. True: another one must be made, at *again_ns or later. */
bool attempt_end(struct queue *q, struct request *req, uint64_t now_ns, uint64_t *again_ns);
/* It waits for another attempt, which is not made, because the run is to end. */
void attempt_give_up(struct request *req);
/* Whether attempts are made again no more. */
static inline bool attempt_was_last(const struct queue *q)
{
	return stop_began(q->channel.store->stop);
}
/* Until when a wait for another attempt may last before it asks that again. */
static inline uint64_t attempt_look_ns(struct queue *q, uint64_t until_ns)
{
	return q->channel.store->stop ? min_u64(until_ns, clock_read(&q->clock) + ATTEMPT_LOOK_NS)
				      : until_ns;
}

#endif
