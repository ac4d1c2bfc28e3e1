/* SPDX-License-Identifier: Apache-2.0 */
/* Profile serving: a server of a language model whose cache keeps blocks of tokens, each an object of a store that all ranks
 * share. It runs in place of the tiers, on the same main thread and the same I/O threads.
 *
 *	prompt ─► waits ─► lookup ─► fetch ─────► compute ─► first token ─► answer ─► the user thinks
 *	          (queue)  which     the blocks   the rest       │
 *	                   blocks    that are     of the         └─► blocks that were missing: written behind the request,
 *	                   are there there        tokens             or dropped where too many wait already
 *
 * The store itself answers whether a block is there (stat, HEAD); only where it keeps nothing (null, sim), or blocks lie in slots of a file
 * or in buckets of the rank's own, a rank goes by what it has written. The first block that is missing ends the prefix.
 *
 *	time to first token = queue + lookup + computing the tokens that were missing + stall
 *	stall = the greatest of (arrival of a layer − its deadline), where it is above 0
 *
 * Layer l of L is due when those before it are computed: after l / L of the time that the missing tokens take. Without layers,
 * all of a fetch is due at its beginning. */
#ifndef HAUL_WORKLOADS_KVCACHE_SERVER_H
#define HAUL_WORKLOADS_KVCACHE_SERVER_H

#include "workloads/kvcache/requests/lru.h"
#include "workloads/kvcache/requests/prompts.h"
#include "workloads/kvcache/run.h"
#include "workloads/kvcache/serving/layout.h"

/* What a rank does. With decode_ranks, each rank of the first half computes prompts, and the one that has
 * its place in the second half fetches what it has written, and has the first tokens. */
enum kv_role { KV_ROLE_BOTH, KV_ROLE_PREFILL, KV_ROLE_DECODE };

enum kv_prefill_stage {
	KV_PREFILL_LOOKUP,
	KV_PREFILL_FETCH,
	KV_PREFILL_HANDED,  /* decoding: until it looks again for blocks that are not there yet */
	KV_PREFILL_COMPUTE, /* until its first token */
	KV_PREFILL_ANSWER   /* until its last one */
};

/* A prompt that is being served. */
struct kv_prefill {
	struct list_link link; /* among the free ones, or those that have something to send */
	struct kv_prompt prompt;
	enum kv_prefill_stage stage;
	bool sends;
	uint32_t memory; /* leading blocks that memory has */
	uint32_t found;  /* leading blocks that are there, as far as is known */
	uint32_t held;   /* indexed: of them, those that are not to lose their slots or buckets */
	uint32_t next, under_way; /* the next block to look up or fetch; those under way */
	uint32_t fetched;         /* blocks behind those of memory that have come */
	uint64_t served_ns, looked_ns, ends_ns;
	uint64_t missing_ns;         /* computing the tokens that are not there */
	uint64_t fetch_ns, stall_ns; /* until the last block had come; see above */
	struct kv_layers layers;
	_Atomic uint32_t missed; /* of lookups given ahead: the first block that is not there */
};

/* Fetches so far, as a line: time = a + b * tokens, by least squares. */
struct kv_fetches {
	double count, tokens, ns, tokens_tokens, tokens_ns;
};

/* What is done next of a bucket (server_bucket.c). */
enum kv_bucket_step {
	KV_BUCKET_RESTS,
	KV_BUCKET_LOSES_META, /* of the one that goes for it */
	KV_BUCKET_LOSES_DATA,
	KV_BUCKET_WRITES_DATA,
	KV_BUCKET_WRITES_META,
	KV_BUCKET_DROPS_DATA /* its .meta could not be written */
};

/* The bucket that is being written. */
struct kv_writing {
	struct kv_bucket bucket;
	enum kv_bucket_step step;
	bool asked; /* the task of that step is under way */
	uint64_t number,
		lost; /* its own, or that of the last one; of the one that goes for it, 0: none */
	uint64_t meta_bytes;
	uint64_t begin_ns;
};

/* A server that is started anew (server_start.c). */
enum kv_start_step {
	KV_START_DUE, /* its time has not come, or something is under way */
	KV_START_INDEX,
	KV_START_BLOCKS,
	KV_START_LEFTOVERS, /* buckets without a .meta */
	KV_START_DONE
};

struct kv_starting {
	enum kv_start_step step;
	bool asked;            /* of this step, nothing more is to be asked */
	bool meta;             /* of the bucket, its .meta has been asked for */
	uint32_t next;         /* what is asked for next: a number in found, or a slot */
	uint64_t begin_ns, ns; /* ns 0: it has not ended */
	uint64_t bucket, blocks, lost;
	struct listing listing;
	bool (*named)(const char *name, uint64_t *number); /* the layout's */
	struct kv_lru found; /* blocks or buckets; also a thread's that lists */
};

