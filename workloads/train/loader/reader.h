/* A reader: reads samples of batches through its own queue, verifies them, takes their ids from the
 * bytes, and says along which states of its requests the time went.
 *
 *	worker.c          what a worker owns; opened and closed
 *	reader_build.c    the loop: samples on their way, requests out, answers in
 *	worker_reading.c  the steps of one sample: open, extents, close
 *	worker_check.c    what came: outcome, id, payload; failures
 *
 * A worker belongs to one thread. Only the atomics at its head may be read by others while it works;
 * everything else is read when it rests. Nothing allocates after reader_open. */
#ifndef HAUL_WORKLOADS_TRAIN_LOADER_READER_H
#define HAUL_WORKLOADS_TRAIN_LOADER_READER_H

#include <stdatomic.h>

#include "backends/queue/queue.h"
#include "core/buffers.h"
#include "core/measure/account.h"
#include "workloads/common/meter.h"
#include "workloads/common/residency.h"
#include "workloads/dataset/dataset.h"
#include "workloads/formats/reader_cache.h"
#include "workloads/formats/walk.h"
#include "workloads/train/sampler/rank_sequence.h"
#include "workloads/train/sampler/shuffle_buffer.h"

enum { READER_SOURCES = 2, READER_PIECE_BYTES = 4096 };

/* A data set on a store, as all workers of a rank read it. */
struct source {
	const struct dataset *dataset;
	struct store *store;
	uint64_t request_bytes; /* a request at most */
	uint64_t window_bytes;  /* the memory of one; a longer one is streamed through it */
	bool whole;             /* an extent is one request: its size need not be asked for */
};

/* An epoch's work, the same for all workers of a rank; set while they rest. */
struct assignment {
	unsigned source;
	struct rank_sequence sequence;
	uint64_t epoch; /* 1-based, for messages and draws */
	uint64_t
		first_number; /* batch k has the serial first_number + k; never 0, never used again */
	uint64_t batches;     /* to be built: no more than the share's */
};

/* Where the samples read for a batch go, if it comes out of a shuffle window: the first of the epoch fill
 * the window, the others wait to go in, in their order. */
struct arrivals {
	struct arrival *window, *here;
	uint64_t ahead; /* in the window */
	uint64_t first; /* here[0] */
};

/* A batch, or what one worker made of it. Sums of ids are modulo 2^64. */
struct batch {
	uint64_t number;
	struct arrivals arrivals;                       /* no window: samples count as they come */
	uint64_t samples, id_sum, id_hash;              /* read whole */
	uint64_t failed, failed_id_sum, failed_id_hash; /* as planned, not read */
	uint64_t ids_from_bytes;
	uint64_t logical_bytes;    /* of the samples' payload */
	uint64_t blamed[ACCOUNTS]; /* what the main thread's wait went into */
	int error;                 /* on_error stop: the first one */
	uint32_t failed_by;        /* index of the worker that met it */
	bool cut;                  /* given up before its end */
};

void batch_clear(struct batch *b, uint64_t number);
/* One more sample. */
void batch_take(struct batch *b, const struct arrival *sample);
/* All but what was blamed: workers that read at the same time were waited for once. */
void batch_add(struct batch *b, const struct batch *part);

/* What the main thread waits for, and since when. Written by it, read by all who work for it. */
struct awaited {
	_Atomic uint64_t since_ns, number;
};

void awaited_set(struct awaited *w, uint64_t number, uint64_t since_ns);
/* How much of [from, to) the main thread has waited for just this batch. */
uint64_t awaited_span(const struct awaited *w, uint64_t number, uint64_t from, uint64_t to);

