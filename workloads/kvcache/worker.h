/* I/O threads of a key-value cache. Each has one operation at a time, which the main thread gives it, and a queue per store of
 * the phase. So an operation that takes long, such as a commit that makes 1 GiB durable, keeps nobody else waiting.
 *
 *	main thread                     I/O thread
 *	fills in the task, posts ─────► does it
 *	takes the bits of those ◄────── sets its bit, posts
 *	that have answered
 *
 * A task belongs to the I/O thread from the one post to the other bit, and else to the main thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_WORKER_H
#define HAUL_WORKLOADS_KVCACHE_WORKER_H

#include <semaphore.h>

#include "core/content/pattern.h"
#include "workloads/common/crew.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/kvcache/tiers/memory.h"
#include "workloads/kvcache/tiers/operations.h"

/* Where the bytes of an entry come from, or go to. KV_TIER_GPU: nowhere; then bytes are made, or dropped. */
struct kv_end {
	enum kv_tier_kind kind;
	uint32_t tier;
	uint32_t block; /* KV_TIER_CPU: the first one of the entry */
};

/* How long an entry took. device: the part that was the store's, in which the thread neither made nor compared nor copied bytes;
 * of a write, the part that made it durable. 0: it cannot be told. */
struct kv_times {
	uint64_t begin_ns, end_ns, device_ns;
};

struct kv_task {
	struct kv_operation what; /* bytes: those of this rank's shard */
	bool counts;              /* it is measured */
	uint32_t number;          /* of the operation; KV_NONE in a rank that follows */
	uint32_t slot;            /* of the board of the tensor group; KV_NONE: the rank is alone */
	struct kv_end from, to;
	/* The answer. */
	int rc;
	struct kv_times times;
};

enum kv_window_state { KV_WINDOW_FREE, KV_WINDOW_READS, KV_WINDOW_WRITES };

/* A piece of an entry under way. */
struct kv_window {
	struct request req;
	enum kv_window_state state;
	void *buffer; /* of its own; NULL: nobody needs bytes */
	void *data;   /* where the piece is: the buffer, or a block of memory */
	uint64_t at, length;
};

/* What a thread counts, in crew_thread.counts. */
enum kv_worker_count {
	KV_WORKER_PAYLOAD_ERRORS,
	KV_WORKER_FILL_NS,
	KV_WORKER_VERIFY_NS,
	KV_WORKER_COPY_NS
};

/* What all threads of a rank share; read-only while they work, but for what is atomic. */
struct kv_work {
	const struct kv_setup *setup;
	struct store *stores; /* [setup->store_count] */
	struct kv_memory *memory;
	struct pattern pattern; /* without its key */
	uint64_t seed;
	char prefix[KV_TIERS_MAX][OBJECT_KEY_BYTES]; /* of objects, see kv_object_key */
	struct kv_worker *workers;
	_Atomic bool ending;
	sem_t *arrived; /* posted for each answer: own_arrived, or that of this rank's tensor group */
	sem_t own_arrived;
	_Atomic uint64_t answered[KV_THREADS_MAX / 64];
};

struct kv_worker {
	struct kv_work *work;
	struct crew_thread *member;
	struct queue more[KV_STORES_MAX - 1]; /* those of the stores behind the first one */
	struct queue *queues[KV_STORES_MAX];
	sem_t given;
	struct kv_task task;

	/* Of the task. */
	struct object from, to;
	struct pattern pattern;
	struct kv_window *windows; /* [depth] */
	struct request **reaped;   /* [depth] */
	uint64_t next;             /* the byte at which the next piece begins */
	uint32_t block;            /* its block of memory */
	uint32_t busy;             /* windows in use */
	uint64_t draws;
	uint64_t
		sync_ns; /* the part of its commit that made it durable; 0: none, or nobody knows */
	int rc;          /* the first error of all tasks */
};

/* Memory of a thread. */
uint64_t kv_worker_bytes(const struct kv_setup *s);
/* Bytes of a window's buffer; 0: no store keeps bytes. */
uint64_t kv_window_bytes(const struct kv_setup *s, const struct store *stores);

/* The workers of a crew that is open: opens their other queues. Call kv_workers_close before crew_close, also after an
 * error. */
int kv_workers_open(struct kv_work *work, struct crew *crew, struct err *err);
void kv_workers_close(struct kv_work *work, const struct crew *crew);

/* The body of the crew. It ends when work->ending is set and `given` is posted. */
int kv_worker_run(struct crew_thread *member, uint64_t number);

/* Does the worker's task (transfer.c). */
void kv_transfer(struct kv_worker *w);

extern const struct meter_layout kv_meter;

#endif
