/* SPDX-License-Identifier: Apache-2.0 */
/* A phase on this rank, from what a workload needs for it to what came of it. Private to
 * ranks/run. */
#ifndef HAUL_RANKS_RUN_PHASE_RUN_H
#define HAUL_RANKS_RUN_PHASE_RUN_H

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
	const struct workload *workload;
	struct phase_context ctx;
	struct tally tally;
	uint64_t number; /* of the phase in the results */
	bool counted;    /* the tally also has what was counted from outside */
	struct progress_line line;
	uint64_t
		utc_ns; /* add the aligned clock to get UTC as the first rank has it (phase_utc_ns) */
	/* When it began to count: processor time of this rank, rows of the operation log that were
	 * dropped. */
	uint64_t user_ns, system_ns, log_dropped;
	uint64_t null_ns;                 /* of null passes so far */
	uint64_t started_ns, finished_ns; /* UTC: when the measured part began and ended */
	bool alone;                       /* one of several that run together, by itself */
	uint32_t target_count, part_count;
	struct target_result targets[TARGETS_MAX];
	struct target_result judged; /* by what a search judges the phase; else NaN */
	struct phase_part **parts;   /* [part_count] */
	/* How often it was published while it ran, and how long that took. */
	uint32_t interim_count;
	uint64_t interim_ns;
	uint64_t interim_requests; /* of all ranks, that the last of these has */
	enum stop_reason stopped;
	int rc;
};

/* Makes the tally and the context of a phase, but for its group, its node and its hooks. p is all
 * zeros, but for utc_ns. */
int phase_prepare(struct run *run, const struct run_options *options, struct job_phase *phase,
		  struct phase_run *p, struct err *err);
/* Frees them. The group is the caller's. */
void phase_close(struct phase_run *p);

uint64_t phase_utc_ns(const struct phase_run *p);

/* From here on the phase counts: its time, its rank's processor time, the rows of its node. Also
 * for a rank without a phase. */
void phase_count_from(struct phase_run *p);
/* What has been counted from outside since then goes into the rank's row. */
void phase_count(const struct phase_run *p, uint64_t *rank_row);

/* Judges the phase by its targets. Returns p->rc, which is also set where they cannot be judged.
 * Collective over the phase's group. */
int phase_judge(struct phase_run *p, struct err *err);
/* rounds.c. Gives the results the answer of this phase, if it has rounds. Returns p->rc, as phase_judge does.
 * Collective over the phase's group. */
int run_rounds(struct phase_run *p, struct err *err);

/* Requests of all ranks of the group that succeeded, or failed and were recorded. A phase that was
 * refused before any is not worth a results file. Collective. */
uint64_t phase_requests(const struct tally *t, struct group *group);

/* phase_context.part. */
struct tally *phase_part(struct phase_context *ctx, const char *kind, const char *name,
			 const struct tally_schema *schema, const char *store, struct err *err);

/* How the phase has ended, in the word of the results file. */
const char *phase_status(const struct phase_run *p);

#endif
