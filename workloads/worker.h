/* A reader: builds batches by reading samples through its own queue, verifies them, takes their ids
 * from the bytes, and says along which states of its requests the time went.
 *
 * A worker belongs to one thread. Only worker_wanted and the atomics at its head may be used by the
 * main thread while it runs; everything else is read when it rests. Nothing allocates after
 * worker_open. */
#ifndef HAUL_WORKLOADS_WORKER_H
#define HAUL_WORKLOADS_WORKER_H

#include <stdatomic.h>

#include "backends/queue.h"
#include "core/buffers.h"
#include "core/tally.h"
#include "workloads/account.h"
#include "workloads/dataset.h"
#include "workloads/order.h"
#include "workloads/residency.h"

enum { WORKER_SOURCES = 2, WORKER_PIECE_BYTES = 4096 };

/* A data set on a store, as all workers of a rank read it. */
struct source {
	const struct dataset *dataset;
	struct store *store;
	uint64_t request_bytes; /* a request at most */
};

/* An epoch's work, the same for all workers of a rank; set while they rest. */
struct assignment {
	unsigned source;
	struct order order;
	uint64_t epoch; /* 1-based, for messages and draws */
	uint64_t
		first_serial; /* batch k has the serial first_serial + k; never 0, never used again */
	uint64_t batches, batch;
	uint32_t rank, ranks;
};

/* One batch, built. Sums of ids are modulo 2^64. */
struct batch {
	uint64_t serial;
	uint64_t samples, id_sum, id_hash;              /* read whole */
	uint64_t failed, failed_id_sum, failed_id_hash; /* as planned, not read */
	uint64_t ids_from_bytes;
	uint64_t logical_bytes;    /* of the samples' payload */
	uint64_t blamed[ACCOUNTS]; /* what the main thread's wait went into */
	int error;                 /* on_error stop: the first one */
	bool cut;                  /* given up before its end */
};

struct worker_options {
	struct clock *clock;
	struct source sources[WORKER_SOURCES];
	unsigned source_count;
	uint32_t depth;
	enum verify verify;      /* files that exist without haul are never verified */
	uint64_t evidence_bytes; /* from one look at the page cache to the next; 0: none */
	bool count_errors;       /* else the first error ends the batch */
	struct draw preprocess;  /* emulated work a sample */
	uint64_t seed, start_ns;
	uint32_t rank, node;
	/* For a worker inside the main thread: called between requests and at least every 10 ms of
	 * preprocessing; true: give up. May be NULL. */
	bool (*pause)(void *pause_argument);
	void *pause_argument;
	const _Atomic bool *cancel; /* give up; may be NULL */
};

struct worker {
	_Atomic uint64_t wait_since_ns,
		wait_serial; /* the main thread waits for this batch since then */
	_Atomic uint64_t live_bytes, live_p99_ns; /* for the progress line */

	const struct worker_options *options;
	uint32_t index;
	struct queue queues[WORKER_SOURCES];
	struct buffers windows;
	struct io *ios;
	struct io **free_ios, **done, **ready; /* [depth] */
	uint32_t free_count;
	struct object object;
	struct layout layout;
	uint64_t laid_out; /* source and file of layout + 1; 0: none */
	uint8_t *scratch;
	struct random random;

	/* Of the batch and the sample under way. */
	struct batch *batch;
	const struct assignment *assignment;
	uint64_t step, sample, id;
	bool id_seen;
	uint64_t mark_ns;   /* everything before is charged */
	uint64_t looked_ns; /* when live_p99_ns was made */

	struct residency residency;
	struct hist sample_hist; /* open to last byte */
	struct timeline timeline;
	uint64_t retries, payload_errors, short_objects;
	struct failure failures[TALLY_FAILURES];
	uint32_t failure_count;
};

int worker_open(struct worker *w, const struct worker_options *options, uint32_t index,
		struct err *err);
void worker_close(struct worker *w);

/* Builds batch k of the assignment into b. */
void worker_build(struct worker *w, const struct assignment *a, uint64_t k, struct batch *b);

/* The main thread waits for batch serial since since_ns. */
void worker_wanted(struct worker *w, uint64_t serial, uint64_t since_ns);

/* Bytes a request may have: transfer, cut to what budget bytes of window hold (but at least 64 KiB),
 * and to the largest file. */
uint64_t worker_request_bytes(uint64_t transfer, uint64_t budget, uint64_t largest);

#endif
