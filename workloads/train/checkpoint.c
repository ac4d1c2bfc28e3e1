/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints between the steps of a training: which there are, what they ask of the machine, and
 * how they are removed. */
#include "workloads/train/train.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "workloads/checkpoint/checkpoint.h"
#include "workloads/common/clean.h"
#include "workloads/train/state.h"

static bool pass_checkpoint_due(const struct pass *p, uint64_t k)
{
	const struct train_checkpoint *c = &p->options->checkpoint;

	if (!p->checkpoint.run || p->row.of.source != PASS_TRAIN)
		return false;
	if (c->every_steps && p->steps_done % c->every_steps == 0)
		return true;
	return k + 1 == p->row.of.steps && train_checkpoint_epoch(c, p->row.of.epoch);
}

/* What the training waits from began_ns on is a checkpoint's. */
static void pass_checkpoint_blocked(struct pass *p, uint64_t k, uint64_t began_ns)
{
	uint64_t blocked_ns;

	p->now_ns = clock_now(p->ctx->clock);
	account_switch(&p->accounts, ACCOUNT_HAUL, p->now_ns);
	blocked_ns = p->now_ns - began_ns;
	p->row.blocked_ns += blocked_ns;
	if (k >= p->options->warmup_steps)
		p->tally->rank_row[TRAIN_AU_CHECKPOINT_NS] += blocked_ns;
}

static bool pass_checkpoint_goes_on(struct pass *p, enum stop_reason stopped)
{
	if (stopped != STOP_NONE || p->checkpoint.rc < 0) {
		p->meeting.merged.stop = p->checkpoint.rc < 0 ? STOP_ERROR : stopped;
		p->meeting.stopped = true;
	}
	return !p->meeting.stopped;
}

bool pass_checkpoint(struct pass *p, uint64_t k)
{
	bool due = pass_checkpoint_due(p, k), written;
	uint64_t began_ns = p->now_ns;
	enum stop_reason stopped = STOP_NONE;

	/* All ranks have said at the barrier that their threads have written it. */
	written =
		checkpoint_within_flies(p->checkpoint.run) && !p->meeting.merged.word[PASS_WRITING];
	if (!due && !written)
		return true;
	account_switch(&p->accounts, ACCOUNT_CHECKPOINT, began_ns);
	if (written)
		p->checkpoint.rc =
			checkpoint_within_land(p->checkpoint.run, false, &p->checkpoint.err);
	if (due && p->checkpoint.rc == 0) {
		p->checkpoint.rc =
			checkpoint_within_write(p->checkpoint.run, &stopped, &p->checkpoint.err);
		p->tally->rank_row[TRAIN_CHECKPOINTS]++;
	}
	pass_checkpoint_blocked(p, k, began_ns);
	return pass_checkpoint_goes_on(p, stopped);
}

void pass_checkpoint_end(struct pass *p)
{
	if (p->checkpoint.rc < 0 || !p->checkpoint.run)
		return;
	/* A training that has written none waits for nothing, and its account stays at 0. */
	if (!checkpoint_within_flies(p->checkpoint.run) && !p->tally->rank_row[TRAIN_CHECKPOINTS])
		return;
	account_switch(&p->accounts, ACCOUNT_CHECKPOINT, clock_now(p->ctx->clock));
	p->checkpoint.rc = checkpoint_within_land(
		p->checkpoint.run, p->meeting.stopped && p->meeting.merged.stop > STOP_LIMIT,
		&p->checkpoint.err);
	if (p->checkpoint.rc == 0)
		p->checkpoint.rc = checkpoint_within_end(p->checkpoint.run, &p->checkpoint.err);
	account_switch(&p->accounts, ACCOUNT_HAUL, clock_now(p->ctx->clock));
}

int train_checkpoint_use(const struct job *job, const struct job_phase *phase,
			 char path[TRAIN_CHECKPOINT_PATH_BYTES], struct checkpoint_use *out,
			 struct err *err)
{
	const struct train_options *o = phase->options;
	const char *store = o->checkpoint.store;

	snprintf(path, TRAIN_CHECKPOINT_PATH_BYTES, "%.60s/checkpoint", phase->path);
	*out = (struct checkpoint_use){
		.job = job,
		.options = &o->checkpoint.options,
		.store = store[0]                ? job_find_store(job, store)
			 : job->store_count == 1 ? &job->stores[0]
						 : NULL,
		.path = path,
		.snapshot = o->checkpoint.async.snapshot,
		.d2h = o->checkpoint.async.d2h,
	};
	if (out->store)
		return 0;
	return store[0] ? err_set(err, -EINVAL, "%s/store: there is no store \"%s\"", path, store)
			: err_set(err, -EINVAL, "%s: needs a \"store\"", path);
}

bool train_checkpoint_epoch(const struct train_checkpoint *c, uint64_t epoch)
{
	uint64_t first = c->first_epoch ? c->first_epoch : c->every_epochs;

	return c->every_epochs && epoch >= first && (epoch - first) % c->every_epochs == 0;
}

