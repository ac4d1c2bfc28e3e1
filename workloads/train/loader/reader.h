/* SPDX-License-Identifier: Apache-2.0 */
/* Reader: reads samples of batches through its own queue, verifies them, takes their ids from the bytes, and tells for
 * which state of its requests the main thread waited.
 *
 *	reader.c         what a reader owns: opened and closed
 *	reader_loop.c    the loop over samples on their way, requests that go out, and answers that come in
 *	reader_sample.c  the steps of one sample: open, extents, close; what has come: outcome, id, payload, failures
 *
 * A reader belongs to one thread. While it works, other threads may read only the live figures of its meter and of its
 * read slots; everything else is read while it rests. Nothing is allocated after reader_open. */
#ifndef HAUL_WORKLOADS_TRAIN_LOADER_READER_H
#define HAUL_WORKLOADS_TRAIN_LOADER_READER_H

#include <stdatomic.h>

#include "core/buffers.h"
#include "core/measure/account.h"
#include "workloads/common/cold.h"
#include "workloads/common/meter.h"
#include "workloads/common/options.h"
#include "workloads/common/snapshot.h"
#include "workloads/dataset/dataset.h"
#include "workloads/formats/reader_cache.h"
#include "workloads/formats/walk.h"
#include "workloads/train/sampler/rank_sequence.h"

enum { READER_SOURCES = 2, READER_PIECE_BYTES = 4096 };

/* A data set on a store, as all readers of a rank read it. */
struct source {
	const struct dataset *dataset;
	struct store *store;
	uint64_t request_bytes; /* of a request, at most */
	uint64_t
		buffer_bytes; /* of the memory for a request; a longer request is streamed through it */
	bool whole; /* an extent is one request, so nobody needs to ask for the size of the object */
};

/* The work of an epoch, the same for all readers of a rank; set while they rest. */
struct assignment {
	unsigned source;
	struct rank_sequence sequence;
	uint64_t epoch; /* 1-based, for messages and draws */
	/* Batch k has the number first_number + k, which is never 0 and never used again. */
	uint64_t first_number;
	uint64_t batches; /* to be built: not more than the sequence has */
};

/* Where the samples that are read for a batch go if batches come out of a shuffle buffer: the first
 * of the epoch fill the buffer, the others wait in their order. */
struct arrivals {
	struct brought_sample *buffer, *here;
	uint64_t ahead; /* positions before it lie in the buffer */
	uint64_t first; /* the position of here[0] */
};

/* A batch, or one reader's part of it. Sums of ids are modulo 2^64. */
struct batch {
	uint64_t number;
	struct arrivals arrivals; /* without a shuffle buffer, samples count as they come */
	uint64_t samples, id_sum, id_hash;              /* read whole */
	uint64_t failed, failed_id_sum, failed_id_hash; /* as planned, not read */
	uint64_t ids_from_bytes;
	uint64_t logical_bytes;    /* payload of the samples */
	uint64_t blamed[ACCOUNTS]; /* what the main thread waited for */
	int error;                 /* on_error stop: the first one */
	uint32_t failed_by;        /* index of the reader that met it */
	bool cut;                  /* given up before its end */
};

void batch_clear(struct batch *b, uint64_t number);
/* Adds one sample. */
void batch_take(struct batch *b, const struct brought_sample *sample);
/* Adds a part, but not what it blames: readers that read at the same time were waited for once. */
void batch_add(struct batch *b, const struct batch *part);

/* Which batch the main thread waits for, and since when. It writes this, the threads of its loader
 * read it. */
struct awaited {
	_Atomic uint64_t since_ns, number;
};

void awaited_set(struct awaited *w, uint64_t number, uint64_t since_ns);
/* How much of [from, to) the main thread has waited for this very batch. */
uint64_t awaited_span(const struct awaited *w, uint64_t number, uint64_t from, uint64_t to);

struct reader_options {
	struct clock *clock;
	struct source sources[READER_SOURCES];
	unsigned source_count;
	uint32_t depth;        /* requests in flight */
	uint32_t read_slots;   /* samples on their way at once */
	uint32_t reader_count; /* stream i * reader_count + r belongs to read slot i of reader r */
	uint32_t
		cache_groups; /* groups of samples kept of a file that stays open (workloads/formats/reader_cache.h) */
	bool decode;             /* samples are walked through, in formats that can be */
	enum verify verify;      /* files that exist without haul are never verified */
	uint64_t evidence_bytes; /* from one look at the page cache to the next; 0: no looks */
	bool count_errors;       /* else the first error ends the batch */
	struct draw preprocess;  /* emulated work per sample */
	uint64_t seed, start_ns;
	const struct rank_place *place;
	const struct meter_layout *layout; /* where requests are counted */
	int sample_hist;                   /* of the layout: from open to last byte of a sample */
	struct snapshot *snapshot;         /* open; NULL: none are taken */
	void (*count)(void *reader,
		      struct tally *t); /* adds what a reader has counted to a snapshot */
	/* For a reader inside the main thread: called between requests, and at least every 10 ms of
	 * preprocessing. True: give up. May be NULL. */
	bool (*pause)(void *pause_argument);
	void *pause_argument;
	const _Atomic bool *cancel;    /* give up; may be NULL */
	const struct awaited *awaited; /* may be NULL */
};

