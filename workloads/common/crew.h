/* SPDX-License-Identifier: Apache-2.0 */
/* Crew: the threads of a rank that process files together with those of all other ranks. File i is
 * dealt to rank i % ranks, and any free thread of that rank takes its next file. When a rank has
 * none left, the files that nobody has begun are dealt again (deal.h). So a thread or a rank that
 * is held up delays only the files that it has begun. Or each thread does one long piece of work
 * (once). Status rounds end the pass on every rank when a thread meets an error or a stop is
 * requested.
 *
 * Only the main thread calls these functions; a body runs on its member's thread. The crew does not
 * know what is done to a file. */
#ifndef HAUL_WORKLOADS_COMMON_CREW_H
#define HAUL_WORKLOADS_COMMON_CREW_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "backends/request.h"
#include "core/buffers.h"
#include "core/measure/tally.h"
#include "core/stop.h"
#include "workloads/common/deal.h"
#include "workloads/common/meter.h"
#include "workloads/common/snapshot.h"
#include "workloads/workload.h"

enum { CREW_COUNTS = 8 };

struct crew_thread {
	struct crew *crew;
	pthread_t thread;
	struct queue queue;
	void *buffer;                 /* of crew->buffer_bytes; NULL: none asked for */
	uint64_t counts[CREW_COUNTS]; /* used by the body, kept over passes */
	uint64_t end_ns;              /* set by the body, see repeat.h */
	struct meter meter;
	struct snapshot_part part;
	struct slots *slots; /* the operations that it has in flight (slots.h), open; NULL: none */
	int rc;              /* the body's first error */
	struct err err;      /* of the first failure */
	_Atomic uint64_t
		files; /* in this run so far, for the status; a body that runs once sets it */
	uint64_t begun_bytes;       /* of the meter's live_bytes: those of earlier runs */
	_Atomic uint64_t live_file; /* that the body works on, + 1; 0: none */
	/* For the main thread: what it saw last of this thread, and since when it has seen that. */
	uint64_t seen_file, seen_bytes, seen_ns;
};

struct crew {
	/* Set by the caller before crew_open. */
	uint64_t files; /* of all ranks */
	/* body is called once for each thread, with the thread's number; files are for progress */
	bool once;
	struct store *store;
	struct group *group;
	struct stop *stop;                 /* NULL: none */
	uint64_t deadline_ns;              /* 0: none */
	uint64_t start_ns;                 /* start of the phase */
	const struct meter_layout *layout; /* where its requests are counted; NULL: nowhere */
	uint32_t threads;
	uint32_t depth;    /* of each thread's queue; 0: 1 */
	uint64_t limit_ns; /* for progress: the pass ends this long after start_ns; 0: unknown */
	uint64_t buffer_bytes; /* 0: none */
	/* A wait for storage that lasts longer is told with its object (group_wait_tell); 0: none
	 * is. The first hook gives the name of a file. Where a body runs once, the second tells how
	 * long the oldest request of a thread has been on its way (0: none is), with its object.
	 * Both are called by the main thread. */
	uint64_t stall_limit_ns;
	void (*name)(const struct crew *p, uint64_t file, char key[OBJECT_KEY_BYTES]);
	uint64_t (*waits)(const struct crew *p, uint32_t thread, uint64_t now_ns,
			  char key[OBJECT_KEY_BYTES]);
	void (*progress)(void *progress_argument, const struct progress *p); /* NULL: none */
	void *progress_argument;
	void (*overdue)(void *overdue_argument, uint64_t since_ns); /* see struct phase_context */
	void *overdue_argument;
	const char *kind;  /* what the progress line calls the work: "generate" */
	const char *items; /* and what it counts: "files"; NULL: nothing */
	bool removes; /* the bytes that it shows are those of objects that bodies remove (crew_removed) */
	/* Adds what the body has counted beside the meter, for crew_merge and for snapshots. NULL:
	 * nothing. */
	void (*count)(const struct crew_thread *w, struct tally *t);
	struct snapshot *snapshot; /* open; NULL: none are taken */

