/* Running the phases of a job: see state.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/op_log/op_log.h"
#include "core/units.h"
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

int phase_prepare(struct run *run, const struct run_options *options, struct job_phase *phase,
		  struct phase_run *p, struct err *err)
{
	memset(p, 0, sizeof(*p));
	p->run = run;
	p->options = options;
	p->workload = phase->section->owner;
	p->ctx = (struct phase_context){
		.job = &run->job,
		.phase = phase,
		.place = &run->place,
		.clock = &run->clock,
		.log = &run->log,
		.stop = &run->stop,
		.deadline_ns = options->deadline_ns ? run->start_ns + options->deadline_ns : 0,
		.tally = &p->tally,
		.op_log = run->op_log,
		.stores = run->stores,
	};
	return workload_tally(p->workload, phase, &p->tally, err);
}

/* Opens memory, messages and the context of one phase, on all ranks or on none. */
static int phase_open(struct run *run, const struct run_options *options, struct job_phase *phase,
		      struct phase_run *p, struct err *err)
{
	int rc = group_agree(run->world, phase_prepare(run, options, phase, p, err), err);

	if (rc < 0)
		return rc;
	p->ctx.node = run->nodes.node;
	p->ctx.measure_from = phase_measure_from;
	p->ctx.measure_from_argument = p;
	p->ctx.part = phase_part;
	p->ctx.part_argument = p;
	p->ctx.publish_every_ns = run->results ? options->publish_every_ns : 0;
	p->ctx.publish = phase_publish_running;
	p->ctx.publish_argument = p;
	if (run->world->rank == 0 && (!options->quiet || options->live)) {
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

void phase_close(struct phase_run *p)
{
	if (p->ctx.group)
		group_free(p->ctx.group);
	phase_parts_free(p);
	tally_free(&p->tally);
}

void targets_add(const struct target_result *results, uint32_t count, struct repeat_targets *into)
{
	into->count = count;
	for (uint32_t i = 0; i < count; i++) {
		into->results[i] = results[i];
		into->sum[i] += results[i].found;
	}
	into->repeats++;
}

/* A phase that was refused before any request is not worth a results file. */
uint64_t phase_requests(const struct tally *t)
{
	const uint64_t *row = t->rank_row;
	uint64_t sum = t->failure_count;

	if (row[TALLY_OPERATIONS] > row[TALLY_ERRORS])
		sum += row[TALLY_OPERATIONS];
	return sum;
}

bool phase_measured(const struct tally *t, struct group *group)
{
	uint64_t sum = phase_requests(t);

	group_allreduce(group, MERGE_SUM, &sum, 1);
	return sum > 0;
}

int phase_judge(struct phase_run *p, struct err *err)
{
	struct err own = {0};

	if (workload_targets(p->ctx.phase, &p->tally, p->ctx.group, p->targets, &p->target_count,
			     &own) < 0 &&
	    p->rc == 0) {
		*err = own;
		p->rc = own.code;
	}
	return p->rc;
}

/* What publishing the phase while it ran has cost. */
static void phase_say_interim(struct phase_run *p)
{
	char time[UNITS_TEXT_BYTES];

	if (p->interim_count)
		workload_say(&p->ctx, "published %u time%s while it ran, which took %s",
			     p->interim_count, p->interim_count == 1 ? "" : "s",
			     units_time(time, (double)p->interim_ns / 1e9));
}

/* One phase from its start to its publication. *status says how the run goes on. */
static int phase_do(struct run *run, const struct run_options *options, struct job_phase *phase,
		    struct repeat_targets *targets, enum exit_status *status,
		    enum stop_reason *stopped, struct err *err)
{
	struct phase_run p;
	struct err publish = {0};
	int rc;

	rc = phase_open(run, options, phase, &p, err);
	if (rc < 0) {
		*status = EXIT_FAILED;
		goto out_close;
	}
	group_barrier(run->world);
	progress_start(&p.line, &run->clock, options->quiet ? -1 : STDERR_FILENO, run->at.run,
		       series_runs(&run->series));
	if (run->world->rank == 0 && options->live)
		progress_live(&p.line, &run->live, phase->name);
	if (run->op_log)
		op_log_phase(run->op_log, phase->name, run->at.run);
	p.watch.sampler = run->sampler;
	p.log_dropped = run->op_log ? op_log_dropped(run->op_log) : 0;
	phase_measure_from(&p);
	p.rc = workload_run(p.workload, &p.ctx, &p.stopped, err);
	p.finished_ns = clock_utc_ns();
	phase_say_interim(&p);
	p.client = watch_end(&p.watch, p.tally.rank_row);
	if (run->op_log)
		p.tally.rank_row[TALLY_OP_LOG_DROPPED] =
			op_log_dropped(run->op_log) - p.log_dropped;
	progress_end(&p.line);
	progress_live_end(&p.line, phase_status(&p));
	run->phase_end_ns = clock_now(&run->clock);
	*stopped = p.stopped;
	rc = phase_judge(&p, err);
	if (rc < 0)
		*status = EXIT_FAILED;
	else if (p.stopped > STOP_LIMIT)
		*status = EXIT_INTERRUPTED;
	else
		targets_add(p.targets, p.target_count, targets);
	if (p.ctx.message[0])
		snprintf(run->message, sizeof(run->message), "%s: %s", phase->name, p.ctx.message);
	run->measured = run->measured || rc == 0 || phase_measured(&p.tally, run->world);
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

/* The phase at *next, or all that run together with it, but for those that --only, --skip and earlier
 * runs leave out. Moves *next behind them. */
static int phases_take(struct run *run, const struct run_options *options, uint32_t *next,
		       struct phase_set *set, struct err *err)
{
	const struct job_together *together = run->job.phases[*next].together;
	bool left;
	int rc;

	set->count = 0;
	do {
		rc = phase_left(run, options, &run->job.phases[*next], &left, err);
		if (rc == 0 && left)
			set->index[set->count++] = *next;
		++*next;
	} while (rc == 0 && together && *next < run->job.phase_count &&
		 run->job.phases[*next].together == together);
	return rc;
}

/* Phases that run together, each by itself before where the job asks for it. */
static int phases_together(struct run *run, const struct run_options *options,
			   const struct phase_set *set, struct repeat_targets *targets,
			   enum exit_status *status, enum stop_reason *stopped, struct err *err)
{
	bool alone = run->job.phases[set->index[0]].together->alone;
	int rc = 0;

	for (uint32_t i = 0; alone && *status == EXIT_DONE && i < set->count; i++) {
		const struct phase_set one = {.count = 1, .index = {set->index[i]}};

		rc = together_do(run, options, &one, true, targets, status, stopped, err);
	}
	if (*status == EXIT_DONE)
		rc = together_do(run, options, set, false, targets, status, stopped, err);
	return rc;
}

int run_phases(struct run *run, const struct run_options *options, struct repeat_targets *targets,
	       enum exit_status *status, struct err *err)
{
	enum stop_reason stopped = STOP_NONE;
	struct phase_set set;
	uint32_t next = 0;
	int rc = 0;

	*status = EXIT_DONE;
	while (next < run->job.phase_count && *status == EXIT_DONE) {
		struct job_phase *phase;

		rc = phases_take(run, options, &next, &set, err);
		if (rc < 0)
			*status = EXIT_FAILED;
		if (rc < 0 || !set.count)
			continue;
		phase = &run->job.phases[set.index[0]];
		stopped = run_pause(run, options, phase);
		if (stopped > STOP_LIMIT)
			*status = EXIT_INTERRUPTED;
		else if (phase->together)
			rc = phases_together(run, options, &set, targets, status, &stopped, err);
		else
			rc = phase_do(run, options, phase, &targets[set.index[0]], status, &stopped,
				      err);
	}
	if (*status == EXIT_INTERRUPTED)
		rc = err_set(err, -EINTR, "stopped %s",
			     stopped == STOP_SIGNAL ? "by a signal" : "at the deadline");
	return rc;
}
