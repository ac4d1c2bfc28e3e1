/* Checkpoints between the steps of a training. All ranks have left the step's barrier, so no status round is under way;
 * readers go on reading ahead. What the training waits for its checkpoint is in an account of its own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "workloads/checkpoint/clean.h"
#include "workloads/train/pass.h"

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
	};
	if (out->store)
		return 0;
	return store[0] ? err_set(err, -EINVAL, "%s/store: there is no store \"%s\"", path, store)
			: err_set(err, -EINVAL, "%s: needs a \"store\"", path);
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
	if (o->sync != SYNC_STEP)
		return err_set(
			err, -EINVAL,
			"%s/checkpoint: all ranks meet for a checkpoint after a step; set sync to \"step\"",
			phase->path);
	rc = train_checkpoint_use(job, phase, path, &use, err);
	return rc < 0 ? rc : checkpoint_check_use(&use, ranks, err);
}

int train_checkpoint_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			    struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
			    struct err *err)
{
	const struct train_options *o = phase->options;
	char path[TRAIN_CHECKPOINT_PATH_BYTES];
	struct checkpoint_options options = o->checkpoint.options;
	struct checkpoint_use use;
	int rc;

	if (!train_checkpoints(o))
		return 0;
	rc = train_checkpoint_use(job, phase, path, &use, err);
	if (rc < 0)
		return rc;
	/* By steps, it depends on the data set how many there will be. */
	options.count = o->checkpoint.every_epochs ? o->epochs / o->checkpoint.every_epochs : 1;
	use.options = &options;
	return checkpoint_stores_use(&use, ranks, out, count, err);
}

int train_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	const struct job *job = ctx->job;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < job->phase_count; i++) {
		const struct job_phase *phase = &job->phases[i];
		char path[TRAIN_CHECKPOINT_PATH_BYTES];
		struct checkpoint_use use;

		if (phase->section->owner != &train_workload || !train_checkpoints(phase->options))
			continue;
		rc = train_checkpoint_use(job, phase, path, &use, err);
		if (rc == 0)
			rc = checkpoint_clean_use(ctx, &use, counts, err);
	}
	return rc;
}

static bool pass_checkpoint_due(const struct pass *p, uint64_t k)
{
	const struct train_checkpoint *c = &p->options->checkpoint;

	if (!p->checkpoint || p->epoch_row.source != PASS_TRAIN)
		return false;
	if (c->every_steps && p->steps_done % c->every_steps == 0)
		return true;
	return c->every_epochs && k + 1 == p->epoch_row.steps &&
	       p->epoch_row.epoch % c->every_epochs == 0;
}

bool pass_checkpoint(struct pass *p, uint64_t k)
{
	uint64_t *rank = p->tally->rank_row, began_ns = p->now_ns, blocked_ns;
	enum stop_reason stopped = STOP_NONE;

	if (!pass_checkpoint_due(p, k))
		return true;
	account_switch(&p->accounts, ACCOUNT_CHECKPOINT, began_ns);
	p->checkpoint_rc = checkpoint_within_write(p->checkpoint, &stopped, &p->checkpoint_err);
	p->now_ns = clock_now(p->ctx->clock);
	account_switch(&p->accounts, ACCOUNT_HAUL, p->now_ns);
	blocked_ns = p->now_ns - began_ns;
	p->blocked_ns += blocked_ns;
	rank[TRAIN_CHECKPOINTS]++;
	if (k >= p->options->warmup_steps)
		rank[TRAIN_AU_CHECKPOINT_NS] += blocked_ns;
	if (stopped != STOP_NONE || p->checkpoint_rc < 0) {
		p->merged.stop = p->checkpoint_rc < 0 ? STOP_ERROR : stopped;
		p->stopped = true;
	}
	return !p->stopped;
}
