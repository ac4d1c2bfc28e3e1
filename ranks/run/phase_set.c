/* SPDX-License-Identifier: Apache-2.0 */
/* Phases that run at the same time, each on ranks of its own: see phase_set.h.
 *
 *	       team of all ranks: who has ended, failed or been asked to stop
 *	         │                      │                      │
 *	  team of phase 0        team of phase 1        ranks of no phase
 *	   opens its stores       opens its stores              │
 *	   ───────────────────── all meet ───────────────────────   (set_begin)
 *	   works, and ends        hears of it, ends             │
 *	   ──────────────────── all have ended ──────────────────   (set_wait)
 *	   record ──────────► rank 0 ──────────► all ranks          (set_exchange)
 *	   ───────── publication, one phase after the other ─────
 *
 * The first phase that ends tells the team of all, and the others end with it, unless the job says
 * "until": "all"; an error or a signal ends all of them. Reasons travel over the board of the team
 * of all; a phase hears them at its own status rounds (mpi_group_set_stop_asked).
 *
 * A phase alone has all ranks of the run and the boards of its nodes: it is not apart from others. So it meets nobody,
 * waits for nobody, and every rank knows its outcome. */
#include "ranks/run/phase_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/op_log/op_log.h"
#include "core/units.h"
#include "plan/plan.h"
#include "ranks/mpi/group.h"
#include "ranks/node/team.h"
#include "ranks/run/driver.h"
#include "ranks/run/publish.h"
#include "ranks/run/run.h"
#include "ranks/run/set_progress.h"

#define SET_NAP_NS 2000000u

/* What all ranks know of a phase that has ended. A fixed record from the phase's first rank. */
struct set_outcome {
	struct phase_record record;
	struct err err;
	uint64_t requests; /* see phase_requests */
	int32_t rc;
	uint32_t stopped, target_count;
	struct target_result targets[TARGETS_MAX], judged;
};

struct set_run {
	struct run *run;
	const struct run_options *options;
	const struct phase_set *set;
	bool apart;                       /* each phase has ranks of its own */
	uint32_t mine;                    /* of the set: this rank's phase; set->count: none */
	uint32_t heads[JOB_TOGETHER_MAX]; /* the first rank of each phase, in the team of all */
	struct team team_of_all, own;
	struct group *all;
	struct rank_place place; /* in its phase */
	struct phase_run p;
	struct set_progress progress;
	bool met;                      /* its phase has begun, or has ended without that */
	struct set_outcome outcomes[]; /* [set->count] */
};

static struct job_phase *set_phase(const struct set_run *t, uint32_t i)
{
	return &t->run->job.phases[t->set->index[i]];
}

static bool set_takes_part(const struct set_run *t)
{
	return t->mine < t->set->count;
}

/* The phase to which this rank belongs; as many as there are: none. */
static uint32_t set_mine(const struct set_run *t)
{
	uint32_t i;

	for (i = 0; t->apart && i < t->set->count; i++) {
		const struct job_set *set = &set_phase(t, i)->set;

		if (number_set_has(&set->numbers,
				   set->nodes[0] ? t->run->nodes.index : t->run->world->rank))
			break;
	}
	return i;
}

/* The first rank of each phase, as a number in the team of all. */
static int set_find_heads(struct set_run *t)
{
	uint64_t heads[JOB_TOGETHER_MAX];
	int rc;

	memset(heads, 0xff, sizeof(heads));
	if (set_takes_part(t))
		heads[t->mine] = t->all->rank;
	rc = group_allreduce(t->all, MERGE_MIN, heads, t->set->count);
	for (uint32_t i = 0; i < t->set->count; i++)
		t->heads[i] = (uint32_t)heads[i];
	return rc;
}

/* The job was checked as if ranks filled the nodes evenly. */
static int set_check_size(const struct set_run *t, struct err *err)
{
	const struct job_phase *phase = set_phase(t, t->mine);

	if (t->own.group->size == phase->set.rank_count)
		return 0;
	return err_set(
		err, -EINVAL,
		"%s/nodes: these nodes have %u ranks, not %u: ranks must be spread evenly over "
		"the nodes",
		phase->path, t->own.group->size, phase->set.rank_count);
}

/* Counts the null passes since it was called last, which come before the phase's work or after it.
 * Returns their seconds. */
static double set_null(struct set_run *t)
{
	double seconds = (double)t->p.null_ns / 1e9;

	t->p.null_ns = 0;
	t->run->own.seconds[OWN_NULL] += seconds;
	return seconds;
}

