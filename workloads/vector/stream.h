/* SPDX-License-Identifier: Apache-2.0 */
/* A file of an index read from its first byte to its last, with several reads in flight, by one who
 * consumes it in order. What it brings is compared, and dropped.
 *
 * One thread. Nothing is allocated after stream_open. */
#ifndef HAUL_WORKLOADS_VECTOR_STREAM_H
#define HAUL_WORKLOADS_VECTOR_STREAM_H

#include "workloads/common/crew.h"
#include "workloads/common/options.h"
#include "workloads/vector/index.h"

enum { STREAM_READS = 4 };

struct stream {
	/* Set by the caller before stream_open. */
	struct crew_thread *member; /* whose meter counts */
	struct store *store;
	uint32_t verify;
	uint64_t piece; /* bytes of a read */
	uint32_t depth; /* at most STREAM_READS */
	void *memory;   /* [depth * buffer_bytes], NULL: the store keeps no content */
	uint64_t buffer_bytes;

	/* Counted. */
	uint64_t verify_ns, payload_errors;
	struct hist reads; /* how long they took; the member has only their number */

	/* Used by the stream only. */
	struct queue queue;
	const struct vector_index *index;
	struct object *object;
	uint64_t sent, taken; /* bytes */
	uint64_t reads_sent, reads_taken;
	int rc; /* the first error */
	bool back[STREAM_READS];
	struct request requests[STREAM_READS];
};

/* Close it also after an error. */
int stream_open(struct stream *s, struct err *err);
void stream_close(struct stream *s);

/* From the first byte of that file on, which is open. */
void stream_begin(struct stream *s, const struct vector_index *x, struct object *object);
/* Consumes it up to there, or to its end: 0, or the first error, with the member's err. */
int stream_until(struct stream *s, uint64_t at);
/* Waits for what is in flight. */
void stream_end(struct stream *s);

#endif
