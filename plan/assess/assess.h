/* SPDX-License-Identifier: Apache-2.0 */
/* What a storage is good for (haul assess URI): the job that measures its ceilings, the runs of that job
 * one after the other, and what workloads of the catalogue follow from what they found.
 *
 *	assess_init(&a, &ask);  assess_add_workload(…) for each;  text = assess_job(&a);
 *	while (assess_next(&a, elapsed_s, &look))
 *		assess_found(&a, name, what the main figure of that phase of the look was);
 *	assess_follow(&a, &a.workloads[i], &row);
 *
 * The caller runs the job with the changes of a look and only the phases that the look names. Plain data
 * without pointers, so that ranks can share it; no MPI; any one thread. */
#ifndef HAUL_PLAN_ASSESS_ASSESS_H
#define HAUL_PLAN_ASSESS_ASSESS_H

#include "core/answer.h"
#include "core/job/job.h"
#include "plan/search/bisect.h"
#include "plan/search/halving.h"

enum {
	ASSESS_URI_BYTES = 1024,
	ASSESS_WORKLOADS_MAX = 32,
	ASSESS_PHASES_MAX = 8, /* of a look */
	ASSESS_SETS_MAX = 7,
	ASSESS_SET_BYTES = 128,
	ASSESS_TEXT_BYTES = 1024 /* of a part of a job */
};

/* What is measured of the storage itself: an operation per second, or bytes per second of streams. */
enum assess_ceiling {
	ASSESS_WRITE,  /* streams written, to stable storage */
	ASSESS_READ,   /* streams read */
	ASSESS_RANDOM, /* small random reads */
	ASSESS_PUT,    /* small objects written */
	ASSESS_GET,    /* and read, each opened for it */
	ASSESS_CREATE, /* empty objects */
	ASSESS_STAT,
	ASSESS_REMOVE,
	ASSESS_COMMIT, /* small objects written to stable storage by one thread of each rank */
	ASSESS_CEILINGS
};
enum { ASSESS_RANDOM_BYTES = 4096, ASSESS_SMALL_BYTES = 64 << 10, ASSESS_COMMIT_BYTES = 4096 };

struct assess_ask {
	char uri[ASSESS_URI_BYTES];
	double budget_s;
	uint32_t ranks;
	double space_bytes; /* it writes at most this much at a time; 0: by the budget */
	/* What its store can do: read from a page cache, write to stable storage where asked. */
	bool cached, syncs;
	bool keeps;    /* what was written is there afterwards */
	bool bypasses; /* what was written is not read from a page cache */
	/* The engine can be chosen: psync or uring; as it is, it has several requests at once. */
	bool engines, deep;
};

/* Ceilings whose settings are searched for. */
enum assess_settled { ASSESS_SETTLED_READ, ASSESS_SETTLED_RANDOM, ASSESS_SETTLED };

enum assess_kind { ASSESS_TRAIN, ASSESS_CHECKPOINT, ASSESS_USERS };

/* A workload of the catalogue: what an accelerator of it needs, or a user. */
struct assess_workload {
	char name[JOB_NAME_BYTES];
	enum assess_kind kind;
	double target; /* AU that it has to reach; of users: seconds, for 95 of 100 requests */
	/* Of one accelerator at AU 100 %; of a user: what it reads. */
	double bytes_per_second, opens_per_second;
	/* Of users: what one writes; and what a request reads and writes, the 95th percentile. */
	double written_per_second, request_bytes;
	double data_bytes; /* of its data set, or of a checkpoint */
	/* Of all its epochs on one accelerator at AU 100 %; of checkpoints: how many there are; of users: how
	 * long the phase lasts. */
	double run_seconds;
	/* The job's data set, of trainings, and its phase as JSON; "": it cannot be measured here. */
	char dataset[ASSESS_TEXT_BYTES], phase[ASSESS_TEXT_BYTES];
	char data_phase[JOB_NAME_BYTES + 8]; /* the name of the phase that makes its data */
	double files;                        /* of the data set */
	double step_bytes, step_seconds;     /* of the data set, of one accelerator */
	double workers;                      /* that read for it */
	double ahead;                        /* batches that they may hold */
	/* What was measured. */
	bool decided;   /* the search for the most of them has ended between two numbers */
	double carried; /* the most that reached the target; NaN: none was measured */
	double found;   /* their AU; of users: seconds */
	double step;    /* of the search: one more is not known to be carried */
};

struct assess {
	struct assess_ask ask;
	double seconds; /* of a phase that measures a ceiling */
	uint32_t workload_count;
	struct assess_workload workloads[ASSESS_WORKLOADS_MAX];
	/* Operations per second, of streams bytes per second; NaN: not measured. */
	double ceilings[ASSESS_CEILINGS];
	uint32_t stage;
	/* The search for settings: seconds of its runs (0: there is no time for it); the phase, whose run
	 * has found nothing yet; what was settled, and as words: "threads=16 depth=8 engine=uring". */
	double settle_s;
	bool settling, unsettled;
	enum assess_settled settle_phase;
	struct halving settle;
	uint32_t settled[ASSESS_SETTLED];
	char settings[ASSESS_SETTLED][ASSESS_SET_BYTES];
	/* The workload that is measured, of workloads; the search for the most accelerators of it; steps
	 * of each of its runs, and files that they read; when its share of the budget ends. */
	uint32_t measured;
	bool searching, unanswered; /* its last run has found nothing yet */
	struct bisect search;
	double steps, set_files, until_s;
};

/* The budget decides how long a phase lasts. -EINVAL with a sentence where it is too short. */
int assess_init(struct assess *a, const struct assess_ask *ask, struct err *err);

/* The job that measures the ceilings. The caller frees it. NULL: no memory. */
char *assess_job(const struct assess *a);

/* The names of the catalogue's jobs that are looked at, in the order of the card; NULL-terminated. */
extern const char *const assess_workloads[];

/* Adds a workload from its job. -EINVAL with a sentence. */
int assess_add_workload(struct assess *a, const char *name, const char *text, size_t bytes,
			struct err *err);

/* A run of the job. */
struct assess_look {
	const char *phases[ASSESS_PHASES_MAX];
	uint32_t phase_count, set_count;
	char sets[ASSESS_SETS_MAX][ASSESS_SET_BYTES]; /* changes to the job, as for --set */
	bool cleans;                                  /* first, what was made so far is removed */
	double until_s; /* since the assessment began: then its phases end, and no other begins */
};
/* false: there is nothing more to run. */
bool assess_next(struct assess *a, double elapsed_s, struct assess_look *look);
/* found: the main figure of a phase, of a training its AU. */
void assess_found(struct assess *a, const char *phase, double found);

/* What follows for a workload:
 *
 *	training      accelerators = the least of read / (target x bytes_per_second) and
 *	              get / (target x opens_per_second), rounded down
 *	checkpoint    checkpoints an hour = 3600 / (bytes / write + bytes / read)
 *	users         none, if a request alone takes longer than its target: request_bytes at the rate of
 *	              the faster of read and write. Else at most the least of read / bytes_per_second and
 *	              write / written_per_second; how many fewer have their answers in time is only
 *	              known where they ran
 *
 * Where the workload itself ran on more accelerators than the storage carries, what was found then counts. And how
 * long it takes as a whole: data_bytes / write, and then run_seconds / target / accelerators. Fills the whole row. */
void assess_follow(const struct assess *a, const struct assess_workload *w, struct assess_row *row);

/* What is known of the storage so far; over: the assessment has ended by itself. */
void assess_answer(const struct assess *a, bool over, struct assess_head *head);

#endif