/* The phase's work begins: nobody begins before all are ready. What it counted before that is
 * dropped. */
static void set_begin(void *set)
{
	struct set_run *t = set;

	if (!t->met)
		group_barrier(t->all);
	t->met = true;
	phase_count_from(&t->p);
	run_lap(t->run, OWN_OPEN);
	t->run->own.seconds[OWN_OPEN] -= set_null(t);
}

static uint64_t set_stop_asked(void *set)
{
	const struct set_run *t = set;
	uint64_t heard = t->apart ? group_stop_heard(t->all) : STOP_NONE;

	return heard < STOP_LIMIT && driver_over(t->run) ? STOP_LIMIT : heard;
}

/* The context of this rank's phase. */
static int set_prepare(struct set_run *t, struct err *err)
{
	struct run *run = t->run;
	struct phase_context *ctx = &t->p.ctx;
	int rc;

	if (!set_takes_part(t))
		return 0;
	rc = phase_prepare(run, t->options, set_phase(t, t->mine), &t->p, err);
	if (rc < 0)
		return rc;
	t->p.alone = t->set->alone;
	mpi_group_set_stop_asked(t->own.group, set_stop_asked, t);
	ctx->group = t->own.group;
	ctx->node = t->own.node;
	ctx->measure_from = set_begin;
	ctx->measure_from_argument = t;
	if (t->apart) {
		t->place = run->place;
		plan_place_in(&run->job, &t->place, t->own.group->rank, t->own.group->size,
			      t->own.node->rank, t->own.node->size);
		ctx->place = &t->place;
		return set_check_size(t, err);
	}
	/* All ranks of the run take part in a publication, so those of other phases would have to
	 * know of it. */
	ctx->part = phase_part;
	ctx->part_argument = &t->p;
	ctx->publish_every_ns =
		run->results && t->p.workload->snapshots ? t->options->publish_every_ns : 0;
	ctx->publish = phase_publish_running;
	ctx->publish_argument = &t->p;
	return 0;
}

/* Where phases are apart: the ranks of this rank's phase, and all of the set. Collective. */
static int set_open_teams(struct set_run *t, struct err *err)
{
	struct run *run = t->run;
	int rc;

	rc = team_open(&t->team_of_all, &run->nodes, run->world, 0, err);
	t->all = t->team_of_all.group;
	if (rc == 0)
		rc = team_open(&t->own, &run->nodes, run->world, t->mine, err);
	if (rc == 0)
		rc = set_find_heads(t);
	/* All times of the phases are those of the clock of rank 0's node. */
	return rc == 0 ? group_broadcast(t->all, &t->p.utc_ns, sizeof(t->p.utc_ns)) : rc;
}

/* Ranks that stall are named from now on, by the phase's first rank, which the second one of its
 * node names. */
static int set_watch(struct set_run *t)
{
	struct run *run = t->run;
	struct group *node = t->own.node;
	uint64_t head = t->own.group->rank;
	int rc = group_broadcast(node, &head, sizeof(head));
	bool tells = t->own.group->rank == 0 || (head == 0 && node->rank == 1);

	node_watch_set(&t->own.status->watch, *run->label ? run->label : "rank 0",
		       tells ? &run->log : NULL, run->job.stall_limit_ns);
	return rc;
}

/* Teams, memory and contexts, on all ranks or on none. */
static int set_open(struct set_run *t, struct err *err)
{
	struct run *run = t->run;
	int rc = 0;

	t->mine = set_mine(t);
	t->p.run = run;
	t->p.utc_ns = run->clock.utc_ns - (uint64_t)run->nodes.offset_ns;
	t->all = run->world;
	if (t->apart)
		rc = group_agree(run->world, set_open_teams(t, err), err);
	else
		t->own = run->whole;
	if (rc == 0)
		rc = group_agree(run->world, set_prepare(t, err), err);
	if (rc < 0)
		return rc;
	t->progress = (struct set_progress){.run = run,
					    .p = &t->p,
					    .all = t->all,
					    .heads = t->heads,
					    .count = t->set->count,
					    .takes_part = set_takes_part(t),
					    .head = set_takes_part(t) && t->own.group->rank == 0};
	set_progress_begin(&t->progress, t->options);
	return set_watch(t);
}

static void set_close(struct set_run *t)
{
	t->run->phase = NULL;
	phase_close(&t->p);
	if (!t->apart)
		mpi_group_set_stop_asked(t->own.group, NULL, NULL);
	if (t->apart) {
		team_close(&t->own);
		team_close(&t->team_of_all);
	}
	free(t);
}

