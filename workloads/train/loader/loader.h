/* SPDX-License-Identifier: Apache-2.0 */
/* Loader: which reader thread takes which work, and in what order the main thread gets batches.
 *
 *	kind      work item   taken by                            on their way at once, in each reader
 *	pytorch   batch       reader k % readers, in order        one sample, in `depth` requests
 *	sample    sample      whichever reader is free            one sample, in `depth` requests
 *	batch     batch       reader k % readers, in order        `depth` samples of the batch
 *	stream    batch       all readers, each for its files     one sample of each of its files
 *
 * pytorch is torch's DataLoader. sample is tf.data's parallel map and interleave, and DALI's thread pool; the samples
 * are put in order again. batch reads a whole batch at once, as PyDAOS and s3dlio do. stream is tf.data's
 * TFRecordDataset: several files are read side by side, each from one end to the other.
 *
 * The main thread gets batch k from batch slot k % slot_count. Work begins on a credit, and the credit returns when the
 * main thread takes the batch. So with pytorch and batch, each reader builds or holds at most `prefetch` batches
 * (torch's prefetch_factor); with sample and stream, all readers together do. Nothing is prefetched across epochs.
 * torch starts its worker processes again in each epoch; here the threads stay, and only their work begins again. With
 * pin_memory, one more thread copies each batch before the main thread gets it.
 *
 * With 0 workers, the main thread itself builds a batch, and copies it, when it asks for it. The threads inherit the
 * binding of the thread that calls loader_open. All functions are called by the main thread. docs/internals/training.md
 * has a drawing. */
#ifndef HAUL_WORKLOADS_TRAIN_LOADER_LOADER_H
#define HAUL_WORKLOADS_TRAIN_LOADER_LOADER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "core/buffers.h"
#include "core/credits.h"
#include "workloads/train/loader/reader.h"

/* thread.c. Emulated copy of a batch into memory that the accelerator can read (torch's pin_memory). As many
 * bytes as the payload of the batch are copied from one buffer to another, a piece at a time. The
 * samples are gone by then, since their bytes are streamed through the readers' buffers and kept by
 * nobody: the work is real, the content is not. And these two buffers may lie in the processor's
 * caches, where a real batch would come from memory.
 *
 * Belongs to one thread. */

enum { PIN_COPY_BUFFER_BYTES = 8 << 20, PIN_COPY_BUFFERS = 2 };

struct pin_copy {
	struct buffers buffers;
	void *from, *to;
};

int pin_copy_open(struct pin_copy *c, struct err *err);
void pin_copy_close(struct pin_copy *c);

enum loader_kind { LOADER_PYTORCH, LOADER_SAMPLE, LOADER_BATCH, LOADER_STREAM };

struct loader_options {
	enum loader_kind kind;
	uint32_t workers, prefetch; /* prefetch is at least 1 */
	bool pin_memory;
	uint64_t shuffle_samples,
		batch; /* of any epoch, at most; shuffle_samples 0: no epoch has a shuffle buffer */
	uint32_t interleave; /* stream */
};

/* A thread of the loader. It rests until an epoch begins. */
struct loader_thread {
	struct loader *loader;
	void (*epoch)(struct loader_thread *t);
	uint32_t index;
	sem_t go, rest;
	pthread_t thread;
	bool started;
};

/* Where readers take work items from: one queue for each reader, or one for all. Items are numbered
 * through the whole epoch. Aligned, because all readers may write here. */
struct work_queue {
	_Alignas(64) struct credits credits;
	_Atomic uint64_t next;
};

/* The place of batch k, k % slot_count. */
struct batch_slot {
	_Alignas(64) sem_t filled, pinned;
	_Atomic uint64_t left; /* work items of the batch that have not ended */
	uint32_t last;      /* the reader that ended the batch, for which the main thread waited */
	struct batch batch; /* the batch as pinned */
};

struct loader {
	struct awaited awaited;
	struct loader_options options;
	struct reader_options reader_options; /* of all readers */
	struct assignment assignment;
	struct reader *readers;        /* [reader_count] */
	struct loader_thread *threads; /* those of the readers, then the one that copies */
	struct work_queue *work_queues;
	struct batch_slot *slots;
	struct batch *parts; /* of each batch slot, one for each reader that may build its batch */
	/* Batches come out of it, taken by whoever collects their parts. */
	struct shuffle_buffer shuffle_buffer;
	struct brought_sample *arrivals; /* the shuffle buffer's, then those of each batch slot */
	struct pin_copy pin_copy;
	uint32_t reader_count, thread_count, work_queue_count, slot_count, part_count;
	/* Work items of a batch: in all, and in one work queue. */
	uint64_t batch_items, queue_items;
	uint64_t next_number;
	bool busy;
	_Atomic bool cancel, quit;
};

/* reader_options: read_slots, reader_count, awaited and cancel are set here. */
int loader_open(struct loader *l, const struct loader_options *options,
		const struct reader_options *reader_options, struct err *err);
void loader_close(struct loader *l);

/* Samples that a reader has on their way at once, with `depth` requests in flight. */
uint32_t loader_read_slots(const struct loader_options *options, uint32_t depth);

/* Since when the times of failures and of the timeline count. Before the first epoch. */
void loader_start(struct loader *l, uint64_t start_ns);

/* Begins an epoch; sets a->first_number. */
void loader_begin(struct loader *l, const struct assignment *a);

/* Takes batch k (0, 1, ... in order) of the epoch, for which the main thread has waited since
 * since_ns. -ETIMEDOUT at deadline_ns, on the kernel's clock: call again. Without workers there is
 * no deadline. */
int loader_take(struct loader *l, uint64_t k, uint64_t since_ns, uint64_t deadline_ns,
		struct batch *out);

/* Frees the slot of batch k, which was taken, so that a reader goes on. To wake a thread takes some
 * microseconds; therefore the accelerator, which has its batch, is set to work first. */
void loader_give(struct loader *l, uint64_t k);

/* Ends the epoch, also before its last batch. Returns when all threads rest. */
void loader_end(struct loader *l);

/* After loader_end: what a wait for batch k, which was never taken, went into. */
void loader_blamed(const struct loader *l, uint64_t k, uint64_t blamed[ACCOUNTS]);

/* The readers, for their statistics, while they rest. */
uint32_t loader_reader_count(const struct loader *l);
struct reader *loader_reader(struct loader *l, uint32_t i);

/* Figures for the progress line, at any time. */
uint64_t loader_live_bytes(const struct loader *l);
uint64_t loader_live_p99_ns(const struct loader *l);
/* The file of the sample that has been on its way for longest. Returns false where none is. */
bool loader_live_oldest(const struct loader *l, uint64_t *file);

/* What a thread of the loader does in an epoch: reads, or copies. */
void loader_work(struct loader_thread *t);
void loader_pin(struct loader_thread *t);

/* Empties out, to build batch k or a part of it. */
void loader_batch(const struct loader *l, uint64_t k, struct batch *out);

/* Makes batch k, whose slot is filled, out of its parts. For batches in their order. */
void loader_collect(struct loader *l, uint64_t k, struct batch *out);

/* What was read for batch k goes into the shuffle buffer, and the samples of batch k come out. */
void loader_shuffle(struct loader *l, uint64_t k, struct batch *out);

/* Copies b into pinned memory. */
void loader_copy(struct loader *l, struct batch *b, bool (*quits)(void *argument), void *argument);

static inline struct batch *loader_parts(const struct loader *l, uint64_t k)
{
	return l->parts + k % l->slot_count * l->part_count;
}

#endif
