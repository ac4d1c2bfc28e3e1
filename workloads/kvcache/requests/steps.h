/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a request: the accesses to the cache that a request makes, one after the other. The next one may depend on
 * whether the last one was a hit, so the owner asks for the next step when the last one is done:
 *
 *	prompt      read; written where it is missing
 *	turns       the earlier turns of the conversation are read
 *	prefill     the entry of the request is written
 *	retrieval   chunks of a document are read
 *	decode      the entry is read, and again for each batch of generated tokens; written where it is missing
 *
 * The original never writes a prompt, so it never finds one; here a prompt is written when it is missed. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_STEPS_H
#define HAUL_WORKLOADS_KVCACHE_STEPS_H

#include "workloads/kvcache/requests/source.h"

enum kv_step_kind { KV_STEP_READ, KV_STEP_WRITE, KV_STEP_DELETE };

/* Why an entry is accessed: hits are counted by it. */
enum kv_step_cause {
	KV_CAUSE_PROMPT,
	KV_CAUSE_TURN,
	KV_CAUSE_PREFILL,
	KV_CAUSE_RETRIEVAL,
	KV_CAUSE_DECODE,
	KV_CAUSE_INGEST,
	KV_CAUSES
};

struct kv_step {
	enum kv_step_kind kind;
	enum kv_step_cause cause;
	struct kv_id id;
	uint64_t tokens; /* of a write */
};

struct kv_steps {
	const struct kv_source *source;
	const struct kv_request *request;
	uint32_t part, next; /* what comes next: a part of the list above, and a number in it */
	uint64_t context;    /* tokens of the request without its prompt */
	bool missed;         /* the last step was a read that missed */
};

/* Source and request must live as long. */
void kv_steps_begin(struct kv_steps *s, const struct kv_source *source,
		    const struct kv_request *request);

/* The next step; false: there is none. hit: of the last step, when it was a read. */
bool kv_steps_next(struct kv_steps *s, bool hit, struct kv_step *out);

/* What a user asks of the cache, from the requests that the source makes: the first ones of the phase, as if all that they
 * read were there. One thread. */

struct kv_demand {
	double read, written; /* bytes per second of a user, on average */
	uint64_t request;     /* that a request reads and writes: the 95th percentile */
};

/* Requests that fall due before duration_ns, of at most as many users and requests as make an average. All 0: there are
 * none, or they are recorded ones. Options must have passed kv_source_check. -EINVAL or -ENOMEM, with a sentence. */
int kv_demand_of(const struct kv_source_options *options, const struct model *model, uint64_t seed,
		 uint64_t duration_ns, const char *path, struct kv_demand *out, struct err *err);

#endif