/* Why the others shall end when this rank's phase has ended. */
static enum stop_reason set_reason(const struct set_run *t)
{
	const struct job_phase *phase;

	if (!set_takes_part(t))
		return STOP_NONE;
	if (t->p.rc < 0)
		return STOP_OTHERS_FAILED;
	if (t->p.stopped > STOP_LIMIT)
		return t->p.stopped;
	phase = set_phase(t, t->mine);
	return phase->together->until == JOB_UNTIL_FIRST ? STOP_OTHERS_ENDED : STOP_NONE;
}

/* What publishing the phase while it ran has cost, or that it could not be published before its end. */
static void set_say_interim(struct set_run *t)
{
	struct phase_run *p = &t->p;
	char time[UNITS_TEXT_BYTES];

	if (t->options->publish_every_ns && t->run->results &&
	    (t->apart || !p->workload->snapshots))
		workload_say(
			&p->ctx,
			"published only now that %s ended: --publish-every has no effect on %s",
			t->apart ? "all phases of the set have" : "it has",
			t->apart ? "phases that run at the same time" : "a phase of this kind");
	if (p->interim_count)
		workload_say(&p->ctx, "published %u time%s while it ran, which took %s",
			     p->interim_count, p->interim_count == 1 ? "" : "s",
			     units_time(time, (double)p->interim_ns / 1e9));
}

static void set_run_own(struct set_run *t, struct err *err)
{
	struct run *run = t->run;
	struct phase_run *p = &t->p;

	/* A phase alone counts from here on, too: it may fail before its work begins. */
	if (!t->apart)
		set_begin(t);
	if (run->op_log) {
		op_log_phase(run->op_log, p->ctx.phase->name, run->at.run);
		p->log_dropped = op_log_dropped(run->op_log);
	}
	p->number = run->published + t->mine;
	run->phase = p;
	p->rc = workload_run(p->workload, &p->ctx, &p->stopped, err);
	watchdog_touch(&run->watchdog);
	p->finished_ns = phase_utc_ns(p);
	/* First: others wait in set_begin for this phase. */
	if (p->rc < 0 && t->apart)
		group_stop_tell(t->all, STOP_OTHERS_FAILED);
	if (!t->met)
		set_begin(t);
	set_null(t);
	set_say_interim(t);
	phase_count(p, p->tally.rank_row);
	p->counted = true;
}

/* Answers until all phases have ended. Whoever waits here passes on signals that came to it. */
static void set_wait(struct set_run *t)
{
	struct status mine = {.stop = set_reason(t)}, merged;
	struct clock *clock = &t->run->clock;

	if (mine.stop)
		group_stop_tell(t->all, mine.stop);
	group_status_post(t->all, &mine);
	while (!group_status_test(t->all, &merged)) {
		enum stop_reason asked = stop_asked(&t->run->stop);

		if (asked)
			group_stop_tell(t->all, asked);
		group_stop_heard(t->all);
		set_progress_wait(&t->progress);
		clock_sleep_until(clock, clock_now(clock) + SET_NAP_NS);
	}
}

/* The first rank of a node reports its stores, but others may have opened them. */
static int set_share_stores(struct run *run, struct err *err)
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
static void set_conclude(struct phase_run *p, struct set_outcome *o, struct err *err)
{
	phase_judge(p, err);
	run_rounds(p, err);
	o->requests = phase_requests(&p->tally, p->ctx.group);
	phase_describe(p, &p->tally, err, &o->record);
	o->rc = p->rc;
	o->stopped = p->stopped;
	o->target_count = p->target_count;
	memcpy(o->targets, p->targets, sizeof(o->targets));
	o->judged = p->judged;
	if (p->rc < 0)
		o->err = *err;
}

/* What became of phases on other ranks, and the stores that only these have opened. */
static int set_exchange(struct set_run *t, struct set_outcome *outcomes, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < t->set->count; i++) {
		struct set_outcome *o = &outcomes[i];

		if (t->heads[i] && t->all->rank == t->heads[i])
			rc = group_send(t->all, 0, o, sizeof(*o));
		else if (t->heads[i] && t->all->rank == 0)
			rc = group_receive(t->all, t->heads[i], o, sizeof(*o));
		if (rc == 0)
			rc = group_broadcast(t->all, o, sizeof(*o));
	}
	return rc < 0 ? rc : group_agree(t->run->world, set_share_stores(t->run, err), err);
}