	/* Used by the crew only. */
	struct crew_thread *members;
	struct buffers buffers;
	int (*body)(struct crew_thread *w, uint64_t file);
	void *argument;     /* for the body, set by the caller */
	bool told;          /* that it waits for long */
	bool late;          /* that it is overdue */
	uint64_t looked_ns; /* when it was last seen whether it does */
	struct deal deal;
	_Atomic bool halt; /* threads stop at the next piece */
	_Atomic bool over; /* no more files will be dealt */
	uint32_t started;
	_Atomic uint32_t running; /* threads that have a file */
	sem_t ended;              /* posted by each thread that has none left */
	sem_t more;               /* posted for each thread that may find one again */
};

/* A crew with what the context of its phase gives it, which counts from now on; the caller sets
 * what else it needs. */
struct crew crew_of(const struct phase_context *ctx, struct store *store,
		    const struct meter_layout *layout, uint64_t threads, uint64_t depth,
		    const char *kind);

/* Opens the queues and buffers of the threads. Not collective. Call crew_close also after an
 * error. */
int crew_open(struct crew *p, struct err *err);
void crew_close(struct crew *p);

/* Memory of a thread and its meter. */
static inline uint64_t crew_thread_bytes(const struct meter_layout *layout)
{
	return sizeof(struct crew_thread) + meter_bytes(layout);
}

/* Calls body for each file that this rank takes. A body returns 0, -ECANCELED when it saw halt, or
 * a negative errno with w->err. Collective. Returns the error that all ranks agree on. *stopped
 * tells why it ended early. */
int crew_run(struct crew *p, int (*body)(struct crew_thread *w, uint64_t file),
	     enum stop_reason *stopped, struct err *err);

/* The same without meeting other ranks: the threads of this rank begin, and the caller goes on.
 * crew_flies: they have not ended yet. crew_land waits until they have, and returns the first error
 * of this rank. halt ends them early. Nothing deals files: once is set. */
int crew_launch(struct crew *p, int (*body)(struct crew_thread *w, uint64_t thread),
		struct err *err);
bool crew_flies(const struct crew *p);
int crew_land(struct crew *p, bool halt, struct err *err);

/* For bodies: does the request. On failure it keeps the failure and, for the first one, writes
 * w->err ("uri/key: No space left on device"). -ENOENT of a stat or delete is returned without
 * that. */
int crew_do(struct crew_thread *w, struct request *req);
int crew_fail(struct crew_thread *w, const struct request *req, int rc, const char *text);
/* For bodies, and between runs: adds the bytes of a removed object to what progress shows. */
void crew_removed(struct crew_thread *w, uint64_t bytes);
/* Sets the time from which failures and timelines count, for all threads. Call before the first
 * run. */
void crew_start(struct crew *p, uint64_t start_ns);
/* For bodies, between requests: see snapshot_look. crew_do does it by itself. */
static inline void crew_look(struct crew_thread *w)
{
	snapshot_look(&w->part);
}
/* Adds what all threads counted to the phase's tally. Call once, between runs. */
void crew_merge(const struct crew *p, struct tally *t);

/* The sum over all threads of this rank; and all counts back to 0, between runs. */
uint64_t crew_count(const struct crew *p, unsigned which);
void crew_clear_counts(struct crew *p);

/* What is wrong with an answer, in words: the same for every kind of phase. */

/* Of a read that met the end of an object, which should have size bytes, too early: "ends at byte 5
 * of 10". */
void answer_text_ends(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size);

/* Of a request that failed: that, or what its answer says. */
void answer_text_failed(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size);

/* at: the first byte that is not what was written. */
void answer_text_differs(char text[FAILURE_TEXT_BYTES], uint64_t at);

/* Whether the store has, after a commit, as many bytes of the object as it should. */
bool answer_text_committed(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size);

#endif