struct reader_options {
	struct clock *clock;
	struct source sources[READER_SOURCES];
	unsigned source_count;
	uint32_t depth;        /* requests in flight */
	uint32_t read_slots;   /* samples on their way at once */
	uint32_t reader_count; /* workers in all: a stream is lane i of worker w, i * readers + w */
	uint32_t cache_groups; /* groups of samples, of a file that stays open (kept.h) */
	bool decode;           /* samples are walked through, of a format that can be */
	enum verify verify;    /* files that exist without haul are never verified */
	uint64_t evidence_bytes; /* from one look at the page cache to the next; 0: none */
	bool count_errors;       /* else the first error ends the batch */
	struct draw preprocess;  /* emulated work a sample */
	uint64_t seed, start_ns;
	const struct rank_place *place;
	const struct meter_layout *layout; /* where requests are counted */
	int sample_hist;                   /* of the layout: from open to last byte of a sample */
	/* For a worker inside the main thread: called between requests and at least every 10 ms of
	 * preprocessing; true: give up. May be NULL. */
	bool (*pause)(void *pause_argument);
	void *pause_argument;
	const _Atomic bool *cancel;    /* give up; may be NULL */
	const struct awaited *awaited; /* may be NULL */
};

/* Of a stream: how far it has been read, the piece that came last, and the bytes before it. */
struct piece {
	uint64_t end;        /* of what was asked for */
	const uint8_t *data; /* NULL: nothing, or the store gives no bytes */
	uint64_t at, bytes;
	uint8_t before[8]; /* up to at */
	uint32_t before_bytes;
};

enum sample_read_state {
	SAMPLE_LEAVE, /* closes the file of the sample before */
	SAMPLE_OPEN,
	SAMPLE_STAT,
	SAMPLE_EXTENTS,
	SAMPLE_CLOSE,
	SAMPLE_OVER
};

/* A sample on its way. The lane outlives it: a file laid out is not laid out again, and one whose
 * format's readers leave it open (stays_open) stays open, with what they keep of it, until the lane comes
 * to a sample of another file, an error, or the epoch's end. */
struct reader;
struct sample_read {
	struct reader *reader;
	enum sample_read_state state;
	uint64_t next;     /* streams: where in the share this one's goes on */
	uint64_t position; /* in the share */
	uint64_t sample;   /* as planned */
	uint64_t id;       /* as its bytes say */
	bool id_seen, ready;
	struct object objects[FORMAT_OBJECTS_MAX]; /* of the file */
	uint32_t opened;                           /* of them */
	struct reader_cache cache;
	struct piece piece; /* streams */
	struct walk walk;   /* decode: of the sample, or the stream */
	uint64_t walked;    /* ... up to here */
	struct layout layout;
	uint64_t laid_out; /* source and file of layout + 1; 0: none */
	struct extent extents[FORMAT_EXTENTS_MAX];
	uint32_t extent_count, extent;
	uint64_t at; /* of the extent: what was not asked for yet begins here */
	uint32_t flying;
	int rc;
	uint64_t began_ns;
};

struct reader {
	struct meter meter; /* its live figures may be read while the reader works */

	const struct reader_options *options;
	uint32_t index;
	struct queue queues[READER_SOURCES];
	struct buffers windows; /* one a request; streams: one a lane */
	struct request *reqs;
	struct request **free_ios, **done, **out; /* [depth] */
	uint32_t free_count;
	struct sample_read *read_slots;
	struct sample_read **idle, **ready; /* [lanes] each; ready: may have a request to send */
	uint32_t idle_count, ready_count;
	uint8_t *scratch;
	struct random random;

	/* Of the work under way. */
	struct batch *batch;
	const struct assignment *assignment;
	uint64_t step;
	uint64_t next;    /* of the share, where samples are for any lane */
	uint64_t undone;  /* samples read and not preprocessed yet */
	uint64_t mark_ns; /* everything before is charged */

	struct residency residency;
	uint64_t payload_errors, short_objects;
};

int reader_open(struct reader *w, const struct reader_options *options, uint32_t index,
		struct err *err);
void reader_close(struct reader *w);

/* Reads [from, to) of the share for batch k of the assignment, and adds it to b. */
void reader_build(struct reader *w, const struct assignment *a, uint64_t k, uint64_t from,
		  uint64_t to, struct batch *b);

/* At the end of an epoch, by the thread that built its batches: closes the files left open. */
void reader_rest(struct reader *w);

/* Bytes a request may have: transfer, cut to what budget bytes of window hold (but at least 64 KiB),
 * and to the largest file. */
uint64_t reader_request_bytes(uint64_t transfer, uint64_t budget, uint64_t largest);

#endif
