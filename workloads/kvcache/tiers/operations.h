/* Operations under way: what tiers ask of stores, in an order in which each entry stays right, and otherwise side by side.
 *
 * An operation may begin when others have ended:
 *
 *	chain   the one before it of the same step of a request: first victims leave, then the entry is written
 *	entry   the earlier ones of the same entry; reads of an entry wait only for those that change it
 *
 * One that `asks` also waits until it is admitted. None ever waits for one that was added later, so no two wait for each other.
 *
 * Those that may begin wait in a queue per rank of priority, first come, first served. An entry may be gone from the tiers
 * while its operations are still under way, and come back: they are told apart by its id.
 *
 * Numbers of operations are used again after kv_operations_end. One thread: the main thread hands operations that it has
 * taken to I/O threads, and ends them when they come back. */
#ifndef HAUL_WORKLOADS_KVCACHE_OPERATIONS_H
#define HAUL_WORKLOADS_KVCACHE_OPERATIONS_H

#include <stdbool.h>

#include "workloads/kvcache/tiers/entries.h"

enum { KV_PRIORITIES = 9 };

enum kv_operation_kind {
	KV_OPERATION_READ,
	KV_OPERATION_WRITE,
	KV_OPERATION_MOVE, /* read from `from`, written to `to`, deleted from `from` */
	KV_OPERATION_DELETE
};

/* What has come of an operation that writes. */
enum kv_outcome {
	KV_OUTCOME_DONE,
	KV_OUTCOME_FAILED, /* some of it may be there */
	KV_OUTCOME_DROPPED /* it was never begun */
};

struct kv_operation {
	/* Of the caller. */
	enum kv_operation_kind kind;
	uint32_t from, to; /* tiers */
	uint32_t priority; /* 0: first */
	uint32_t owner;    /* the request that asked for it; KV_NONE */
	enum kv_outcome outcome;
	bool promotes; /* a write of what was read from a slower tier, or the delete that follows it */
	bool asks;     /* it may not begin before kv_operations_admit */
	uint64_t bytes;
	uint64_t asked_ns;
	uint64_t begins_ns, ends_ns; /* on the bus of an accelerator */
	struct kv_id id;

	/* Used by this module. */
	uint32_t waits; /* for so many: the one before it in its chain, and to be admitted */
	bool held;      /* waits for earlier ones of its entry */
	uint32_t chain; /* the next one in its chain */
	uint32_t before, after; /* of its entry */
	/* In the queue of those that may begin, or among the free ones. The caller's from kv_operations_take on. */
	uint32_t next;
};

/* The operations of an entry, in their order: first those that have been let go, then those that are held. */
struct kv_line {
	struct kv_id id;
	uint32_t first, last, held; /* held: the first one; KV_NONE */
	uint32_t next;              /* in its bucket, or among the free ones */
};

struct kv_fifo {
	uint32_t first, last;
};

struct kv_operations {
	struct kv_operation *operations;
	struct kv_line *lines; /* as many as operations: an operation has one entry */
	uint32_t *buckets;     /* lines by id: [bucket_count], a power of two */
	uint32_t room, bucket_count;
	uint32_t free_operation, free_line;
	uint32_t under_way; /* added and not ended */
	struct kv_fifo ready[KV_PRIORITIES];
};

/* room: operations at first; there may be more. Returns 0 or -ENOMEM. */
int kv_operations_init(struct kv_operations *o, uint32_t room);
void kv_operations_free(struct kv_operations *o);

static inline struct kv_operation *kv_operation_at(const struct kv_operations *o, uint32_t number)
{
	return &o->operations[number];
}

/* Adds an operation; after: the one before it in its chain, which has not ended and which no other follows, or KV_NONE.
 * Returns its number, or KV_NONE: no memory. Moves operations in memory. */
uint32_t kv_operations_add(struct kv_operations *o, const struct kv_operation *what,
			   uint32_t after);

/* An operation that asks may begin, as far as this module is concerned. Its kind, tiers and priority may be changed until then. */
void kv_operations_admit(struct kv_operations *o, uint32_t number);

/* Takes the next one that may begin, of the first so many priorities; KV_NONE: there is none. */
uint32_t kv_operations_take(struct kv_operations *o, uint32_t priorities);

/* It has ended, as it was taken. */
void kv_operations_end(struct kv_operations *o, uint32_t number);

#endif
