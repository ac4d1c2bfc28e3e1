/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints between the steps of a pass: see checkpoint_step.h. */
#include "workloads/train/checkpoint_step.h"

#include "workloads/train/meeting.h"

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
	if (p->checkpoint.rc < 0 || !checkpoint_within_flies(p->checkpoint.run))
		return;
	account_switch(&p->accounts, ACCOUNT_CHECKPOINT, clock_now(p->ctx->clock));
	p->checkpoint.rc = checkpoint_within_land(
		p->checkpoint.run, p->meeting.stopped && p->meeting.merged.stop > STOP_LIMIT,
		&p->checkpoint.err);
	account_switch(&p->accounts, ACCOUNT_HAUL, clock_now(p->ctx->clock));
}
