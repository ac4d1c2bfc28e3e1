/* What a run holds on one rank; private to ranks/. */
#ifndef HAUL_RANKS_RUN_STATE_H
#define HAUL_RANKS_RUN_STATE_H

#include "core/clock.h"
#include "core/job/job.h"
#include "core/log.h"
#include "core/rank_place.h"
#include "core/stop.h"
#include "plan/series/series.h"
#include "ranks/node/nodes.h"
#include "ranks/node/sampler.h"
#include "ranks/run/exit_status.h"
#include "ranks/run/signals.h"
#include "results-schema/results.h"

enum { RUN_SAID_BYTES = 512 };

/* A results write that takes longer is taken to hang. */
#define RUN_WRITE_LIMIT_NS 120000000000u

/* A wait of rank 0 for the others that takes longer is said. */
#define RUN_WAIT_SAID_NS 30000000000u

struct run_options;

struct run {
	struct group *world;
	struct nodes nodes;
	struct clock clock;
	struct log log;
	struct stop stop;
	struct signals signals;
	uint64_t start_ns, started_utc_ns;
	struct series series;
	char *text; /* rank 0: the job's file as read, for the combinations of a series */
	size_t text_bytes;
	struct job job; /* that of the combination under way */
	struct generated_registry generated;
	struct results_run at;               /* the run of the series under way */
	const char *sets[SERIES_SWEEPS_MAX]; /* of its combination */
	uint32_t published;                  /* phases so far */
	bool measured;                       /* some phase has done requests or ended well */
	bool results_left;                   /* rank 0: the run leaves a results file */
	uint64_t phase_end_ns;               /* of the last phase; 0: none has run */
	struct rank_place place;
	char cores_found[RESULTS_TEXT];
	struct store_facts stores[JOB_STORES_MAX]; /* as last opened by a phase */
	struct results *results;                   /* NULL: the verb leaves none */
	struct op_log *op_log;                     /* NULL: none is kept */
	struct sampler *sampler; /* of a node, on its first rank, where there are results */
	char message[RUN_SAID_BYTES];
	char label[96]; /* "rank 3 on node7" */
};

/* Reads, checks and hands out the job; a refusal is the same on every rank. */
int run_share_job(struct run *run, const struct run_options *options, struct err *err);

/* The same for one combination of the sweeps' values, whose check run_share_job has made. */
int run_share_combination(struct run *run, const struct run_options *options,
			  const char *const *sets, struct err *err);

/* Whether --only and --skip leave this phase in. */
bool run_wants(const struct run_options *options, const struct job_phase *phase);

/* What the targets of a phase came to over the repeats of a combination. */
struct repeat_targets {
	uint32_t count, repeats;
	struct target_result results[TARGETS_MAX]; /* of the last repeat */
	double sum[TARGETS_MAX]; /* of what was found; NaN where one could not tell */
};

/* Runs and publishes every phase wanted of run->job, once. *status is the exit status that all ranks
 * share; targets[phase_count] gathers what their targets came to. */
int run_phases(struct run *run, const struct run_options *options, struct repeat_targets *targets,
	       enum exit_status *status, struct err *err);

/* The pause that the job asks for before the phase. Collective. Why it ended early, the same on all ranks. */
enum stop_reason run_pause(struct run *run, const struct run_options *options,
			   const struct job_phase *phase);

/* Removes what the job's phases have made, and fills run->message. The exit status that all ranks share. */
enum exit_status run_clean(struct run *run, struct err *err);

/* All runs of the series. */
int run_series(struct run *run, const struct run_options *options, enum exit_status *status,
	       struct err *err);

/* The operation log, where options ask for it: opened by all ranks or none, and closed by all. Collective.
 * close fails where a row could not be written. */
int run_log_open(struct run *run, const struct run_options *options, struct err *err);
void run_log_discard(struct run *run); /* where the run does not begin: no file remains */
int run_log_close(struct run *run, const struct run_options *options, struct err *err);

/* Gives run->stores of all nodes to the results, for the next publication. Collective. */
int run_record_stores(struct run *run, struct err *err);

#endif
