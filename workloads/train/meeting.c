/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a pass tell each other: see state.h. */
#include "workloads/train/state.h"

#include <math.h>

#define MEETING_SHOW_NS 50000000u
#define MEETING_NAP_NS  200000u

void meeting_overdue(const struct pass *p, uint64_t since_ns)
{
	if (p->ctx->overdue)
		p->ctx->overdue(p->ctx->overdue_argument, since_ns);
}

enum stop_reason meeting_stop_reason(const struct pass *p)
{
	const struct phase_context *ctx = p->ctx;
	enum stop_reason reason = p->meeting.own,
			 asked = ctx->stop ? stop_asked(ctx->stop) : STOP_NONE;
	enum stop_reason heard = (enum stop_reason)group_stop_heard(ctx->group);
	uint64_t now;

	reason = asked > reason ? asked : reason;
	reason = heard > reason ? heard : reason;
	if (!ctx->deadline_ns && !p->limit_ns)
		return reason;
	now = clock_now(ctx->clock);
	if (ctx->deadline_ns && now >= ctx->deadline_ns && reason < STOP_DEADLINE)
		reason = STOP_DEADLINE;
	if (p->limit_ns && now >= p->limit_ns && reason < STOP_LIMIT)
		reason = STOP_LIMIT;
	/* A reader may be stuck in a call from before the limit. */
	if (reason == STOP_LIMIT && p->limit_ns)
		meeting_overdue(p, p->limit_ns);
	return reason;
}

void meeting_status(const struct pass *p, struct status *s)
{
	*s = (struct status){
		.stop = meeting_stop_reason(p),
		.unfinished = p->meeting.unfinished,
		.step = p->steps_done,
		.waiting = p->meeting.waiting,
		.merge = STATUS_MERGE(PASS_P99_NS, MERGE_MAX) |
			 STATUS_MERGE(PASS_COMPUTE_NS, MERGE_SUM) |
			 STATUS_MERGE(PASS_WALL_NS, MERGE_SUM) |
			 STATUS_MERGE(PASS_BYTES, MERGE_SUM) |
			 STATUS_MERGE(PASS_WRITING, MERGE_MAX),
		.word = {[PASS_P99_NS] = loader_live_p99_ns(&p->loader),
			 [PASS_COMPUTE_NS] = p->tally->rank_row[TRAIN_AU_COMPUTE_NS],
			 [PASS_WALL_NS] = p->tally->rank_row[TRAIN_AU_WALL_NS],
			 [PASS_BYTES] = loader_live_bytes(&p->loader),
			 [PASS_WRITING] = checkpoint_within_works(p->checkpoint.run)},
	};
	if (p->snapshot)
		s->snapshot = snapshot_poll(p->snapshot);
}

static void meeting_figures(const struct progress *progress, struct progress_figures *out)
{
	const struct pass *p = progress->phase;
	const uint64_t *word = progress->merged->word;

	*out = (struct progress_figures){
		.work = p->row.of.source == PASS_EVALUATION ? "evaluation" : "train",
		.epoch = p->row.of.epoch,
		.epochs = p->options->epochs,
		.step = p->row.words ? p->row.words[EPOCH_STEPS] : 0,
		.steps = p->row.of.steps,
		.au = word[PASS_WALL_NS] && word[PASS_COMPUTE_NS]
			      ? (double)word[PASS_COMPUTE_NS] / (double)word[PASS_WALL_NS]
			      : NAN,
		.hit_share = NAN,
		.bytes = word[PASS_BYTES],
		.p99_ns = word[PASS_P99_NS],
	};
}

void meeting_progress(struct pass *p)
{
	const struct phase_context *ctx = p->ctx;
	uint64_t now;
	double fraction, by_time;
	struct progress progress;

	if (!ctx->progress)
		return;
	now = clock_now(ctx->clock);
	if (now - p->meeting.shown_ns < MEETING_SHOW_NS)
		return;
	p->meeting.shown_ns = now;
	fraction = p->steps_total ? (double)p->steps_done / (double)p->steps_total : 0;
	by_time =
		p->limit_ns ? (double)(now - p->start_ns) / (double)(p->limit_ns - p->start_ns) : 0;
	progress = (struct progress){
		.fraction = by_time > fraction ? by_time : fraction,
		.merged = &p->meeting.merged,
		.figures = meeting_figures,
		.phase = p,
	};
	ctx->progress(ctx->progress_argument, &progress);
}

/* At once, wherever this rank is in its step, since another rank may wait for its batch. Compute
 * goes on meanwhile, and what exceeds it counts as haul's own, as in all that ends late; so does
 * what falls into a wait for other ranks. */
static void meeting_publish(struct pass *p)
{
	uint64_t began_ns = clock_now(p->ctx->clock);

	if (!p->snapshot || p->meeting.merged.stop ||
	    !snapshot_publish(p->snapshot, &p->meeting.merged) ||
	    p->accounts.state != ACCOUNT_RANKS)
		return;
	account_switch(&p->accounts, ACCOUNT_HAUL, began_ns);
	account_switch(&p->accounts, ACCOUNT_RANKS, clock_now(p->ctx->clock));
}

bool meeting_poll(struct pass *p)
{
	struct status mine;
	bool fresh;

	/* Where each step ends with a barrier, only a reason that cannot wait for it ends a step
	 * before; the others hear of it while they compute. */
	if (!p->meeting.rolling) {
		enum stop_reason reason = meeting_stop_reason(p);

		if (reason > STOP_LIMIT)
			group_stop_tell(p->ctx->group, reason);
		/* A step may last for minutes: what was known at its begin is shown meanwhile. */
		meeting_progress(p);
		return reason > STOP_LIMIT;
	}
	meeting_status(p, &mine);
	status_rounds_poll(&p->meeting.rounds, &mine, &fresh);
	if (fresh) {
		p->meeting.merged = p->meeting.rounds.merged;
		meeting_progress(p);
		meeting_publish(p);
	}
	return p->meeting.rounds.over && p->meeting.rounds.merged.stop;
}

void meeting_begin(struct pass *p)
{
	struct status mine;

	p->meeting.unfinished = true;
	meeting_status(p, &mine);
	status_rounds_begin(&p->meeting.rounds, p->ctx->group, &mine);
	p->meeting.rolling = true;
}

void meeting_end(struct pass *p)
{
	struct clock *clock = p->ctx->clock;
	uint64_t began_ns = clock_now(clock), now;

	p->meeting.unfinished = false;
	account_switch(&p->accounts, ACCOUNT_RANKS, began_ns);
	while (meeting_poll(p), !p->meeting.rounds.over)
		clock_sleep_until(clock, clock_now(clock) + MEETING_NAP_NS);
	now = clock_now(clock);
	account_switch(&p->accounts, ACCOUNT_HAUL, now);
	p->meeting.rolling = false;
	p->meeting.stopped = p->meeting.rounds.merged.stop != STOP_NONE;
}
