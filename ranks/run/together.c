/* Phases that run at the same time, each on ranks of its own.
 *
 *	       team of all ranks: who has ended, failed or been asked to stop
 *	         │                      │                      │
 *	  team of phase 0        team of phase 1        ranks of no phase
 *	   opens its stores       opens its stores              │
 *	   ───────────────────── all meet ───────────────────────   (together_meet)
 *	   works, and ends        hears of it, ends             │
 *	   ──────────────────── all have ended ──────────────────   (together_wait)
 *	   record ──────────► rank 0 ──────────► all ranks          (together_agree)
 *	   ───────── publication, one phase after the other ─────
 *
 * The first phase that ends tells the team of all, and the others end with it, unless the job says
 * "until": "all"; an error or a signal ends all of them. Reasons travel over the board of the team
 * of all; a phase hears them at its own status rounds (mpi_group_set_stop_asked). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/op_log/op_log.h"
#include "plan/plan.h"
#include "ranks/mpi/group.h"
#include "ranks/node/team.h"
#include "ranks/run/phase_run.h"
#include "ranks/run/run.h"
#include "ranks/run/together.h"

#define TOGETHER_NAP_NS 2000000u

/* What all ranks know of a phase that has ended. A fixed record from the phase's first rank. */
struct together_outcome {
	struct phase_record record;
	struct err err;
	uint64_t requests; /* see phase_requests */
	int32_t rc;
	uint32_t stopped, target_count;
	struct target_result targets[TARGETS_MAX];
};

static struct job_phase *together_phase(const struct together *t, uint32_t i)
{
	return &t->run->job.phases[t->set->index[i]];
}

static bool together_takes_part(const struct together *t)
{
	return t->mine < t->set->count;
}

/* The phase to which this rank belongs; as many as there are: none. */
static uint32_t together_mine(const struct together *t)
{
	uint32_t i;

	for (i = 0; i < t->set->count; i++) {
		const struct job_set *set = &together_phase(t, i)->set;

		if (number_set_has(&set->numbers,
				   set->nodes[0] ? t->run->nodes.index : t->run->world->rank))
			break;
	}
	return i;
}

/* The first rank of each phase, as a number in the team of all. */
static int together_find_heads(struct together *t)
{
	uint64_t heads[JOB_TOGETHER_MAX];
	int rc;

	memset(heads, 0xff, sizeof(heads));
	if (together_takes_part(t))
		heads[t->mine] = t->all.group->rank;
	rc = group_allreduce(t->all.group, MERGE_MIN, heads, t->set->count);
	for (uint32_t i = 0; i < t->set->count; i++)
		t->heads[i] = (uint32_t)heads[i];
	return rc;
}

/* The job was checked as if ranks filled the nodes evenly. */
static int together_check_size(const struct together *t, struct err *err)
{
	const struct job_phase *phase = together_phase(t, t->mine);

	if (t->own.group->size == phase->set.rank_count)
		return 0;
	return err_set(
		err, -EINVAL,
		"%s/nodes: these nodes have %u ranks, not %u: ranks must be spread evenly over "
		"the nodes",
		phase->path, t->own.group->size, phase->set.rank_count);
}

static uint64_t together_utc_ns(const struct together *t)
{
	return t->utc_ns + clock_kernel_ns() + (uint64_t)t->run->nodes.offset_ns;
}

/* The phase's work begins: nobody begins before all are ready. */
static void together_meet(void *together)
{
	struct together *t = together;

	if (!t->met)
		group_barrier(t->all.group);
	t->met = true;
	t->p.started_ns = together_utc_ns(t);
	watch_begin(&t->p.watch);
	sampler_start(t->run->sampler);
}

static uint64_t together_stop_asked(void *together)
{
	struct together *t = together;

	return group_stop_heard(t->all.group);
}

/* The context of this rank's phase. */
static int together_prepare(struct together *t, struct err *err)
{
	struct run *run = t->run;
	struct phase_context *ctx = &t->p.ctx;
	int rc;

	if (!together_takes_part(t))
		return 0;
	rc = phase_prepare(run, t->options, together_phase(t, t->mine), &t->p, err);
	if (rc == 0)
		rc = together_check_size(t, err);
	if (rc < 0)
		return rc;
	t->place = run->place;
	plan_place_in(&run->job, &t->place, t->own.group->rank, t->own.group->size,
		      t->own.node->rank, t->own.node->size);
	t->p.alone = t->alone;
	ctx->place = &t->place;
	ctx->group = t->own.group;
	ctx->node = t->own.node;
	ctx->measure_from = together_meet;
	ctx->measure_from_argument = t;
	mpi_group_set_stop_asked(t->own.group, together_stop_asked, t);
	return 0;
}

/* All times of the phases are those of the clock of rank 0's node. */
static int together_align(struct together *t)
{
	t->utc_ns = clock_utc_ns() - clock_kernel_ns() - (uint64_t)t->run->nodes.offset_ns;
	return group_broadcast(t->all.group, &t->utc_ns, sizeof(t->utc_ns));
}

