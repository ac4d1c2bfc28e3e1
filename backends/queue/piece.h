/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a streamed request: one that is larger than its buffer goes through it piece by piece,
 * where the backend does not stream itself. Private to the queue.
 *
 * 	object      |───────|───────|───────|──|
 * 	pieces          0       1       2     3     one of them in flight at a time
 * 	buffer      [       ]                       chunk fills it before a write, reads it after a read
 *
 * Pieces end at multiples of the store's alignment, so that direct I/O reads no block twice and
 * writes only whole blocks before the last. */
#ifndef HAUL_BACKENDS_QUEUE_PIECE_H
#define HAUL_BACKENDS_QUEUE_PIECE_H

#include "backends/queue/state.h"

/* Whether the queue must cut the request. */
static inline bool piece_wanted(const struct queue *q, const struct request *req)
{
	return req->chunk && q->cuts && !(req->op == REQ_READ && q->channel.streams);
}

/* The piece that begins at at, filled where it is to be written. False: none follows, be it for the
 * end or for an error, which the request's status says. */
bool piece_begin(struct queue *q, struct request *req, struct request *piece, uint64_t at);
/* It has come back: handed to chunk where it was read, and added to the request's answer. */
void piece_end(struct request *req, const struct request *piece);

#endif
