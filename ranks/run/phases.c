/* Running the phases of a job: see state.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/op_log/op_log.h"
#include "plan/plan.h"
#include "ranks/mpi/group.h"
#include "ranks/run/phase_run.h"
#include "ranks/run/run.h"
#include "ranks/run/state.h"
#include "workloads/workload.h"

/* The time before this moment is not part of the phase. */
static void phase_measure_from(void *argument)
{
	struct phase_run *p = argument;

	p->started_ns = clock_utc_ns();
	watch_begin(&p->watch);
}

/* Opens memory, messages and the context of one phase, on all ranks or on none. */
static int phase_open(struct run *run, const struct run_options *options, struct job_phase *phase,
		      struct phase_run *p, struct err *err)
{
	int rc;

	memset(p, 0, sizeof(*p));
	p->workload = phase->section->owner;
	rc = workload_tally(p->workload, phase, &p->arena, &p->tally, err);
	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		return rc;
	p->ctx = (struct phase_context){
		.job = &run->job,
		.phase = phase,
		.place = &run->place,
		.node = run->nodes.node,
		.clock = &run->clock,
		.log = &run->log,
		.stop = &run->stop,
		.deadline_ns = options->deadline_ns ? run->start_ns + options->deadline_ns : 0,
		.tally = &p->tally,
		.measure_from = phase_measure_from,
		.measure_from_argument = p,
		.part = phase_part,
		.part_argument = p,
		.op_log = run->op_log,
		.stores = run->stores,
	};
	if (run->world->rank == 0 && !options->quiet) {
		p->ctx.progress = progress_show;
		p->ctx.progress_argument = &p->line;
	}
	rc = group_duplicate(run->world, &p->ctx.group, err);
	if (rc == 0)
		mpi_group_set_node_status(p->ctx.group, &run->nodes.node_status);
	node_watch_set(&run->nodes.node_status.watch, *run->label ? run->label : "rank 0",
		       run->world->rank == 0 ? &run->log : NULL, run->job.stall_limit_ns);
	return rc;
}

static void phase_close(struct phase_run *p)
{
	if (p->ctx.group)
		group_free(p->ctx.group);
	phase_parts_free(p);
	tally_free(&p->tally);
	arena_free(&p->arena);
}

/* Adds what the targets reached in this repeat. */
static void add_targets(const struct phase_run *p, struct repeat_targets *into)
{
	into->count = p->target_count;
	for (uint32_t i = 0; i < p->target_count; i++) {
		into->results[i] = p->targets[i];
		into->sum[i] += p->targets[i].found;
	}
	into->repeats++;
}

/* Whether a request of any rank succeeded, or failed and was recorded. A phase that was refused before is not worth
 * a results file. */
static bool phase_measured(const struct phase_run *p, struct group *group)
{
	const uint64_t *row = p->tally.rank_row;
	uint64_t sum = p->tally.failure_count;

	if (row[TALLY_OPERATIONS] > row[TALLY_ERRORS])
		sum += row[TALLY_OPERATIONS];

	group_allreduce(group, MERGE_SUM, &sum, 1);
	return sum > 0;
}

/* One phase from its start to its publication. *status says how the run goes on. */
static int phase_do(struct run *run, const struct run_options *options, struct job_phase *phase,
		    struct repeat_targets *targets, enum exit_status *status,
		    enum stop_reason *stopped, struct err *err)
{
	struct phase_run p;
	uint64_t dropped = run->op_log ? op_log_dropped(run->op_log) : 0;
	struct err publish = {0};
	int rc;

	rc = phase_open(run, options, phase, &p, err);
	if (rc < 0) {
		*status = EXIT_FAILED;
		goto out_close;
	}
	group_barrier(run->world);
	progress_start(&p.line, &run->clock, STDERR_FILENO, run->at.run, series_runs(&run->series));
	if (run->op_log)
		op_log_phase(run->op_log, phase->name, run->at.run);
	p.watch.sampler = run->sampler;
	phase_measure_from(&p);
	p.rc = p.workload->run(&p.ctx, &p.stopped, err);
	p.client = watch_end(&p.watch, p.tally.rank_row);
	if (run->op_log)
		p.tally.rank_row[TALLY_OP_LOG_DROPPED] = op_log_dropped(run->op_log) - dropped;
	progress_end(&p.line);
	run->phase_end_ns = clock_now(&run->clock);
	rc = p.rc;
	*stopped = p.stopped;
	if (workload_targets(phase, &p.tally, run->world, p.targets, &p.target_count, &publish) <
		    0 &&
	    rc == 0) {
		*err = publish;
		rc = p.rc = publish.code;
	}
	if (rc < 0)
		*status = EXIT_FAILED;
	else if (p.stopped > STOP_LIMIT)
		*status = EXIT_INTERRUPTED;
	else
		add_targets(&p, targets);
	if (p.ctx.message[0])
		snprintf(run->message, sizeof(run->message), "%s: %s", phase->name, p.ctx.message);
	run->measured = run->measured || rc == 0 || phase_measured(&p, run->world);
	if (run->results && run->measured && phase_publish(run, options, &p, err, &publish) < 0) {
		/* The phase's own error comes first and keeps its sentence. */
		if (rc == 0)
			*err = publish;
		rc = rc ? rc : publish.code;
		*status = EXIT_FAILED;
	}
out_close:
	phase_close(&p);
	return rc;
}

/* A generating phase has nothing to do where an earlier run of the series has made its data. */
static int phase_left(struct run *run, const struct run_options *options,
		      const struct job_phase *phase, bool *left, struct err *err)
{
	const struct workload *workload = phase->section->owner;
	enum generated_before before = MADE_NOT;
	int rc = 0;

	*left = run_wants(options, phase);
	if (*left && workload->generating)
		rc = generated_phase(&run->generated, &run->job, phase, run->at.run, &before, err);
	*left = *left && before != MADE_SAME;
	return group_agree(run->world, rc, err);
}

int run_phases(struct run *run, const struct run_options *options, struct repeat_targets *targets,
	       enum exit_status *status, struct err *err)
{
	enum stop_reason stopped = STOP_NONE;
	bool left;
	int rc = 0;

	*status = EXIT_DONE;
	for (uint32_t i = 0; i < run->job.phase_count; i++) {
		struct job_phase *phase = &run->job.phases[i];

		rc = phase_left(run, options, phase, &left, err);
		if (rc < 0)
			*status = EXIT_FAILED;
		else if (left)
			stopped = run_pause(run, options, phase);
		if (left && stopped > STOP_LIMIT)
			*status = EXIT_INTERRUPTED;
		if (left && *status == EXIT_DONE)
			rc = phase_do(run, options, phase, &targets[i], status, &stopped, err);
		if (*status == EXIT_FAILED || *status == EXIT_INTERRUPTED)
			break;
	}
	if (*status == EXIT_INTERRUPTED)
		rc = err_set(err, -EINTR, "stopped %s",
			     stopped == STOP_SIGNAL ? "by a signal" : "at the deadline");
	return rc;
}
