/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a reader share. All of it belongs to the reader's own thread. */
#ifndef HAUL_WORKLOADS_TRAIN_LOADER_READER_INTERNAL_H
#define HAUL_WORKLOADS_TRAIN_LOADER_READER_INTERNAL_H

#include "workloads/train/loader/reader.h"

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

/* Looks at what a read has brought: its outcome, the id in it, its payload. */
int reader_received(struct reader *w, struct sample_read *r, const struct request *req);

/* decode: ends the walk when all bytes of the sample have come; not in streams, whose records end
 * as they come. */
int reader_decoded(struct reader *w, struct sample_read *r);

/* A sample of a stream may lie in what its read slot has read already: takes its id from there. */
void reader_look_back(const struct reader *w, struct sample_read *r);

/* The whole sample has been read. With verification, the id in the bytes must be the planned one;
 * without it, the proof at the end of the epoch finds out. */
int reader_identify(struct reader *w, struct sample_read *r);

/* Records a failure, and ends the batch where errors stop the run. text NULL: what the answer of
 * req says. */
void reader_fail(struct reader *w, const struct request *req, int rc, const char *text);

#endif
