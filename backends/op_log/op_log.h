/* The operation log: a row for each request that a rank's queues have finished, as a compressed table whose
 * columns are those of warp's and s3dlio's logs, and a few behind them.
 *
 * A queue writes records into a ring of its own and goes on; one thread a rank makes rows of them. A record that
 * finds no room is dropped and counted, so memory is bounded and no request waits for the log. Ranks write a file
 * each; the first one alone has the header, so that together, one behind the other, they are one table.
 *
 *	op_log.c      rings, the thread that empties them
 *	op_log_row.c  a record as a row
 *	op_log_zstd.c the compressed file; op_log_absent.c where libzstd is missing */
#ifndef HAUL_BACKENDS_OP_LOG_OP_LOG_H
#define HAUL_BACKENDS_OP_LOG_OP_LOG_H

#include "backends/backend.h"

enum { OP_LOG_ROWS = 8192, OP_LOG_ROWS_MIN = 8 };

struct op_log;
struct op_log_queue; /* a queue's place in it */

struct op_log_options {
	const char *path; /* ranks > 1: the rank's number goes before its endings */
	bool force;       /* replaces a file that exists */
	uint32_t rank, ranks;
	uint64_t rows;  /* of usual length that a queue keeps until they are written */
	int64_t utc_ns; /* add to a stamp of this node to get ns since 1970 */
};

/* Main thread. -EEXIST, -ENOTSUP (built without libzstd) … with a sentence. */
int op_log_open(struct op_log **out, const struct op_log_options *options, struct err *err);

/* Main thread: what queues opened from now on do belongs to that phase. */
void op_log_phase(struct op_log *log, const char *phase, uint32_t run);

/* Records without a row so far: those of rings that were full, and rows that could not be written. */
uint64_t op_log_dropped(const struct op_log *log);

/* Main thread, when no queue is open. Writes what is left. *rows and *dropped are the counts of all. A negative
 * errno with a sentence where the file could not be written. */
int op_log_close(struct op_log *log, uint64_t *rows, uint64_t *dropped, struct err *err);
/* Instead: nothing remains of it. */
void op_log_discard(struct op_log *log);

/* For queue.c. join gives a queue on the store its place; leave waits until its rows are written. Any thread. */
int op_log_join(struct op_log_queue **out, const struct store *store, struct err *err);
void op_log_leave(struct op_log_queue *place);
/* The queue's thread: a record of a finished request. place: struct op_log_queue. Never waits. */
void op_log_observe(void *place, const struct request *req);

#endif
