/* The loader "pytorch": worker threads build whole batches, worker w the batches w, w + W, ... in
 * order; batch k is taken from worker k % W. A worker holds at most `prefetch` credits, one a batch
 * that it builds or has built; a credit returns when the main thread takes the batch, as torch's
 * prefetch_factor does. Nothing is prefetched across epochs. Torch starts its worker processes anew
 * each epoch; here the threads stay and only their work starts anew.
 *
 * With 0 workers the batch is built in the main thread when it is asked for. The threads inherit the
 * binding of the thread that calls loader_open; all calls are the main thread's. */
#ifndef HAUL_WORKLOADS_LOADER_H
#define HAUL_WORKLOADS_LOADER_H

#include <pthread.h>
#include <semaphore.h>

#include "core/ring.h"
#include "workloads/worker.h"

struct loader_thread {
	struct worker worker;
	struct loader *loader;
	struct batch *batches;       /* [prefetch] */
	struct ring credits, filled; /* to the worker, from the worker */
	sem_t go, rest;
	pthread_t thread;
	bool started;
};

struct loader {
	struct worker_options options; /* of all workers */
	struct assignment assignment;
	struct loader_thread *threads; /* [workers], or one without a thread */
	uint32_t workers, prefetch;
	uint64_t next_serial;
	bool busy;
	_Atomic bool cancel, quit;
};

/* options->cancel is the loader's own and is set here. */
int loader_open(struct loader *l, const struct worker_options *options, uint32_t workers,
		uint32_t prefetch, struct err *err);
void loader_close(struct loader *l);

/* From when times of failures and timelines count. Before the first epoch. */
void loader_start(struct loader *l, uint64_t start_ns);

/* Starts an epoch: a->first_serial is set here. */
void loader_begin(struct loader *l, const struct assignment *a);

/* Takes batch k (0, 1, ... in order) of the epoch, waited for since since_ns. -ETIMEDOUT at deadline_ns
 * (kernel clock; without workers it is not looked at): ask again. */
int loader_take(struct loader *l, uint64_t k, uint64_t since_ns, uint64_t deadline_ns,
		struct batch *out);

/* Ends the epoch, before its end too: returns when all workers rest. */
void loader_end(struct loader *l);

/* The workers, for their statistics, while they rest. */
uint32_t loader_worker_count(const struct loader *l);
struct worker *loader_worker(struct loader *l, uint32_t i);

/* Live figures, at any time. */
uint64_t loader_live_bytes(const struct loader *l);
uint64_t loader_live_p99_ns(const struct loader *l);

#endif