/* The state of a stream: how far it has been read, the piece that came last, and the bytes before
 * that piece. */
struct piece {
	uint64_t end;        /* of what has been asked for */
	const uint8_t *data; /* NULL: nothing, or the store gives no bytes */
	uint64_t at, bytes;
	uint8_t before[8]; /* the last of them end at `at` */
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

/* A read slot, and the sample that is on its way in it. The slot outlives the sample: the layout of
 * a file is computed once, and a file whose format's readers leave it open (stays_open) stays open,
 * with what they keep of it, until the slot comes to a sample of another file, to an error, or to
 * the end of the epoch. */
struct reader;
struct sample_read {
	struct reader *reader;
	enum sample_read_state state;
	uint64_t next;     /* streams: the position in the sequence at which this one goes on */
	uint64_t position; /* in the sequence */
	uint64_t sample;   /* as planned */
	uint64_t id;       /* as its bytes say */
	bool id_seen, ready;
	struct object objects[FORMAT_OBJECTS_MAX]; /* of the file */
	uint32_t opened;                           /* how many of them are open */
	struct reader_cache cache;
	struct piece piece; /* streams */
	struct walk walk;   /* decode: through the sample, or the stream */
	uint64_t walked;    /* up to here */
	struct layout layout;
	uint64_t laid_out; /* which source and file layout belongs to, + 1; 0: none */
	struct extent extents[FORMAT_EXTENTS_MAX];
	uint32_t extent_count, extent;
	uint64_t at;     /* of the extent under way: the first byte that was not asked for */
	uint32_t flying; /* requests */
	int rc;
	uint64_t began_ns;
	/* For any thread: the file of the sample that is on its way, + 1, or 0; and since when it
	 * is. */
	_Atomic uint64_t live_file, live_ns;
};

struct reader {
	struct meter meter; /* other threads may read its live figures */
	struct snapshot_part part;

	const struct reader_options *options;
	uint32_t index;
	struct queue queues[READER_SOURCES];
	struct buffers buffers; /* one per request; streams: one per read slot */
	struct request *reqs;
	struct request **free_reqs, **done, **out; /* [depth] */
	uint32_t free_count;
	struct sample_read *read_slots;
	struct sample_read **idle,
		**ready; /* [read_slots] each; ready: may have a request to send */
	uint32_t idle_count, ready_count;
	uint8_t *scratch;
	struct random random;

	/* The work under way. */
	struct batch *batch;
	const struct assignment *assignment;
	uint64_t step;
	uint64_t next; /* position in the sequence, where any read slot takes any sample */
	/* The last sample that a read slot took, of this batch; position UINT64_MAX - 1: none. */
	uint64_t position, sample;
	uint64_t undone;  /* samples that were read and are not preprocessed yet */
	uint64_t mark_ns; /* all time before is charged to an account */

	struct residency residency;
	uint64_t payload_errors, short_objects;
};

int reader_open(struct reader *w, const struct reader_options *options, uint32_t index,
		struct err *err);
void reader_close(struct reader *w);

/* Reads [from, to) of the sequence for batch k of the assignment, and adds it to b. */
void reader_build(struct reader *w, const struct assignment *a, uint64_t k, uint64_t from,
		  uint64_t to, struct batch *b);

/* Charges the stretch since the last mark to account, as far as the main thread waited in it. */
void reader_mark(struct reader *w, enum account account, uint64_t to);

/* Closes the files that were left open. At the end of an epoch, by the thread that built its
 * batches. */
void reader_rest(struct reader *w);

/* Bytes that a request may have: transfer, cut to budget bytes of buffer (but not below 64 KiB) and
 * to the largest file. */
uint64_t reader_request_bytes(uint64_t transfer, uint64_t budget, uint64_t largest);

/* What the files of a reader share. All of it belongs to the reader's own thread. */

static inline bool reader_streams(const struct reader *w)
{
	return w->assignment->sequence.interleave > 0;
}

/* Lets r, an idle read slot, read the sample at position of the sequence. */
void sample_read_begin(struct reader *w, struct sample_read *r, uint64_t position);

/* Makes req the next request of r. False: r has none to send before an answer comes, or is over. */
bool sample_read_next(struct reader *w, struct sample_read *r, struct request *req);

/* Takes the answer to a request of r. */
void sample_read_answered(struct reader *w, struct sample_read *r, const struct request *req);

/* The whole sample has been read. With verification, the id in the bytes must be the planned one;
 * without it, the proof at the end of the epoch finds out. */
int reader_identify(struct reader *w, struct sample_read *r);

#endif
