/* Crew: the threads of a rank that go over files together with those of all other ranks. File i belongs to rank
 * i % ranks; whichever thread of that rank is free takes its next file, so a thread that is held up holds up nothing
 * but its own file. Or each thread does one long piece of work (once). Status rounds end the pass on every rank when a
 * thread meets an error or a stop is asked for.
 *
 * Only the main thread calls these; a body runs on its member's thread. The crew does not know what is done to a
 * file. */
#ifndef HAUL_WORKLOADS_COMMON_CREW_H
#define HAUL_WORKLOADS_COMMON_CREW_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "core/buffers.h"
#include "core/stop.h"
#include "workloads/common/meter.h"
#include "workloads/workload.h"

enum { CREW_COUNTS = 6 };

struct crew_thread {
	struct crew *crew;
	pthread_t thread;
	struct queue queue;
	void *buffer;                 /* of crew->buffer_bytes; NULL: none asked for */
	uint64_t counts[CREW_COUNTS]; /* the body's own, kept over passes */
	struct meter meter;
	int rc;         /* the body's first error */
	struct err err; /* of the first failure */
	_Atomic uint64_t
		files; /* so far in this run, for the status: a body that runs once sets it */
	uint64_t begun_bytes; /* of the meter's live_bytes: those of earlier runs */
};

struct crew {
	/* Set by the caller before crew_open. */
	uint64_t files; /* of all ranks */
	bool once; /* body is called once for each thread, with its number; files are for progress */
	struct store *store;
	struct group *group;
	struct stop *stop;                 /* NULL: none */
	uint64_t deadline_ns;              /* 0: none */
	uint64_t start_ns;                 /* of the phase */
	const struct meter_layout *layout; /* where its requests are counted; NULL: nowhere */
	uint32_t threads;
	uint32_t depth; /* of each thread's queue; 0: 1 */
	uint64_t
		limit_ns; /* the pass is known to end so long after start_ns, for progress; 0: not */
	uint64_t buffer_bytes;                                               /* 0: none */
	void (*progress)(void *progress_argument, const struct progress *p); /* NULL: none */
	void *progress_argument;
	const char *kind;  /* what the progress line calls the work: "generate" */
	const char *items; /* and what it counts: "files"; NULL: nothing */

	/* Its own. */
	struct crew_thread *members;
	struct buffers buffers;
	int (*body)(struct crew_thread *w, uint64_t file);
	void *argument;        /* the caller's, for the body */
	_Atomic uint64_t next; /* files of this rank taken so far */
	_Atomic bool halt;     /* threads stop at the next piece */
	_Atomic uint32_t running;
	sem_t ended; /* posted by each thread at its end */
};

/* Opens the queues and buffers of the threads. Not collective; crew_close also after an error. */
int crew_open(struct crew *p, struct err *err);
void crew_close(struct crew *p);

/* Calls body for each file of this rank. A body returns 0, -ECANCELED when it saw halt, or a
 * negative errno with w->err. Collective; returns the error all ranks agree on. *stopped: why
 * it ended early. */
int crew_run(struct crew *p, int (*body)(struct crew_thread *w, uint64_t file),
	     enum stop_reason *stopped, struct err *err);

/* For bodies: does the request; on failure keeps it, and of the first one writes w->err ("uri/key: No
 * space left on device"). -ENOENT of a stat or delete is returned without. */
int crew_do(struct crew_thread *w, struct request *req);
int crew_fail(struct crew_thread *w, const struct request *req, int rc, const char *text);
/* From when times of failures and timelines count, for all threads; before the first run. */
void crew_start(struct crew *p, uint64_t start_ns);
/* What all threads counted, into the phase's tally. Between runs; once. */
void crew_merge(const struct crew *p, struct tally *t);

/* Of all threads of this rank. */
uint64_t crew_count(const struct crew *p, unsigned which);

#endif