/* An epoch that the job's number of steps cuts short ends with its last step. One that the limit of
 * time cuts short does not end. A step after which two checkpoints would be due has one. */
static uint64_t train_checkpoint_count(const struct train_options *o, const struct train_length *l)
{
	const struct train_checkpoint *c = &o->checkpoint;
	uint64_t count = c->every_steps ? l->done / c->every_steps : 0;

	for (uint64_t epoch = 1; epoch <= o->epochs && l->epoch; epoch++) {
		uint64_t end = epoch * l->epoch;

		if (end > l->phase)
			end = l->phase;
		if (end <= l->done && train_checkpoint_epoch(c, epoch))
			count += !c->every_steps || end % c->every_steps != 0;
		if (end == l->phase)
			break;
	}
	return count;
}

int train_checkpoint_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			   struct err *err)
{
	const struct train_options *o = phase->options;
	char path[TRAIN_CHECKPOINT_PATH_BYTES];
	struct checkpoint_use use;
	int rc;

	if (!train_checkpoints(o))
		return 0;
	if (phase->together)
		return err_set(
			err, -EINVAL,
			"%s/checkpoint: a training on a part of the ranks (ranks, nodes) writes no "
			"checkpoints; set every_epochs and every_steps to 0",
			phase->path);
	if (o->sync != SYNC_STEP)
		return err_set(
			err, -EINVAL,
			"%s/checkpoint: all ranks meet for a checkpoint after a step; set sync to \"step\"",
			phase->path);
	if (o->checkpoint.first_epoch && !o->checkpoint.every_epochs)
		return err_set(err, -EINVAL,
			       "%s/checkpoint/first_epoch: has no meaning without \"every_epochs\"",
			       phase->path);
	if (o->checkpoint.async.d2h && o->checkpoint.async.snapshot == CHECKPOINT_SNAPSHOT_NONE)
		return err_set(
			err, -EINVAL,
			"%s/checkpoint/async/d2h: nothing is copied without a snapshot; set \"snapshot\", or leave "
			"it out",
			phase->path);
	rc = train_checkpoint_use(job, phase, path, &use, err);
	return rc < 0 ? rc : checkpoint_check_use(&use, ranks, err);
}

/* The checkpoints of the whole phase, as one phase "checkpoint" would write them. */
struct train_checkpoint_all {
	char path[TRAIN_CHECKPOINT_PATH_BYTES];
	struct checkpoint_options options;
	struct checkpoint_use use;
};

static int train_checkpoint_all(const struct job *job, const struct job_phase *phase,
				uint32_t ranks, struct train_checkpoint_all *out, struct err *err)
{
	const struct train_options *o = phase->options;
	const struct job_store *store;
	struct train_length length;
	struct replicas replicas;
	struct dataset d;
	int rc = train_checkpoint_use(job, phase, out->path, &out->use, err);

	if (rc == 0)
		rc = train_dataset(job, phase, o->dataset, &d, &store, err);
	if (rc < 0)
		return rc;
	replicas_init(&replicas, o->readers, &job->cluster, ranks);
	train_length(o, train_steps(o, &d, o->batch, replicas.count), &length);
	out->options = o->checkpoint.options;
	out->options.count = train_checkpoint_count(o, &length);
	out->use.options = &out->options;
	return 0;
}

int train_checkpoint_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			    struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
			    struct err *err)
{
	struct train_checkpoint_all all;
	int rc;

	if (!train_checkpoints(phase->options))
		return 0;
	rc = train_checkpoint_all(job, phase, ranks, &all, err);
	return rc < 0 ? rc : checkpoint_stores_use(&all.use, ranks, out, count, err);
}

int train_checkpoint_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			  uint32_t ranks_per_node, uint64_t *count, struct demand *out,
			  struct err *err)
{
	struct train_checkpoint_all all;
	int rc;

	*count = 0;
	*out = (struct demand){0};
	if (!train_checkpoints(phase->options))
		return 0;
	rc = train_checkpoint_all(job, phase, ranks, &all, err);
	if (rc < 0)
		return rc;
	*count = all.options.count;
	return checkpoint_size_use(&all.use, ranks, ranks_per_node, out, err);
}

int train_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	const struct job *job = ctx->job;
	struct err one = {0};
	int rc = 0, first = 0;

	for (uint32_t i = 0; i < job->phase_count; i++) {
		const struct job_phase *phase = &job->phases[i];
		char path[TRAIN_CHECKPOINT_PATH_BYTES];
		struct checkpoint_use use;

		if (phase->section->owner != &train_workload || !train_checkpoints(phase->options))
			continue;
		rc = train_checkpoint_use(job, phase, path, &use, &one);
		if (rc == 0)
			rc = checkpoint_clean_use(ctx, &use, counts, &one);
		if (!clean_goes_on(rc, &one, &first, err))
			break;
	}
	return first;
}