/* Teams, memory and contexts, on all ranks or on none. */
static int together_open(struct together *t, struct err *err)
{
	struct run *run = t->run;
	int rc = team_open(&t->all, &run->nodes, run->world, 0, err);

	t->mine = together_mine(t);
	if (rc == 0)
		rc = team_open(&t->own, &run->nodes, run->world, t->mine, err);
	if (rc == 0)
		rc = together_find_heads(t);
	if (rc == 0)
		rc = together_align(t);
	rc = group_agree(run->world, rc, err);
	if (rc == 0)
		rc = group_agree(run->world, together_prepare(t, err), err);
	if (rc == 0)
		together_progress_begin(t);
	if (rc == 0)
		node_watch_set(&t->own.status.watch, *run->label ? run->label : "rank 0",
			       t->own.group->rank == 0 ? &run->log : NULL, run->job.stall_limit_ns);
	return rc;
}

static void together_close(struct together *t)
{
	t->p.ctx.group = NULL; /* it is the team's */
	if (t->p.tally.schema)
		tally_free(&t->p.tally);
	team_close(&t->own);
	team_close(&t->all);
	free(t);
}

/* Why the others shall end when this rank's phase has ended. */
static enum stop_reason together_reason(const struct together *t)
{
	const struct job_phase *phase;

	if (!together_takes_part(t))
		return STOP_NONE;
	if (t->p.rc < 0)
		return STOP_OTHERS_FAILED;
	if (t->p.stopped > STOP_LIMIT)
		return t->p.stopped;
	phase = together_phase(t, t->mine);
	return phase->together->until == JOB_UNTIL_FIRST ? STOP_OTHERS_ENDED : STOP_NONE;
}

static void together_run_own(struct together *t, struct err *err)
{
	struct run *run = t->run;
	struct phase_run *p = &t->p;
	uint64_t dropped = run->op_log ? op_log_dropped(run->op_log) : 0;

	if (run->op_log)
		op_log_phase(run->op_log, p->ctx.phase->name, run->at.run);
	p->rc = workload_run(p->workload, &p->ctx, &p->stopped, err);
	p->finished_ns = together_utc_ns(t);
	if (p->rc < 0)
		group_stop_tell(t->all.group, STOP_OTHERS_FAILED);
	if (!t->met)
		together_meet(t);
	watch_end(&p->watch, p->tally.rank_row);
	if (run->op_log)
		p->tally.rank_row[TALLY_OP_LOG_DROPPED] = op_log_dropped(run->op_log) - dropped;
}

/* Answers until all phases have ended. Whoever waits here passes on signals that came to it. */
static void together_wait(struct together *t)
{
	struct status mine = {.stop = together_reason(t)}, merged;
	struct clock *clock = &t->run->clock;

	if (mine.stop)
		group_stop_tell(t->all.group, mine.stop);
	group_status_post(t->all.group, &mine);
	while (!group_status_test(t->all.group, &merged)) {
		enum stop_reason asked = stop_asked(&t->run->stop);

		if (asked)
			group_stop_tell(t->all.group, asked);
		group_stop_heard(t->all.group);
		together_progress_wait(t);
		clock_sleep_until(clock, clock_now(clock) + TOGETHER_NAP_NS);
	}
}

/* The first rank of a node reports its stores, but others may have opened them. */
static int together_share_stores(struct run *run, struct err *err)
{
	size_t stores = run->job.store_count;
	struct group *node = run->nodes.node;
	struct store_facts *all = NULL;
	int rc = 0;

	if (node->rank == 0)
		all = calloc(node->size * stores + 1, sizeof(*all));
	if (node->rank == 0 && !all)
		rc = err_set(err, -ENOMEM, "no memory for the record of the stores");
	rc = group_agree(node, rc, err);
	if (rc == 0)
		rc = group_gather(node, run->stores, stores * sizeof(*all), all);
	for (size_t i = 0; rc == 0 && all && i < node->size * stores; i++)
		if (all[i].nodes && !run->stores[i % stores].nodes)
			run->stores[i % stores] = all[i];
	free(all);
	return rc;
}

/* Collective over the phase. Complete on its first rank. */
static void together_conclude(struct together *t, struct together_outcome *o, struct err *err)
{
	struct phase_run *p = &t->p;

	phase_judge(p, err);
	o->requests = phase_requests(&p->tally);
	group_allreduce(p->ctx.group, MERGE_SUM, &o->requests, 1);
	phase_describe(t->run, p, err, &o->record);
	o->rc = p->rc;
	o->stopped = p->stopped;
	o->target_count = p->target_count;
	memcpy(o->targets, p->targets, sizeof(o->targets));
	if (p->rc < 0)
		o->err = *err;
}

