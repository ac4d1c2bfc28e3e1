/* What the files of a worker share. All is the worker's own thread's. */
#ifndef HAUL_WORKLOADS_TRAIN_LOADER_READER_INTERNAL_H
#define HAUL_WORKLOADS_TRAIN_LOADER_READER_INTERNAL_H

#include "workloads/train/loader/reader.h"

static inline bool reader_streams(const struct reader *w)
{
	return w->assignment->sequence.interleave > 0;
}

/* Closes the stretch since the last mark: charged to account, as far as the main thread waits. */
void reader_mark(struct reader *w, enum account account, uint64_t to);

/* Sends r, an idle lane, to read what stands at place in the share. */
void sample_read_begin(struct reader *w, struct sample_read *r, uint64_t position);

/* Makes io the next request of r. False: r has none to send before an answer, or is over. */
bool sample_read_next(struct reader *w, struct sample_read *r, struct request *req);

/* A request of r has come back. */
void sample_read_answered(struct reader *w, struct sample_read *r, const struct request *req);

/* A read has come back: its outcome, the id in it, its payload. */
int reader_received(struct reader *w, struct sample_read *r, const struct request *req);

/* decode: all bytes of the sample have come. Not of streams, whose records end as they come. */
int reader_decoded(struct reader *w, struct sample_read *r);

/* A sample of a stream may lie in what its lane has read already: takes its id from there. */
void reader_look_back(const struct reader *w, struct sample_read *r);

/* The whole sample has been read. With verification the id in the bytes must be the one planned;
 * without, the proof at the epoch's end finds out. */
int reader_identify(struct reader *w, struct sample_read *r);

/* Keeps the failure (the first few whole) and, where errors stop the run, the batch's end. text NULL:
 * what rc says. */
void reader_fail(struct reader *w, const struct request *req, int rc, const char *text);

#endif
