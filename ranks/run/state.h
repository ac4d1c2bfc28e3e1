/* SPDX-License-Identifier: Apache-2.0 */
/* State of a run on one rank. Private to ranks/. */
#ifndef HAUL_RANKS_RUN_STATE_H
#define HAUL_RANKS_RUN_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "backends/backend.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/job/job.h"
#include "core/log.h"
#include "core/rank_place.h"
#include "core/stop.h"
#include "plan/series/series.h"
#include "ranks/node/nodes.h"
#include "ranks/node/sampler.h"
#include "ranks/node/team.h"
#include "ranks/run/exit_status.h"
#include "ranks/run/live.h"
#include "ranks/run/watchdog.h"
#include "results-schema/results.h"

/* Signal thread: signals arrive at one thread, which looks after the watchdog (watchdog.h): that
 * asks for a stop.
 *
 * signals_start blocks TERM, INT, HUP, USR1, and ABRT, for broken invariants (core/invariant.h), for the whole process, and ignores
 * PIPE. Call it
 * before MPI_Init, so that every later thread inherits the mask. */

struct signals {
	pthread_t thread;
	struct watchdog *watchdog;
	_Atomic uint32_t quit;
};

int signals_start(struct signals *s, struct watchdog *watchdog, struct err *err);
void signals_end(struct signals *s);

enum { RUN_SAID_BYTES = 1024 };

/* A step of a write of results that takes longer than this, and longer than its bytes take at the
 * least rate, is assumed to hang. */
#define RUN_WRITE_LIMIT_NS 120000000000u
enum { RUN_WRITE_LEAST_RATE = 10000000 }; /* bytes per second */

/* A wait of rank 0 for the others that takes longer is logged. */
#define RUN_WAIT_SAID_NS 30000000000u

struct run_options;
struct driver;
struct phase_run;

struct run {
	struct group *world;
	struct nodes nodes;
	struct team whole; /* all ranks, for the messages of each phase that has them all */
	struct clock clock;
	struct log log;
	struct stop stop;
	struct watchdog watchdog;
	struct signals signals;
	uint64_t start_ns, started_utc_ns;
	struct own_times own; /* what the run has spent on itself */
	uint64_t lap_ns;      /* until when it is counted */
	struct series series;
	struct driver *driver; /* of its runs; NULL: they are not known yet */
	char *text; /* rank 0: the job's file as read, for the combinations of a series */
	size_t text_bytes;
	struct job job; /* job of the current combination */
	struct generated_registry generated;
	struct results_run at;               /* the current run of the series */
	const char *sets[SERIES_SWEEPS_MAX]; /* of the current combination */
	uint32_t published;                  /* number of phases so far */
	uint32_t kept;                       /* runs of an interrupted series that goes on */
	struct phase_run *phase;             /* that runs on this rank; NULL: none */
	bool measured;                       /* a phase has done requests, or has ended well */
	bool results_left;                   /* rank 0: the run leaves a results file */
	uint64_t phase_end_ns;               /* end of the previous phase; 0: none has run */
	struct rank_place place;
	char cores_found[RESULTS_TEXT];
	struct store_facts stores[JOB_STORES_MAX]; /* as they were when a phase last opened them */
	struct store_process stores_keep;          /* from phase to phase */
	struct results *results;                   /* NULL: the verb writes none */
	struct op_log *op_log;                     /* NULL: not asked for */
	struct live live;                          /* rank 0 */
	struct sampler *sampler; /* of the node, on its first rank, if there are results */
	const char *results_path;
	char message[RUN_SAID_BYTES];
	char label[96]; /* "rank 3 on node7" */
};

/* The time since the last lap belongs to step; run_lap_skip: to what is measured, or to nothing. */
static inline void run_lap_skip(struct run *run)
{
	run->lap_ns = clock_now(&run->clock);
}
static inline void run_lap(struct run *run, enum own_time step)
{
	uint64_t before_ns = run->lap_ns;

	run_lap_skip(run);
	run->own.seconds[step] += (double)(run->lap_ns - before_ns) / 1e9;
}

/* The time that a step which writes these bytes may take. */
uint64_t run_write_limit_ns(uint64_t bytes);

/* Brackets a write of results, whose steps then each have their limit. */
void run_watch_write(struct run *run);
void run_unwatch_write(struct run *run);

/* Reads, checks and distributes the job. A refusal is the same on every rank. */
int run_share_job(struct run *run, const struct run_options *options, struct err *err);

/* The series that the job asks for, where the command line asks for none and there is a phase to
 * repeat. On every rank, after run_share_job. */
int run_series_of_job(struct run *run, const struct run_options *options, struct err *err);

/* The same for one combination of the sweeps' values, which run_share_job has already checked. */
int run_share_combination(struct run *run, const struct run_options *options,
			  const char *const *sets, struct err *err);

/* Rank 0: the text of the job with the changes of --set and those of a combination (NULL: none), for
 * a file of its own. The caller frees it. */
int run_tuned_text(const struct run *run, const struct run_options *options,
		   const char *const *sets, char **text, struct err *err);

/* Whether --only and --skip keep this phase. */
bool run_wants(const struct run_options *options, const struct job_phase *phase);
/* What the results file has of the series, whose job has that text (on rank 0), and what this run has
 * done by that. Nothing where there is none. -EEXIST: it has another one. Collective. */
int run_resume(struct run *run, const struct run_options *options, const char *text,
	       struct results_kept *kept, struct err *err);

/* What the targets of a phase reached over the repeats of a combination. */
struct repeat_targets {
	uint32_t count, repeats;
	struct target_result results[TARGETS_MAX]; /* of the last repeat */
	double sum[TARGETS_MAX]; /* sum of the found values; NaN where a repeat could not tell */
	struct target_result judged; /* of the last repeat: by what a search judges the phase */
};

/* Runs and publishes every selected phase of run->job once. *status is the exit status that all
 * ranks share. targets[phase_count] gathers what their targets reached. */
int run_phases(struct run *run, const struct run_options *options, struct repeat_targets *targets,
	       enum exit_status *status, struct err *err);

/* Removes what the job's phases have made, and fills run->message. job: as it was called, for
 * sentences. Returns the exit status that all ranks share. */
enum exit_status run_clean(struct run *run, const char *job, struct err *err);
/* The same, where data sets may not have been made yet. */
enum exit_status run_clean_made(struct run *run, const char *job, struct err *err);

/* rounds.c. Whether the run ends with the answer that a phase finds in its own rounds: it asks nothing
 * else, and runs once. */
bool run_has_rounds(const struct run *run);

/* In a copy of the process, for the watchdog: publishes what this rank knows of the phase that
 * runs, as interrupted or failed, and finishes the results. argument: the run. */
void run_last_words(void *argument, enum stop_reason reason, const char *sentence);

/* Chooses the strategy by the options; the run's series is then that of its question. */
int driver_open(struct run *run, const struct run_options *options, struct err *err);

/* All runs. An error, a signal or the deadline ends them; what was published is kept. */
int driver_run(struct run *run, const struct run_options *options, enum exit_status *status,
	       struct err *err);

/* The operation log, where options ask for it. All ranks open it or none does, and all close it.
 * Collective. close warns where a row could not be written. */
int run_op_log_open(struct run *run, const struct run_options *options, struct err *err);
void run_op_log_discard(struct run *run); /* where the run does not begin: leaves no file */
void run_op_log_close(struct run *run, const struct run_options *options);

#endif