/* Ranks of other phases take part with an empty tally. */
static int set_publish(struct set_run *t, uint32_t i, const struct set_outcome *o,
		       struct client_series *client, struct err *err)
{
	const struct job_phase *phase = set_phase(t, i);
	struct results_phase published = {.record = o->record,
					  .client = client,
					  .targets = o->targets,
					  .target_count = o->target_count};
	const char *path = t->options->results ? t->options->results : "results.h5";
	struct tally absent = {0};
	int rc = 0;

	if (i != t->mine)
		rc = workload_tally(phase->section->owner, phase, &absent, err);
	absent.absent = true;
	published.tally = i == t->mine ? &t->p.tally : &absent;
	if (t->apart)
		rc = group_agree(t->run->world, rc, err);
	if (rc == 0)
		rc = phase_publish(t->run, phase, &published, i == t->mine ? &t->p : NULL, err);
	if (absent.schema)
		tally_free(&absent);
	return rc < 0 ? err_wrap(err, rc, "%s", path) : 0;
}

/* Adds what the targets reached in this repeat. */
static void set_add_targets(const struct set_outcome *o, struct repeat_targets *into)
{
	into->count = o->target_count;
	for (uint32_t i = 0; i < o->target_count; i++) {
		into->results[i] = o->targets[i];
		into->sum[i] += o->targets[i].found;
	}
	into->judged = o->judged;
	into->repeats++;
}

/* The run goes on as the worst of the phases says. The first error keeps its sentence. */
static int set_status(struct set_run *t, const struct set_outcome *outcomes,
		      struct repeat_targets *targets, enum exit_status *status,
		      enum stop_reason *stopped, struct err *err)
{
	int rc = 0;

	*stopped = STOP_NONE;
	for (uint32_t i = 0; i < t->set->count; i++) {
		const struct set_outcome *o = &outcomes[i];

		if (o->rc < 0 && rc == 0) {
			*err = o->err;
			rc = o->rc;
		}
		if (o->stopped > *stopped)
			*stopped = (enum stop_reason)o->stopped;
		if (o->rc == 0 && o->stopped <= STOP_LIMIT && !t->set->alone)
			set_add_targets(o, &targets[t->set->index[i]]);
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

static int set_end(struct set_run *t, struct repeat_targets *targets, enum exit_status *status,
		   enum stop_reason *stopped, struct err *err)
{
	struct set_outcome *outcomes = t->outcomes;
	struct client_series *client = sampler_stop(t->run->sampler);
	struct err publish = {0};
	int rc = 0;

	if (set_takes_part(t))
		set_conclude(&t->p, &outcomes[t->mine], err);
	if (t->apart)
		rc = set_exchange(t, outcomes, &publish);
	if (rc < 0) {
		*err = publish;
		*status = EXIT_FAILED;
		return rc;
	}
	rc = set_status(t, outcomes, targets, status, stopped, err);
	for (uint32_t i = 0; t->run->results && t->run->measured && i < t->set->count; i++) {
		/* The error of a phase comes first and keeps its sentence. */
		if (publish.code == 0 && set_publish(t, i, &outcomes[i], client, &publish) < 0) {
			if (rc == 0)
				*err = publish;
			rc = rc < 0 ? rc : publish.code;
			*status = EXIT_FAILED;
		}
	}
	return rc;
}

int phase_set_do(struct run *run, const struct run_options *options, const struct phase_set *set,
		 struct repeat_targets *targets, enum exit_status *status,
		 enum stop_reason *stopped, struct err *err)
{
	struct set_run *t = calloc(1, sizeof(*t) + set->count * sizeof(t->outcomes[0]));
	int rc = t ? 0 : err_set(err, -ENOMEM, "no memory for a phase");

	rc = group_agree(run->world, rc, err);
	if (rc < 0 || !t) {
		*status = EXIT_FAILED;
		free(t);
		return rc;
	}
	t->run = run;
	t->options = options;
	t->set = set;
	t->apart = run->job.phases[set->index[0]].together != NULL;
	rc = set_open(t, err);
	if (rc < 0) {
		*status = EXIT_FAILED;
		goto out_close;
	}
	if (set_takes_part(t))
		set_run_own(t, err);
	else
		set_begin(t);
	set_progress_last(&t->progress);
	if (t->apart)
		set_wait(t);
	run_lap_skip(run);
	set_progress_end(&t->progress);
	run->phase_end_ns = clock_now(&run->clock);
	rc = set_end(t, targets, status, stopped, err);
	/* Who reads it may count on the file. */
	set_progress_done(&t->progress, rc < 0 ? "failed" : phase_status(&t->p));
	run_lap(run, OWN_PUBLISH);
out_close:
	set_close(t);
	return rc;
}