struct kv_server {
	const struct kv_server_options *options;
	struct kv_prompts prompts;
	enum kv_role role;
	uint64_t block_bytes;
	uint64_t fetches_most; /* of a prompt at a time; 0: all */
	uint64_t served;       /* prompts, to their end */
	struct kv_lru memory;  /* blocks in front of the store */
	bool closed;           /* no prompt is served, since it is started anew */
	struct kv_starting starting;
	bool changed;          /* with slots: a block was written since the index was */
	uint64_t index_due_ns; /* when the index is written next, if it is; 0: not known yet */
	uint64_t index_copy, index_bytes; /* how often it was written; bytes of the last one */
	/* Those that this rank has written, and not deleted. With buckets, the age of one is the number of its bucket, and
	 * its bytes are where it begins there. */
	struct kv_lru written;
	/* By their numbers. The age of one is the number that its first block has in `written`, where the others follow
	 * it, and its bytes are how many there are. */
	struct kv_lru buckets;
	struct kv_writing writing;
	uint32_t together;    /* blocks that are written at a time: those of a bucket, else 1 */
	struct kv_lru queued; /* those that wait to be written, or are being written */
	/* `written` says what is there: the store keeps nothing, or blocks lie in slots or buckets, whose own index (`indexed`)
	 * is looked at in place of the store. */
	bool knows, indexed;
	const struct kv_slots *
		slots; /* of the rank's file; the number of a block in `written` is that of its slot */
	uint32_t ahead;         /* lookups given beyond those at a time, which a miss takes back */
	struct kv_prefill *all; /* [setup.served] */
	struct list free, sending;
	uint32_t busy;
	struct heap timed;          /* of struct kv_prefill by ends_ns */
	struct list waiting, spare; /* of struct kv_prompt */
	uint32_t waits, waited_most;
	uint64_t *pending; /* ring of keys that wait to be written, [pending_room] */
	uint32_t pending_first, pending_count, pending_room;
	struct kv_fetches fetches;
};

/* server_open.c. Opens the server of a rank, once its stores are open. Returns 0 or a negative
 * errno with a sentence. kv_server_close is allowed in any case. */
int kv_server_open(struct kv_run *r, struct err *err);
void kv_server_close(struct kv_run *r);
/* One more prompt may wait. Returns 0 or -ENOMEM. */
int kv_server_spare(struct kv_server *s);
/* What of a trace caches of several sizes would find, where the trace is on this machine. */
int kv_server_tell(const struct kv_setup *s, uint64_t seed, const char *path, struct arena *arena,
		   struct plan_told *out, struct err *err);
/* server_file.c. Makes and opens the file of slots of this rank, in its whole size; closes and removes it, and
 * returns how many files have stayed. */
int kv_server_file(struct kv_run *r, struct err *err);
uint64_t kv_server_file_remove(struct kv_run *r);
/* A slot for a block that is to be written; that which was used least recently may lose its own. Returns false
 * where there is none. */
bool kv_server_slot(struct kv_run *r, uint64_t key);
/* Writes the index of the slots where it is time, and blocks have changed. */
void kv_server_index(struct kv_run *r);
/* server_bucket.c. As kv_server_open does, and closes. */
int kv_server_buckets_open(struct kv_run *r);
void kv_server_buckets_close(struct kv_server *s);
/* Takes the next step of a bucket, where there is one and room for its task; and has the answer of that. */
void kv_server_bucket(struct kv_run *r);
void kv_server_bucket_answered(struct kv_run *r, const struct kv_task *t);
/* The number of the bucket of a block that is there; and where a task finds such a block. */
uint64_t kv_server_bucket_of(const struct kv_server *s, uint64_t key);
void kv_server_bucket_place(const struct kv_run *r, struct kv_task *t);
/* bucket: its place in the table. Its blocks are not there any more, though its files are. Returns how many they were. */
uint64_t kv_server_bucket_forget(struct kv_server *s, uint32_t bucket);
/* The bytes that the .meta of that bucket has, made in the place of the one that is written; none may be. */
uint64_t kv_server_bucket_meta(struct kv_server *s, uint64_t number);
/* Removes all buckets of this rank. Returns how many files have stayed. */
uint64_t kv_server_buckets_remove(struct kv_run *r);
/* Looks a prompt up in the rank's own index, and holds what it finds. And lets go of it. */
void kv_server_lookup(struct kv_run *r, struct kv_prefill *f);
void kv_server_let_go(struct kv_server *s, struct kv_prefill *f);
/* Removes what this rank has written. Returns how many blocks have stayed. Collective. */
uint64_t kv_server_remove(struct kv_run *r);

/* server_start.c. The next step of a server that is to be started anew; and the answer of a task of it. */
void kv_server_start(struct kv_run *r);
void kv_server_start_answered(struct kv_run *r, const struct kv_task *t);

/* server.c. One turn of the main thread; when there is something to do without an answer; and
 * whether nothing is under way any more. */
void kv_server_work(struct kv_run *r);
uint64_t kv_server_due(const struct kv_run *r);

/* server_measure.c. */
void kv_server_looked(struct kv_run *r, const struct kv_prefill *f);
void kv_server_first_token(struct kv_run *r, const struct kv_prefill *f);
void kv_server_served(struct kv_run *r, const struct kv_prefill *f);
void kv_server_own(const struct kv_run *r, struct tally *t);
/* The tokens from which on a fetch is faster than recomputing; 0: from the first one on;
 * UINT64_MAX: never, or it is not known. */
uint64_t kv_fetches_pay(const struct kv_fetches *f, uint64_t prefill);
/* How long a fetch of so many tokens takes; below 0: it is not known. */
double kv_fetches_ns(const struct kv_fetches *f, double tokens);

#endif
