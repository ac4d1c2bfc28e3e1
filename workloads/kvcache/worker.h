/* SPDX-License-Identifier: Apache-2.0 */
/* I/O threads of a key-value cache. Each has a queue per store of the phase, and up to `depth` operations at a time, all of which are
 * in flight in these queues side by side. So an operation that takes long keeps nobody else waiting: other threads in any case,
 * and other operations of its thread where the store does it side by side with them. Files open, commit and delete one at a time.
 *
 *	main thread                           I/O thread
 *	fills in a task, posts its number ─►  takes numbers from the ring, begins their tasks,
 *	                                      goes on with those whose requests have been answered
 *	takes the bits of those that          posts the number of a task that is done,
 *	have answered, then their numbers ◄─  sets the bit of the thread
 *
 * Both ways are rings (worker.h). Whoever has something to do does not sleep, and only a sleeper is woken: while a thread has
 * tasks, giving it another one takes no system call, and neither does answering a main thread that is awake. The main thread takes
 * all answers there are at once.
 *
 * Blocks of the profile serving that one thread moves alone are given a few ahead of what is in flight, so that it finds the next one
 * without waking the main thread, which it wakes once it has none ahead, or for an answer that a prompt waits for. Lookups behind
 * one that missed are given back unasked. Of several threads none has tasks that another one could begin.
 *
 * A task belongs to the I/O thread from the one post to the other, and else to the main thread. So do the counts of a thread
 * while it has no task: the main thread says when it rests (workloads/common/snapshot.h). */
#ifndef HAUL_WORKLOADS_KVCACHE_WORKER_H
#define HAUL_WORKLOADS_KVCACHE_WORKER_H

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/content/pattern.h"
#include "core/list.h"
#include "core/part.h"
#include "workloads/common/slots.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/kvcache/serving/layout.h"
#include "workloads/kvcache/tiers/memory.h"
#include "workloads/kvcache/tiers/operations.h"

/* Loads of I/O threads: which of them gets the next operation. It is one that has the fewest, so that nothing waits behind an
 * operation that takes long while another thread is idle; of several, the one that became so last, whose memory is still in the caches.
 *
 *	with[0] ─► thread 2 ─► thread 5        idle
 *	with[1] ─► thread 0                    one operation each
 *	with[2] ─► …
 *
 * O(1). One thread: the main thread. */

struct kv_load {
	struct list_link link; /* among the threads with as many operations */
	uint32_t operations;
};

struct kv_loads {
	uint32_t most;          /* operations of a thread */
	uint32_t least;         /* the load of the thread that is next; most: all are full */
	struct kv_load *thread; /* [threads] */
	struct list *with;      /* [most + 1]: the threads by their operations */
};

/* threads, most: at least 1. Returns 0 or -ENOMEM; kv_loads_close is allowed then, too. */
int kv_loads_open(struct kv_loads *l, uint32_t threads, uint32_t most);
void kv_loads_close(struct kv_loads *l);

/* Whether a thread can take one more. */
static inline bool kv_loads_room(const struct kv_loads *l)
{
	return l->least < l->most;
}

/* The thread that gets one more operation. There must be room. */
uint32_t kv_loads_take(struct kv_loads *l);
/* It has done one. Returns whether it is idle now. */
bool kv_loads_done(struct kv_loads *l, uint32_t thread);

/* Hand-over between two threads without a lock, and without a system call while both have work: a ring of numbers, and a bell for
 * the one that sleeps.
 *
 *	writer                                   reader
 *	fills in what a number stands for
 *	places[n] = number, posted = n + 1 ───►  sees posted, takes the number, works
 *	rings the bell                           nothing there: arms the bell, looks again, sleeps
 *
 * Order in memory. What was written before kv_ring_post is seen after kv_ring_take (release, acquire). The bell rests on two pairs
 * of a store and a later load, all sequentially consistent: the writer stores `posted` and loads `asleep`, the reader stores
 * `asleep` and loads `posted`. In the one order that all of them have, the store that comes second is followed by a load that sees the
 * first one. So either the writer finds a sleeper to wake, or the reader finds the number and does not sleep. A bell that
 * was rung for a reader that did not sleep after all leaves a count in its semaphore, and a later sleep ends at once.
 *
 * The ring has no bound of its own: a writer never has more numbers under way than it was opened for. A number is under way until its
 * reader has answered by other means, and so a place is free again when it is needed. */

enum { KV_RING_LINE = 64 };

