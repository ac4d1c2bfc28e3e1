/* One phase of a run, from its start to its publication. Private to ranks/run. */
#ifndef HAUL_RANKS_RUN_PHASE_RUN_H
#define HAUL_RANKS_RUN_PHASE_RUN_H

#include "ranks/node/watch.h"
#include "ranks/run/progress.h"
#include "ranks/run/state.h"
#include "workloads/target.h"
#include "workloads/workload.h"

/* A phase within the phase, which is published after it. */
struct phase_part {
	char kind[RECORD_NAME_BYTES], name[RECORD_NAME_BYTES], store[RECORD_NAME_BYTES];
	struct tally tally;
};

struct phase_run {
	struct run *run;
	const struct run_options *options;
	const struct workload *workload;
	struct phase_context ctx;
	struct tally tally;
	struct progress_line line;
	struct watch watch;
	struct client_series *client;
	uint64_t log_dropped;             /* rows of the operation log that were dropped before */
	uint64_t started_ns, finished_ns; /* UTC: when the measured part began and ended */
	bool alone;                       /* one of several that run together, by itself */
	uint32_t target_count, part_count;
	struct target_result targets[TARGETS_MAX];
	struct phase_part **parts; /* [part_count] */
	/* How often it was published while it ran, and how long that took. */
	uint32_t interim_count;
	uint64_t interim_ns;
	enum stop_reason stopped;
	int rc;
};

/* Makes the tally and the context of a phase, but for its group, its node and its progress. */
int phase_prepare(struct run *run, const struct run_options *options, struct job_phase *phase,
		  struct phase_run *p, struct err *err);
/* Frees them, and the group. */
void phase_close(struct phase_run *p);

/* Judges the phase by its targets. Returns p->rc, which is also set where they cannot be judged.
 * Collective over the phase's group. */
int phase_judge(struct phase_run *p, struct err *err);
/* Requests that succeeded, or failed and were recorded, on this rank. */
uint64_t phase_requests(const struct tally *t);
/* Whether any rank of the group has such. Collective. */
bool phase_measured(const struct tally *t, struct group *group);

/* Adds what the targets reached in this repeat. */
void targets_add(const struct target_result *results, uint32_t count, struct repeat_targets *into);

/* Phases that run at the same time, and where they are in the job. */
struct phase_set {
	uint32_t count;
	uint32_t index[JOB_TOGETHER_MAX];
};

/* Runs the phases at the same time, each on its ranks, and publishes each. alone: there is one of
 * them, which runs by itself for comparison. Collective over all ranks of the run. As run_phases. */
int together_do(struct run *run, const struct run_options *options, const struct phase_set *set,
		bool alone, struct repeat_targets *targets, enum exit_status *status,
		enum stop_reason *stopped, struct err *err);

/* phase_context.part. */
struct tally *phase_part(struct phase_context *ctx, const char *kind, const char *name,
			 const struct tally_schema *schema, const char *store, struct err *err);
void phase_parts_free(struct phase_run *p);

/* Fills the record of the phase, but for its number and its place in the series, on the first rank of
 * the phase's group. Collective over that group. */
void phase_describe(struct run *run, const struct phase_run *p, const struct err *failure,
		    struct phase_record *record);

/* Its place in the series. */
void phase_set_run(const struct run *run, const struct workload *workload,
		   struct results_phase *phase);

/* How the phase has ended, in the word of the results file. */
const char *phase_status(const struct phase_run *p);

/* Publishes a described phase, then its parts (parts NULL: it has none). Collective over all ranks of the run. */
int phase_publish_described(struct run *run, const struct run_options *options,
			    struct results_phase *phase, struct phase_run *parts, struct err *err);

/* Describes and publishes the phase, then its parts. failure: the phase's own error. Collective. */
int phase_publish(struct run *run, const struct run_options *options, struct phase_run *p,
		  const struct err *failure, struct err *err);

/* phase_context.publish: publishes the phase while it runs, as "running". If that fails, rank 0 warns and the
 * phase goes on. */
void phase_publish_running(void *phase_run, struct tally *so_far);

#endif
