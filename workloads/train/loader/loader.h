/* A loader: who takes which unit of work, and in what order the main thread gets batches.
 *
 *	kind      unit     taken by                    on their way at once in a worker
 *	pytorch   batch    worker k % W, in order      one sample, in `depth` requests
 *	sample    sample   whoever is free             one sample, in `depth` requests
 *	batch     batch    worker k % W, in order      `depth` samples of the batch
 *	stream    batch    all, each its files' part   one sample of each of its files
 *
 * pytorch is torch's DataLoader. sample is tf.data's map and interleave and DALI's thread pool: the
 * results are put in order again. batch is a batch read at once: PyDAOS's, s3dlio's window. stream is
 * tf.data's TFRecordDataset: files read from one end to the other, several side by side.
 *
 * The main thread gets batch k from slot k % slots. Work begins on a credit and a credit returns when
 * the main thread takes the batch: with pytorch and batch each worker builds or holds at most `prefetch`
 * batches (torch's prefetch_factor), with sample and stream all of them together do. Nothing is prefetched across
 * epochs. Torch starts its worker processes anew each epoch; here the threads stay and only their work
 * starts anew. With pin_memory one more thread copies each batch before the main thread gets it.
 *
 * With 0 workers the batch is built, and copied, in the main thread when it is asked for. The threads
 * inherit the binding of the thread that calls loader_open; all calls are the main thread's. */
#ifndef HAUL_WORKLOADS_TRAIN_LOADER_LOADER_H
#define HAUL_WORKLOADS_TRAIN_LOADER_LOADER_H

#include <pthread.h>
#include <semaphore.h>

#include "core/credits.h"
#include "workloads/train/loader/pin_copy.h"
#include "workloads/train/loader/reader.h"

enum loader_kind { LOADER_PYTORCH, LOADER_SAMPLE, LOADER_BATCH, LOADER_STREAM };

struct loader_options {
	enum loader_kind kind;
	uint32_t workers, prefetch; /* prefetch at least 1 */
	bool pin_memory;
	uint64_t window, batch; /* of any epoch at most; window 0: none ever */
	uint32_t interleave;    /* stream */
};

/* A thread of the loader: at rest until it is told to go. */
struct loader_thread {
	struct loader *loader;
	void (*epoch)(struct loader_thread *t);
	uint32_t index;
	sem_t go, rest;
	pthread_t thread;
	bool started;
};

/* Where workers take work from: one for each, or one for all. Units are counted on from their first to
 * the epoch's last. On lines of their own: all workers may write here. */
struct work_queue {
	_Alignas(64) struct credits credits;
	_Atomic uint64_t next;
};

/* Batch k's place, k % slots. */
struct batch_slot {
	_Alignas(64) sem_t filled, pinned;
	_Atomic uint64_t left; /* units */
	uint32_t last;         /* the worker that ended it: the one waited for */
	struct batch batch;    /* pinned */
};

struct loader {
	struct awaited awaited;
	struct loader_options options;
	struct reader_options reader_options; /* of all workers */
	struct assignment assignment;
	struct reader *workers;        /* [reader_count] */
	struct loader_thread *threads; /* the workers', then the copier's */
	struct work_queue *work_queues;
	struct batch_slot *slots;
	struct batch *parts; /* of a slot: one of each worker that builds it */
	/* Batches come out of it, taken by whoever gathers them. */
	struct shuffle_buffer window;
	struct arrival *arrivals; /* the window's, then batch a slot */
	struct pin_copy pin_copy;
	uint32_t reader_count, thread_count, work_queue_count, slot_count, part_count;
	uint64_t batch_items, queue_items; /* of a batch of the assignment: in all, of a lot */
	uint64_t next_number;
	bool busy;
	_Atomic bool cancel, quit;
};

/* reader_options: lanes, readers, wanted and cancel are set here. */
int loader_open(struct loader *l, const struct loader_options *options,
		const struct reader_options *reader_options, struct err *err);
void loader_close(struct loader *l);

/* Samples that a worker has on their way at once, with so many requests in flight. */
uint32_t loader_read_slots(const struct loader_options *options, uint32_t depth);

/* From when times of failures and timelines count. Before the first epoch. */
void loader_start(struct loader *l, uint64_t start_ns);

/* Starts an epoch: a->first_number is set here. */
void loader_begin(struct loader *l, const struct assignment *a);

/* Takes batch k (0, 1, ... in order) of the epoch, waited for since since_ns. -ETIMEDOUT at deadline_ns
 * (kernel clock; without workers it is not looked at): ask again. */
int loader_take(struct loader *l, uint64_t k, uint64_t since_ns, uint64_t deadline_ns,
		struct batch *out);

/* The place of batch k, taken, is free: a worker is woken for another. To wake it takes some us, so the
 * accelerator, which has what it waited for, is set to work first. */
void loader_give(struct loader *l, uint64_t k);

/* Ends the epoch, before its end too: returns when all workers rest. */
void loader_end(struct loader *l);

/* After loader_end: what a wait for batch k, never taken, went into. */
void loader_blamed(const struct loader *l, uint64_t k, uint64_t blamed[ACCOUNTS]);

/* The workers, for their statistics, while they rest. */
uint32_t loader_reader_count(const struct loader *l);
struct reader *loader_reader(struct loader *l, uint32_t i);

/* Live figures, at any time. */
uint64_t loader_live_bytes(const struct loader *l);
uint64_t loader_live_p99_ns(const struct loader *l);

/* What threads of the loader do in an epoch; loader_thread.c. */
void loader_work(struct loader_thread *t);
void loader_pin(struct loader_thread *t);

/* Waits for a semaphore until deadline_ns (kernel clock). -ETIMEDOUT. */
int loader_wait(sem_t *semaphore, uint64_t deadline_ns);

/* Batch k, or a part of it, empty. */
void loader_batch(const struct loader *l, uint64_t k, struct batch *out);

/* Batch k, whose slot is filled, of all its parts. In their order. */
void loader_collect(struct loader *l, uint64_t k, struct batch *out);

/* The copy of b into pinned memory. */
void loader_copy(struct loader *l, struct batch *b, bool (*quits)(void *argument), void *argument);

static inline struct batch *loader_parts(const struct loader *l, uint64_t k)
{
	return l->parts + k % l->slot_count * l->part_count;
}

#endif