struct kv_ring {
	uint32_t *places; /* [mask + 1] */
	uint32_t mask;
	/* Of the writer. Each side has its own cache lines. */
	char before_posted[KV_RING_LINE];
	_Atomic uint64_t posted; /* numbers, ever */
	char before_taken[KV_RING_LINE];
	uint64_t taken; /* of the reader */
	char behind[KV_RING_LINE];
};

/* most: numbers that are under way at a time. Returns 0 or -ENOMEM. */
static inline int kv_ring_open(struct kv_ring *r, uint32_t most)
{
	uint32_t places = 1;

	while (places < most)
		places *= 2;
	*r = (struct kv_ring){.mask = places - 1};
	r->places = calloc(places, sizeof(*r->places));
	return r->places ? 0 : -ENOMEM;
}

static inline void kv_ring_close(struct kv_ring *r)
{
	free(r->places);
	r->places = NULL;
}

/* Writer. */
static inline void kv_ring_post(struct kv_ring *r, uint32_t number)
{
	uint64_t posted = atomic_load_explicit(&r->posted, memory_order_relaxed);

	r->places[posted & r->mask] = number;
	atomic_store_explicit(&r->posted, posted + 1, memory_order_seq_cst);
}

/* Reader: whether there is a number; after kv_bell_arm, too. */
static inline bool kv_ring_has(const struct kv_ring *r)
{
	return atomic_load_explicit(&r->posted, memory_order_seq_cst) != r->taken;
}

/* Reader: takes the next number. Returns false where there is none. */
static inline bool kv_ring_take(struct kv_ring *r, uint32_t *number)
{
	if (atomic_load_explicit(&r->posted, memory_order_acquire) == r->taken)
		return false;
	*number = r->places[r->taken++ & r->mask];
	return true;
}

struct kv_bell {
	_Atomic bool asleep;
	sem_t *sem;
};

/* Whoever has stored something for the sleeper, by a sequentially consistent operation. Any
 * thread. */
static inline void kv_bell_ring(struct kv_bell *b)
{
	if (atomic_load_explicit(&b->asleep, memory_order_seq_cst) &&
	    atomic_exchange_explicit(&b->asleep, false, memory_order_seq_cst))
		sem_post(b->sem);
}

/* The sleeper, before it looks for the last time and waits for the semaphore; and afterwards. */
static inline void kv_bell_arm(struct kv_bell *b)
{
	atomic_store_explicit(&b->asleep, true, memory_order_seq_cst);
}

static inline void kv_bell_disarm(struct kv_bell *b)
{
	atomic_store_explicit(&b->asleep, false, memory_order_relaxed);
}

/* Where the bytes of an entry come from, or go to. KV_TIER_GPU: nowhere; then bytes are made, or
 * dropped. */
struct kv_end {
	enum kv_tier_kind kind;
	uint32_t tier;
	uint32_t block; /* KV_TIER_CPU: the first one of the entry */
};

/* How long an entry took. device: the part that was the store's, in which the thread neither made
 * nor compared nor copied bytes of this entry; of a write, the part that made it durable. 0: it
 * cannot be told. */
struct kv_times {
	uint64_t begin_ns, end_ns, device_ns;
};

/* When the parts of entries that belong to each layer of the model had come: the last of them all.
 * The threads raise it; the main thread reads it once nothing is under way. */
struct kv_layers {
	uint32_t count;
	uint64_t bytes;          /* of a layer in an entry */
	_Atomic uint64_t *at_ns; /* [count] */
};

struct kv_task {
	struct kv_operation what;       /* bytes: those of this rank's shard */
	bool counts;                    /* it is measured */
	struct kv_operation *operation; /* NULL in a rank that follows */
	uint32_t slot; /* of the board of the tensor group; KV_NONE: the rank is alone */
	struct kv_end from, to;
	/* Of the profile serving: who asks, for which block; NULL: nobody waits for it. */
	void *owner;
	uint32_t block;
	const struct kv_layers *layers; /* NULL: nobody asks when they came */
	_Atomic uint32_t
		*missed; /* what of a prompt lies behind this block is not asked for; or NULL */
	uint64_t
		at; /* where the block begins in the rank's file of slots, or in that of its bucket; else 0 */
	struct kv_id file; /* with buckets: the file of one that is read, written or deleted */
	const struct kv_bucket *bucket; /* which is written, or whose .meta is read; else NULL */
	bool header;                    /* of a slot, only its header is read */
	struct listing *
		listing; /* the folder is listed in place of a lookup; the owner is the user of the request */
	bool quiet; /* its answer wakes nobody while its thread has tasks that it has not begun */
	/* The answer. */
	int rc;
	bool absent;  /* it is not there: no error where that was asked, or another rank deletes */
	bool present; /* a write found it there, and has left it */
	struct kv_times times;
};

