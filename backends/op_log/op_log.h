/* SPDX-License-Identifier: Apache-2.0 */
/* Operation log: one row for each request that a rank's queues have finished, as a compressed
 * table. Its columns are those of the logs of warp and s3dlio, and a few more.
 *
 * A queue writes records into a ring of its own and goes on; one thread per rank makes rows of
 * them. A record that finds no room is dropped and counted, so memory is bounded and no request
 * waits for the log. Each rank writes a file, or the ranks of a node share one. Only the first file
 * has the header, so that the files, concatenated, are one table.
 *
 *	op_log.c      rings, the thread that empties them
 *	row.c  a record as a row
 *	zstd.c the compressed file; absent.c where libzstd is missing */
#ifndef HAUL_BACKENDS_OP_LOG_OP_LOG_H
#define HAUL_BACKENDS_OP_LOG_OP_LOG_H

#include "backends/backend.h"

enum { OP_LOG_ROWS = 8192, OP_LOG_ROWS_MIN = 8 };

struct op_log;
struct op_log_queue; /* the entry of a queue in the log */

struct op_log_options {
	const char *path; /* of several files, each has its number before the endings */
	bool force;       /* replaces an existing file, when the log is whole */
	uint32_t draw;    /* part_draw() of one rank: of the file's name until then */
	uint32_t rank, ranks;
	/* Ranks of a node share a file: the number of the node, and the number of nodes. files 0:
	 * each rank has a file. */
	uint32_t file, files;
	bool joins; /* another rank of the node has created the file */
	/* number of rows of usual length that a queue keeps until they are written */
	uint64_t rows;
	int64_t utc_ns; /* add to a stamp of this node to get ns since 1970 */
};

/* Main thread. Returns -EEXIST, -ENOTSUP (built without libzstd) or another error with a
 * sentence. */
int op_log_open(struct op_log **out, const struct op_log_options *options, struct err *err);

/* Main thread: requests of queues that are opened from now on belong to that phase. */
void op_log_phase(struct op_log *log, const char *phase, uint32_t run);

/* Records without a row so far: those of full rings, and rows that could not be written. */
uint64_t op_log_dropped(const struct op_log *log);

/* Main thread, when no queue is open. Writes what is left. *rows and *dropped are the total counts.
 * Returns a negative errno with a sentence where the file could not be written. */
int op_log_close(struct op_log *log, uint64_t *rows, uint64_t *dropped, struct err *err);
/* Call instead of op_log_close to leave no file. */
void op_log_discard(struct op_log *log);

/* For queue/queue.c. join gives a queue on the store its entry. leave waits until its rows are
 * written. Any thread. */
int op_log_join(struct op_log_queue **out, const struct store *store, struct err *err);
void op_log_leave(struct op_log_queue *place);
/* The queue's thread: records a finished request. place: struct op_log_queue. Never waits. */
void op_log_observe(void *place, const struct request *req);

#endif
