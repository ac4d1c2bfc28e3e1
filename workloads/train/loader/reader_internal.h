/* What the files of a worker share. All is the worker's own thread's. */
#ifndef HAUL_WORKLOADS_TRAIN_LOADER_READER_INTERNAL_H
#define HAUL_WORKLOADS_TRAIN_LOADER_READER_INTERNAL_H

#include "workloads/train/loader/reader.h"

static inline bool worker_streams(const struct worker *w)
{
	return w->assignment->share.interleave > 0;
}

/* Closes the stretch since the last mark: charged to account, as far as the main thread waits. */
void worker_mark(struct worker *w, enum account account, uint64_t to);

/* Sends r, an idle lane, to read what stands at place in the share. */
void reading_begin(struct worker *w, struct reading *r, uint64_t place);

/* Makes io the next request of r. False: r has none to send before an answer, or is over. */
bool reading_next(struct worker *w, struct reading *r, struct io *io);

/* A request of r has come back. */
void reading_answered(struct worker *w, struct reading *r, const struct io *io);

/* A read has come back: its outcome, the id in it, its payload. */
int worker_received(struct worker *w, struct reading *r, const struct io *io);

/* decode: all bytes of the sample have come. Not of streams, whose records end as they come. */
int worker_decoded(struct worker *w, struct reading *r);

/* A sample of a stream may lie in what its lane has read already: takes its id from there. */
void worker_look_back(const struct worker *w, struct reading *r);

/* The whole sample has been read. With verification the id in the bytes must be the one planned;
 * without, the proof at the epoch's end finds out. */
int worker_identify(struct worker *w, struct reading *r);

/* Keeps the failure (the first few whole) and, where errors stop the run, the batch's end. text NULL:
 * what rc says. */
void worker_fail(struct worker *w, const struct io *io, int rc, const char *text);

#endif