enum kv_window_state {
	KV_WINDOW_ASKS, /* for anything but bytes: open, commit, delete … */
	KV_WINDOW_READS,
	KV_WINDOW_WRITES
};

/* A request under way, and the piece of an entry that it moves. There are as many as the queues are
 * deep, so no queue ever has more. */
struct kv_window {
	struct slot slot; /* its buffer is NULL where nobody needs bytes */
	enum kv_window_state state;
	struct kv_transfer *of;
	struct queue *queue; /* which has the request */
	void *data;          /* where the piece is: the buffer, or a block of memory */
	uint64_t at, length;
	uint64_t head; /* bytes of the slot's header that go with it, in front of data */
	uint64_t pad;  /* zeroes behind the block, to the end of its page */
};

/* What of an entry is done, in this order; those that do not apply to it are left out (stages.c). */
enum kv_entry_stage {
	KV_ENTRY_STAT,
	KV_ENTRY_OPEN,
	KV_ENTRY_BEGIN,
	KV_ENTRY_PIECES,
	KV_ENTRY_CLOSE,
	KV_ENTRY_COMMIT,
	KV_ENTRY_ABORT,
	KV_ENTRY_DELETE,
	KV_ENTRY_DONE
};

/* A task of an I/O thread while it is done (transfer.c). */
struct kv_transfer {
	struct list_link link; /* among those that may have something to send, if it `wants` */
	struct kv_task task;
	enum kv_entry_stage stage;
	bool asked;         /* the request of the stage is under way */
	bool opened, begun; /* `from` must be closed; `to` committed, or given up */
	struct object from, to;
	struct pattern pattern;
	char ending[KV_ENDING_BYTES]; /* of the file that is written, as the layout has it */
	uint64_t next;                /* the byte at which the next piece begins */
	uint64_t head;                /* bytes of the slot's header that have not been sent */
	uint32_t block;               /* its block of memory */
	uint32_t busy;                /* pieces under way */
	uint64_t host_ns;
	uint64_t
		sync_ns; /* the part of its commit that made it durable; 0: none, or nobody knows */
	bool wants;
};

/* What a thread counts, in crew_thread.counts. */
enum kv_worker_count {
	KV_WORKER_PAYLOAD_ERRORS,
	KV_WORKER_FILL_NS,
	KV_WORKER_VERIFY_NS,
	KV_WORKER_COPY_NS,
	KV_WORKER_SAMPLED_BYTES, /* what the page cache had of entries that were read */
	KV_WORKER_RESIDENT_BYTES
};

/* What all threads of a rank share; read-only while they work, but for what is atomic. */
struct kv_work {
	const struct kv_setup *setup;
	struct store *stores; /* [setup->store_count] */
	struct kv_memory *memory;
	struct pattern pattern; /* without its key */
	uint64_t seed;
	const struct kv_layout *layout; /* profile serving; else NULL */
	bool keeps;                     /* the first store tells what is there */
	struct object file;             /* the rank's file, open, where blocks lie in slots */
	char prefix[KV_TIERS_MAX][OBJECT_KEY_BYTES]; /* of objects, see kv_object_key */
	void (*object_key)(const struct kv_work *work, uint32_t tier, struct kv_id id,
			   char key[OBJECT_KEY_BYTES]);
	struct kv_worker *workers;
	_Atomic bool ending;
	sem_t *arrived; /* where the main thread sleeps: own_arrived, or that of this rank's tensor group */
	sem_t own_arrived;
	struct kv_bell bell; /* wakes it there */
	_Atomic uint64_t answered[KV_THREADS_MAX / 64];
};

struct kv_worker {
	struct kv_work *work;
	struct crew_thread *member;
	struct queue more[KV_STORES_MAX - 1]; /* those of the stores behind the first one */
	struct queue *queues[KV_STORES_MAX];
	struct kv_ring given, answers;
	struct kv_bell bell;
	sem_t sem;
	/* [kv_worker_tasks], by the number of their task in both rings; the task itself changes hands as said
	 * above */
	struct kv_transfer *transfers;

	/* Of the main thread: numbers of tasks that are free. */
	uint32_t *free; /* [kv_worker_tasks] */
	uint32_t free_count;

	/* Of the I/O thread. */
	struct list wanting;
	uint32_t under_way;   /* transfers that are not done */
	struct slots windows; /* of struct kv_window; their loop is transfer.c's own */
	uint32_t in_flight;   /* windows that are not free */
	uint32_t turn;        /* of the queue that is waited for, where several have requests */
	uint64_t patience_ns;
	uint64_t draws;
	struct residency residency; /* of entries that are read */
	int rc;                     /* the first error of all tasks */
};

