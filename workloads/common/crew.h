/* One pass over files by all ranks and their worker threads: file i is rank i % ranks' business, its
 * threads take their rank's files in turn; or each thread does one long piece of work (once). Status
 * rounds end the pass on every rank when a worker met an error or a stop was asked for.
 *
 * Only the main thread calls these; a body runs on its worker's thread. Knows neither what is
 * done to a file nor a tally. */
#ifndef HAUL_WORKLOADS_COMMON_CREW_H
#define HAUL_WORKLOADS_COMMON_CREW_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "backends/queue/queue.h"
#include "core/buffers.h"
#include "core/measure/tally.h"
#include "core/stop.h"
#include "workloads/workload.h"

enum { FILE_COUNTS = 6 };

struct file_worker {
	struct file_pass *pass;
	pthread_t thread;
	struct queue queue;
	void *buffer;                 /* of pass->buffer_bytes; NULL: none asked for */
	uint64_t counts[FILE_COUNTS]; /* the body's own, kept over passes */
	uint64_t retries;
	struct timeline timeline;
	int rc;         /* the body's first error */
	struct err err; /* of the first failure */
	struct failure failures[TALLY_FAILURES];
	uint64_t failure_count; /* may exceed TALLY_FAILURES: only the first are kept */
	_Atomic uint64_t files,
		bytes; /* so far in this pass, for the status: files by a body once */
	_Atomic uint64_t p99_ns;
	uint64_t p99_due_ns;
};

struct file_pass {
	/* Set by the caller before file_pass_open. */
	uint64_t files; /* of all ranks */
	bool once; /* body is called once a thread, with the thread's number; files are for progress */
	struct store *store;
	struct group *group;
	struct stop *stop;    /* NULL: none */
	uint64_t deadline_ns; /* 0: none */
	uint64_t start_ns;    /* of the phase */
	enum io_op main_op;   /* whose p99 the progress shows */
	uint32_t threads;
	uint32_t depth; /* of each thread's queue; 0: 1 */
	uint64_t
		limit_ns; /* the pass is known to end so long after start_ns, for progress; 0: not */
	uint64_t buffer_bytes;                                               /* 0: none */
	void (*progress)(void *progress_argument, const struct progress *p); /* NULL: none */
	void *progress_argument;
	const char *kind;

	/* Its own. */
	struct file_worker *workers;
	struct buffers buffers;
	int (*body)(struct file_worker *w, uint64_t file);
	void *argument;        /* the caller's, for the body */
	_Atomic uint64_t next; /* files of this rank taken so far */
	_Atomic bool halt;     /* workers stop at the next piece */
	_Atomic uint32_t running;
	sem_t ended; /* posted by each worker at its end */
};

/* Opens the workers' queues and buffers. Not collective; file_pass_close also after an error. */
int file_pass_open(struct file_pass *p, struct err *err);
void file_pass_close(struct file_pass *p);

/* Calls body for each file of this rank. A body returns 0, -ECANCELED when it saw halt, or a
 * negative errno with w->err. Collective; returns the error all ranks agree on. *stopped: why
 * it ended early. */
int file_pass_run(struct file_pass *p, int (*body)(struct file_worker *w, uint64_t file),
		  enum stop_reason *stopped, struct err *err);

/* For bodies: does the request; on failure keeps it, and of the first one writes w->err ("uri/key: No
 * space left on device"). -ENOENT of a stat or delete is returned without. */
int file_worker_do(struct file_worker *w, struct io *io);
int file_worker_fail(struct file_worker *w, const struct io *io, int rc, const char *text);
/* All of them to the phase's. */
void file_worker_failures(const struct file_worker *w, struct tally *t);

/* Takes the p99 for the status anew, where it is time to. */
void file_worker_note_now(struct file_worker *w);
static inline void file_worker_note(struct file_worker *w)
{
	if (w->queue.now_ns >= w->p99_due_ns)
		file_worker_note_now(w);
}

/* Of all workers of this rank. */
uint64_t file_pass_count(const struct file_pass *p, unsigned which);

#endif