/* What became of each phase, on all ranks. */
static int together_agree(struct together *t, struct together_outcome *outcomes, struct err *err)
{
	struct group *all = t->all.group;
	int rc = 0;

	if (together_takes_part(t))
		together_conclude(t, &outcomes[t->mine], err);
	for (uint32_t i = 0; rc == 0 && i < t->set->count; i++) {
		struct together_outcome *o = &outcomes[i];

		if (t->heads[i] && all->rank == t->heads[i])
			rc = group_send(all, 0, o, sizeof(*o));
		else if (t->heads[i] && all->rank == 0)
			rc = group_receive(all, t->heads[i], o, sizeof(*o));
		if (rc == 0)
			rc = group_broadcast(all, o, sizeof(*o));
	}
	return rc;
}

/* Ranks of other phases take part with an empty tally. */
static int together_publish(struct together *t, uint32_t i, const struct together_outcome *o,
			    struct client_series *client, struct err *err)
{
	struct job_phase *phase = together_phase(t, i);
	struct results_phase published = {.record = o->record,
					  .client = client,
					  .targets = o->targets,
					  .target_count = o->target_count};
	struct tally absent = {0};
	int rc = 0;

	if (i != t->mine)
		rc = workload_tally(phase->section->owner, phase, &absent, err);
	absent.absent = true;
	published.tally = i == t->mine ? &t->p.tally : &absent;
	phase_set_run(t->run, phase->section->owner, &published);
	rc = group_agree(t->run->world, rc, err);
	if (rc == 0)
		rc = phase_publish_described(t->run, t->options, &published, NULL, err);
	if (absent.schema)
		tally_free(&absent);
	return rc;
}

/* The run goes on as the worst of the phases says. The first error keeps its sentence. */
static int together_status(struct together *t, const struct together_outcome *outcomes,
			   struct repeat_targets *targets, enum exit_status *status,
			   enum stop_reason *stopped, struct err *err)
{
	int rc = 0;

	*stopped = STOP_NONE;
	for (uint32_t i = 0; i < t->set->count; i++) {
		const struct together_outcome *o = &outcomes[i];

		if (o->rc < 0 && rc == 0) {
			*err = o->err;
			rc = o->rc;
		}
		if (o->stopped > *stopped)
			*stopped = (enum stop_reason)o->stopped;
		if (o->rc == 0 && o->stopped <= STOP_LIMIT && !t->alone)
			targets_add(o->targets, o->target_count, &targets[t->set->index[i]]);
		if (o->record.message[0])
			snprintf(t->run->message, sizeof(t->run->message), "%s: %.440s",
				 o->record.name, o->record.message);
		t->run->measured = t->run->measured || o->rc == 0 || o->requests;
	}
	if (rc < 0)
		*status = EXIT_FAILED;
	else if (*stopped > STOP_LIMIT)
		*status = EXIT_INTERRUPTED;
	return rc;
}

static int together_end(struct together *t, struct repeat_targets *targets,
			enum exit_status *status, enum stop_reason *stopped, struct err *err)
{
	struct together_outcome *outcomes = calloc(t->set->count, sizeof(*outcomes));
	struct client_series *client = sampler_stop(t->run->sampler);
	struct err publish = {0};
	int rc = outcomes ? 0 : err_set(err, -ENOMEM, "no memory for the ends of phases");

	rc = group_agree(t->run->world, rc, err);
	if (rc == 0)
		rc = together_agree(t, outcomes, err);
	if (rc == 0)
		rc = group_agree(t->run->world, together_share_stores(t->run, err), err);
	if (rc < 0 || !outcomes) {
		*status = EXIT_FAILED;
		goto out_free;
	}
	rc = together_status(t, outcomes, targets, status, stopped, err);
	for (uint32_t i = 0; t->run->results && t->run->measured && i < t->set->count; i++) {
		if (publish.code == 0 &&
		    together_publish(t, i, &outcomes[i], client, &publish) < 0 && rc == 0) {
			*err = publish;
			rc = publish.code;
			*status = EXIT_FAILED;
		}
	}
out_free:
	free(outcomes);
	return rc;
}

int together_do(struct run *run, const struct run_options *options, const struct phase_set *set,
		bool alone, struct repeat_targets *targets, enum exit_status *status,
		enum stop_reason *stopped, struct err *err)
{
	struct together *t = calloc(1, sizeof(*t));
	int rc = t ? 0 : err_set(err, -ENOMEM, "no memory for phases that run together");

	rc = group_agree(run->world, rc, err);
	if (rc < 0 || !t) {
		*status = EXIT_FAILED;
		free(t);
		return rc;
	}
	t->run = run;
	t->options = options;
	t->set = set;
	t->alone = alone;
	rc = together_open(t, err);
	if (rc < 0) {
		*status = EXIT_FAILED;
		goto out_close;
	}
	if (together_takes_part(t))
		together_run_own(t, err);
	else
		together_meet(t);
	together_progress_last(t);
	together_wait(t);
	together_progress_end(t);
	run->phase_end_ns = clock_now(&run->clock);
	rc = together_end(t, targets, status, stopped, err);
out_close:
	together_close(t);
	return rc;
}