/* I/O threads: a piece that begins at that byte has come. */
static inline void kv_layers_raise(const struct kv_layers *l, uint64_t at, uint64_t done_ns)
{
	_Atomic uint64_t *at_ns = &l->at_ns[at / l->bytes];
	uint64_t seen_ns = atomic_load_explicit(at_ns, memory_order_relaxed);

	while (seen_ns < done_ns &&
	       !atomic_compare_exchange_weak_explicit(at_ns, &seen_ns, done_ns,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/* What a request asks for beside the rest, where blocks lie as another program has them. */
static inline void kv_transfer_layout(const struct kv_worker *w, struct kv_transfer *t,
				      struct request *req)
{
	const struct kv_layout *l = w->work->layout;

	if (l && req->op == REQ_STAT)
		req->only_exists = l->only_exists;
	if (!l || req->op != REQ_BEGIN)
		return;
	kv_layout_ending(l, l->draws ? part_draw() : 0, t->ending);
	req->begin.ending = l->temporary ? t->ending : NULL;
	req->begin.fresh = l->draws;
}

/* Whether a block before that of the task was looked up, and was not there. */
static inline bool kv_task_missed(const struct kv_task *t)
{
	return t->missed && atomic_load_explicit(t->missed, memory_order_relaxed) < t->block;
}

/* Where other ranks make and delete entries, one that is not there is an answer. Returns whether it
 * is that, and notes it. */
static inline bool kv_transfer_absent(const struct kv_worker *w, struct kv_transfer *t, int status)
{
	struct kv_task *task = &t->task;

	if (status != -ENOENT || !w->work->setup->looks_before_writes ||
	    (t->stage != KV_ENTRY_STAT && t->stage != KV_ENTRY_OPEN &&
	     t->stage != KV_ENTRY_DELETE && t->stage != KV_ENTRY_COMMIT))
		return false;
	/* Another rank has written the same block through the same temporary file. */
	task->present = t->stage == KV_ENTRY_COMMIT;
	task->absent = task->what.kind != KV_OPERATION_WRITE;
	if (task->absent && task->missed && !kv_task_missed(task))
		atomic_store_explicit(task->missed, task->block, memory_order_relaxed);
	if (t->stage == KV_ENTRY_OPEN)
		task->rc = -ENOENT;
	return true;
}

/* Tasks that a thread is given at a time, of which as many as the depth are under way. */
enum { KV_TASKS_AHEAD = 16 };
static inline uint32_t kv_worker_tasks(const struct kv_setup *s)
{
	bool ahead = s->options->profile == KV_PROFILE_SERVING && s->options->threads == 1;

	return (uint32_t)s->options->depth + (ahead ? KV_TASKS_AHEAD : 0);
}

/* Memory of a thread. */
uint64_t kv_worker_bytes(const struct kv_setup *s);
/* Bytes of a window's buffer; 0: no store keeps bytes. */
uint64_t kv_window_bytes(const struct kv_setup *s, const struct store *stores);

/* The workers of a crew that is open: opens their other queues. Call kv_workers_close before
 * crew_close, also after an error. */
int kv_workers_open(struct kv_work *work, struct crew *crew, struct err *err);
void kv_workers_close(struct kv_work *work, const struct crew *crew);

/* Main thread: gives a worker a task; it must have a number free. And takes the number of one that
 * is done, or returns false. The task may be looked at until kv_worker_free. */
void kv_worker_give(struct kv_worker *w, const struct kv_task *task);
bool kv_worker_answered(struct kv_worker *w, uint32_t *number);
static inline void kv_worker_free(struct kv_worker *w, uint32_t number)
{
	w->free[w->free_count++] = number;
}
/* Main thread: takes the bits of 64 workers with answers, from number 64 * word on. And sleeps
 * until that time, unless there are any. */
uint64_t kv_work_answered(struct kv_work *work, uint32_t word);
void kv_work_sleep(struct kv_work *work, uint32_t threads, uint64_t until_ns);
/* Main thread, once no task is under way: lets all bodies end. */
void kv_work_end(struct kv_work *work, uint32_t threads);

/* The body of the crew, in transfer.c. It ends after kv_work_end. */
int kv_worker_run(struct crew_thread *member, uint64_t number);
/* The worker's: a task is done. */
void kv_worker_answer(struct kv_worker *w, uint32_t number);

extern const struct meter_layout kv_meter;

#endif
