/* SPDX-License-Identifier: Apache-2.0 */
/* Request source of the profile mlperf-v3: users who think, ask, and wait for nobody (an open loop), on a virtual clock.
 *
 * Users are state machines in a heap by the time of their next request. A user's draws are functions of (seed, user,
 * number of the draw). Their traits come from a lattice (Richtmyer: the nth user has the fractional parts of n times the
 * roots of primes, moved by the seed), so that each trait has the stated distribution, independent of the others, and
 * few users already offer nearly the load that many would.
 *
 *	source.c          users, their requests; documents for retrieval (RAG)
 *	source_options.c  options, and what the defaults are
 *	arrivals.c        recorded requests, which may take the place of those of users
 *	steps.h           what one request asks of the cache
 *
 * The original draws prompts and retrievals when a request is served. Here the request has them from the beginning, so
 * the list of requests does not depend on how fast they are served. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_SOURCE_H
#define HAUL_WORKLOADS_KVCACHE_SOURCE_H

#include <stdbool.h>

#include "core/content/random.h"
#include "core/heap.h"
#include "core/list.h"
#include "workloads/kvcache/requests/arrivals.h"
#include "workloads/kvcache/requests/source_options.h"
#include "workloads/kvcache/tiers/entries.h"
#include "workloads/model/kv_model.h"

/* Documents for retrieval (RAG): their sizes and chunks as functions of a number, and the draw of
 * the chunks that a request reads. Owned by the request source. */
struct kv_documents {
	const struct kv_rag_options *options;
	uint64_t seed;
	uint64_t tokens_min, tokens_max, chunk_tokens;
	uint64_t *weights; /* [chunks + 1]: [n] is the sum of the weights of the first n chunks */
};

/* What a request reads of a document. */
struct kv_retrieval {
	uint32_t document, count; /* count 0: nothing */
	uint32_t chunks[KV_RETRIEVED_MAX];
};

/* Returns 0, -EINVAL (a document has more than KV_CHUNKS_MAX chunks) or -ENOMEM, with a
 * sentence. */
int kv_documents_open(struct kv_documents *d, const struct kv_rag_options *options,
		      const struct model *model, uint64_t seed, const char *path, struct err *err);
void kv_documents_close(struct kv_documents *d);

uint64_t kv_document_chunks(const struct kv_documents *d, uint32_t document);
uint64_t kv_document_chunk_tokens(const struct kv_documents *d, uint32_t document, uint32_t chunk);

/* Draws chunks of the document, without repetition, in the order in which they are read. */
void kv_documents_retrieve(const struct kv_documents *d, uint32_t document, struct random *r,
			   struct kv_retrieval *out);
/* Tokens of all of them. */
uint64_t kv_retrieval_tokens(const struct kv_documents *d, const struct kv_retrieval *r);

#define KV_NEVER UINT64_MAX

enum kv_request_kind {
	KV_REQUEST_PREFILL,        /* a context so long that it is only written */
	KV_REQUEST_PREFILL_DECODE, /* written, then read for each batch of tokens */
	KV_REQUEST_DECODE,         /* read; written where it is missing */
	KV_REQUEST_INGEST          /* a document is cut into chunks, which are written */
};

struct kv_request {
	uint64_t number; /* in the order of due times */
	uint64_t due_ns;
	struct kv_id id;            /* the entry of the request */
	uint64_t conversation;      /* when it began, in ms of the epoch */
	uint32_t user, turn;        /* turn: from 1 on; 0 outside of conversations */
	uint32_t context, generate; /* tokens */
	uint32_t prompt;            /* from 1 on; 0: none */
	uint32_t stored;            /* decode only: the entry that is read */
	uint32_t kind, template, class;
	struct kv_retrieval retrieval;
};

struct kv_user {
	struct list_link conversation_link; /* among the conversations by their last turn */
	uint64_t due_ns;                    /* of the next request */
	uint64_t think_ns, draws;
	uint64_t conversation; /* when it began, in ms of the epoch; kept when it ends */
	uint32_t context, generate;
	uint32_t turn; /* of the conversation; 0: none */
	uint8_t template, class;
	bool waiting; /* in the heap */
};

struct kv_source {
	/* Of the recorded requests so far: those that were cut, and the tokens that were cut off. */
	struct {
		uint64_t requests, tokens, generate;
	} cut;
	const struct kv_source_options *options;
	struct kv_documents documents;
	struct arrivals arrivals; /* recorded requests, where the options name a file */
	uint64_t seed, epoch_ms;
	struct kv_user *users;
	struct heap waiting;      /* users by the time of their next request */
	uint32_t made, active;    /* users: made so far; those that ask */
	struct list by_last_turn; /* users in a conversation */
	uint32_t conversations;
	uint64_t number;
	uint32_t ingested;
	bool extra; /* a request for a document follows at once */
	struct kv_request next_extra;
	/* Bounds of 64 random bits. */
	uint64_t templates[KV_TEMPLATES_MAX], classes[KV_CLASSES_MAX], conversation_ends,
		has_prompt, has_retrieval;
};

/* Options must have passed kv_source_check, and live as long as the source. epoch_ms: the time at
 * which the virtual clock is 0. path: that of the options, for messages. Returns 0, -EINVAL or
 * -ENOMEM, with a sentence. */
int kv_source_open(struct kv_source *s, const struct kv_source_options *options,
		   const struct model *model, uint64_t seed, uint64_t epoch_ms, const char *path,
		   struct err *err);
void kv_source_close(struct kv_source *s);
/* Once after kv_source_open: the documents are those of this seed, and so the same for all sources
 * that are given it. */
void kv_source_common(struct kv_source *s, uint64_t seed);
/* For options with arrivals, once after kv_source_open: opens their file, of whose rows this source
 * has each parts-th from `part` on. Returns what arrivals_open does, with the path of the options
 * and of the file before it. */
int kv_source_recorded(struct kv_source *s, uint32_t part, uint32_t parts, const char *path,
		       struct err *err);

/* The same of arrivals alone. */
int kv_recorded_open(struct arrivals *a, const struct kv_arrivals_options *o, uint32_t part,
		     uint32_t parts, const char *path, struct err *err);

/* Reads recorded requests to find what is wrong with them, and says what they are. "": there are
 * none, or the file is not on this machine. */
int kv_source_tell(const struct kv_source_options *o, const char *path,
		   char out[ARRIVALS_TEXTS][ARRIVALS_TEXT_BYTES], struct err *err);

/* When the next request is due, or KV_NEVER; and takes it. */
uint64_t kv_source_due(const struct kv_source *s);
void kv_source_next(struct kv_source *s, struct kv_request *out);

/* Sets how many users ask from now on, at most users_most of the options. */
void kv_source_scale(struct kv_source *s, uint32_t users, uint64_t now_ns);

/* Tokens of a prompt. */
uint32_t kv_source_prompt_tokens(const struct kv_source *s, uint32_t prompt);

#endif
