/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over epochs and evaluations. */
#include "workloads/train/pass.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "core/proc.h"
#include "core/units.h"

#define PASS_SHOW_NS 50000000u
#define PASS_NAP_NS  200000u

static const uint64_t compute_stream = 0x636f6d70; /* "comp" */

static bool pass_pause(void *pass)
{
	return pass_poll(pass);
}

static void pass_overdue(const struct pass *p, uint64_t since_ns)
{
	if (p->ctx->overdue)
		p->ctx->overdue(p->ctx->overdue_argument, since_ns);
}

enum stop_reason pass_stop_reason(const struct pass *p)
{
	const struct phase_context *ctx = p->ctx;
	enum stop_reason reason = p->mine, asked = ctx->stop ? stop_asked(ctx->stop) : STOP_NONE;
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
		pass_overdue(p, p->limit_ns);
	return reason;
}

void pass_status(const struct pass *p, struct status *s)
{
	*s = (struct status){
		.stop = pass_stop_reason(p),
		.unfinished = p->unfinished,
		.step = p->steps_done,
		.waiting = p->waiting,
		.merge = STATUS_MERGE(PASS_P99_NS, MERGE_MAX) |
			 STATUS_MERGE(PASS_COMPUTE_NS, MERGE_SUM) |
			 STATUS_MERGE(PASS_WALL_NS, MERGE_SUM) |
			 STATUS_MERGE(PASS_BYTES, MERGE_SUM) |
			 STATUS_MERGE(PASS_WRITING, MERGE_MAX),
		.word = {[PASS_P99_NS] = loader_live_p99_ns(&p->loader),
			 [PASS_COMPUTE_NS] = p->tally->rank_row[TRAIN_AU_COMPUTE_NS],
			 [PASS_WALL_NS] = p->tally->rank_row[TRAIN_AU_WALL_NS],
			 [PASS_BYTES] = loader_live_bytes(&p->loader),
			 [PASS_WRITING] = checkpoint_within_works(p->checkpoint)},
	};
	if (p->snapshot)
		s->snapshot = snapshot_poll(p->snapshot);
}

static void pass_figures(const struct progress *progress, struct progress_figures *out)
{
	const struct pass *p = progress->phase;
	const uint64_t *word = progress->merged->word;

	*out = (struct progress_figures){
		.work = p->epoch_row.source == PASS_EVALUATION ? "evaluation" : "train",
		.epoch = p->epoch_row.epoch,
		.epochs = p->options->epochs,
		.step = p->row ? p->row[EPOCH_STEPS] : 0,
		.steps = p->epoch_row.steps,
		.au = word[PASS_WALL_NS] && word[PASS_COMPUTE_NS]
			      ? (double)word[PASS_COMPUTE_NS] / (double)word[PASS_WALL_NS]
			      : NAN,
		.hit_share = NAN,
		.bytes = word[PASS_BYTES],
		.p99_ns = word[PASS_P99_NS],
	};
}

void pass_progress(struct pass *p)
{
	const struct phase_context *ctx = p->ctx;
	uint64_t now;
	double fraction, by_time;
	struct progress progress;

	if (!ctx->progress)
		return;
	now = clock_now(ctx->clock);
	if (now - p->shown_ns < PASS_SHOW_NS)
		return;
	p->shown_ns = now;
	fraction = p->steps_total ? (double)p->steps_done / (double)p->steps_total : 0;
	by_time =
		p->limit_ns ? (double)(now - p->start_ns) / (double)(p->limit_ns - p->start_ns) : 0;
	progress = (struct progress){
		.fraction = by_time > fraction ? by_time : fraction,
		.merged = &p->merged,
		.figures = pass_figures,
		.phase = p,
	};
	ctx->progress(ctx->progress_argument, &progress);
}

/* At once, wherever this rank is in its step, since another rank may wait for its batch. Compute
 * goes on meanwhile, and what exceeds it counts as haul's own, as in all that ends late; so does
 * what falls into a wait for other ranks. */
static void pass_publish(struct pass *p)
{
	uint64_t began_ns = clock_now(p->ctx->clock);

	if (!p->snapshot || p->merged.stop || !snapshot_publish(p->snapshot, &p->merged) ||
	    p->accounts.state != ACCOUNT_RANKS)
		return;
	account_switch(&p->accounts, ACCOUNT_HAUL, began_ns);
	account_switch(&p->accounts, ACCOUNT_RANKS, clock_now(p->ctx->clock));
}

bool pass_poll(struct pass *p)
{
	struct status mine;
	bool fresh;

	/* Where each step ends with a barrier, only a reason that cannot wait for it ends a step
	 * before; the others hear of it while they compute. */
	if (!p->rolling) {
		enum stop_reason reason = pass_stop_reason(p);

		if (reason > STOP_LIMIT)
			group_stop_tell(p->ctx->group, reason);
		return reason > STOP_LIMIT;
	}
	pass_status(p, &mine);
	status_rounds_poll(&p->status_rounds, &mine, &fresh);
	if (fresh) {
		p->merged = p->status_rounds.merged;
		pass_progress(p);
		pass_publish(p);
	}
	return p->status_rounds.over && p->status_rounds.merged.stop;
}

static void pass_session_begin(struct pass *p)
{
	struct status mine;

	p->unfinished = true;
	pass_status(p, &mine);
	status_rounds_begin(&p->status_rounds, p->ctx->group, &mine);
	p->rolling = true;
}

/* This rank has finished. It answers in status rounds until all have. */
static void pass_session_end(struct pass *p)
{
	struct clock *clock = p->ctx->clock;
	uint64_t began_ns = clock_now(clock), now;

	p->unfinished = false;
	account_switch(&p->accounts, ACCOUNT_RANKS, began_ns);
	while (pass_poll(p), !p->status_rounds.over)
		clock_sleep_until(clock, clock_now(clock) + PASS_NAP_NS);
	now = clock_now(clock);
	account_switch(&p->accounts, ACCOUNT_HAUL, now);
	p->rolling = false;
	p->stopped = p->status_rounds.merged.stop != STOP_NONE;
}

static uint64_t epoch_row_steps(const struct pass *p, enum pass_source source)
{
	return p->sequences[source].samples / p->sequences[source].batch;
}

/* What row i of the tally stands for: epochs in their order, and an evaluation after each `every`
 * of them. */
static struct epoch_row epoch_row_at(const struct pass *p, uint64_t i)
{
	uint64_t every = p->options->evaluation.every, left;
	struct epoch_row s = {.source = PASS_TRAIN, .epoch = i + 1};

	if (every && i % (every + 1) == every) {
		s.source = PASS_EVALUATION;
		s.epoch = i / (every + 1) * every + every;
	} else if (every) {
		s.epoch = i / (every + 1) * every + i % (every + 1) + 1;
	}
	s.steps = epoch_row_steps(p, s.source);
	if (s.source == PASS_TRAIN && p->options->steps) {
		left = p->options->steps - p->steps_done;
		s.steps = left < s.steps ? left : s.steps;
	}
	return s;
}

/* What the reads of this epoch would have found in the page cache. */
static void epoch_row_evidence(struct pass *p)
{
	const struct residency *before = &p->open_residency, seen = pass_residency(p);

	p->row[EPOCH_RESIDENT_SAMPLED_BYTES] = seen.sampled_bytes - before->sampled_bytes;
	p->row[EPOCH_RESIDENT_BYTES] = seen.resident_bytes - before->resident_bytes;
}

/* Blames a wait that was given up on what the reader, which rests now, was waiting for. */
static void epoch_row_blame(struct pass *p)
{
	uint64_t blamed[ACCOUNTS];

	if (!p->waited_ns)
		return;
	loader_blamed(&p->loader, p->waited_for, blamed);
	account_blame(&p->accounts, p->waited_ns, blamed);
	p->waited_ns = 0;
}

/* One epoch, or one evaluation. */
static void epoch_row_run(struct pass *p, uint32_t index)
{
	bool own = p->options->sync == SYNC_EPOCH ||
		   (p->options->sync == SYNC_STEP && p->epoch_row.source == PASS_EVALUATION);
	struct assignment a = {
		.source = p->epoch_row.source,
		.epoch = p->epoch_row.epoch,
		.batches = p->epoch_row.steps,
	};
	uint64_t ended_ns, k;

	p->epoch_row_index = index;
	p->row = train_epoch_begin(p->tally, index);
	p->row[EPOCH_NUMBER] = p->epoch_row.epoch;
	p->row[EPOCH_EVALUATION] = p->epoch_row.source == PASS_EVALUATION;
	p->open_bytes = loader_live_bytes(&p->loader);
	p->open_residency = pass_residency(p);
	order_epoch(&p->sequences[p->epoch_row.source].order, p->epoch_row.epoch);
	a.sequence = p->sequences[p->epoch_row.source];
	if (own)
		pass_session_begin(p);
	p->began_ns = clock_now(p->ctx->clock);
	account_switch(&p->accounts, ACCOUNT_HAUL, p->began_ns);
	p->before = p->accounts;
	p->row_open = true;
	p->now_ns = p->began_ns;
	p->blocked_ns = 0;
	if (pass_reads(p))
		loader_begin(&p->loader, &a);
	for (k = 0; k < p->epoch_row.steps && pass_step(p, k) && pass_checkpoint(p, k); k++)
		;
	ended_ns = p->now_ns;
	if (own) {
		pass_session_end(p);
		p->now_ns = p->accounts.since_ns;
	}
	if (p->options->sync != SYNC_NONE)
		handover_end(&p->parallel->handover);
	loader_end(&p->loader);
	epoch_row_blame(p);
	pass_close_row(p, p->tally, p->now_ns, p->now_ns - ended_ns);
	epoch_row_evidence(p);
	p->row_open = false;
}

/* Proves row i. Collective: a rank that never came to that row (it was stopped, without
 * synchronisation) takes part with an empty one. */
static int epoch_row_prove(struct pass *p, uint32_t i, struct err *err)
{
	uint64_t *row = train_epoch_begin(p->tally, i);
	struct epoch_row s = epoch_row_at(p, i);
	const struct proof_ranks ranks = {
		.all = p->ctx->group,
		.once = p->parallel->once,
		.handed = p->parallel->role == REPLICA_RECEIVES ? &p->handed[i] : NULL,
	};
	enum proof_verdict verdict;
	int rc;

	row[EPOCH_NUMBER] = s.epoch;
	row[EPOCH_EVALUATION] = s.source == PASS_EVALUATION;
	order_epoch(&p->sequences[s.source].order, s.epoch);
	account_switch(&p->accounts, ACCOUNT_RANKS, clock_now(p->ctx->clock));
	rc = proof_judge(&ranks, &p->sequences[s.source], p->taken[i], !p->error,
			 &p->parts[s.source], row, &verdict, err);
	account_switch(&p->accounts, ACCOUNT_HAUL, clock_now(p->ctx->clock));
	return rc;
}

/* Proves all rows of a pass without synchronisation: as many as the rank has that came furthest. */
static int pass_prove(struct pass *p, struct err *err)
{
	uint64_t rows = train_epochs(p->tally);
	uint32_t i;
	int rc = group_allreduce(p->ctx->group, MERGE_MAX, &rows, 1);

	for (i = 0; i < rows && rc == 0; i++)
		rc = epoch_row_prove(p, i, err);
	return rc;
}

/* The sentence about this rank's own error, and where the training was. */
static int pass_failure(struct pass *p, struct err *err)
{
	const struct failure *f;
	size_t length;

	if (!p->error)
		return 0;
	f = &loader_reader(&p->loader, p->error_by)->meter.failures[0];
	failure_compose(err, p->error, &p->inputs[p->epoch_row.source]->store, f->object, f->text,
			f->protocol_status, f->attempts);
	length = strlen(err->text);
	snprintf(err->text + length, sizeof(err->text) - length, " (epoch %u, step %u)", f->epoch,
		 f->step);
	return p->error;
}

static int pass_epoch_rows(struct pass *p, struct err *err)
{
	bool none = p->options->sync == SYNC_NONE;
	uint32_t i;
	int rc = 0;

	if (none)
		pass_session_begin(p);
	for (i = 0; i < p->epoch_rows && !p->stopped && rc == 0; i++) {
		p->epoch_row = epoch_row_at(p, i);
		if (!p->epoch_row.steps)
			break;
		rc = pass_cold(p, err);
		if (rc < 0)
			break;
		p->unfinished = true;
		epoch_row_run(p, i);
		if (!none)
			rc = epoch_row_prove(p, i, err);
		if (p->error)
			break;
		/* An epoch that the job's number of steps cuts short is the last one, and has no
		 * evaluation. */
		if (p->epoch_row.source == PASS_TRAIN &&
		    p->epoch_row.steps < epoch_row_steps(p, PASS_TRAIN))
			break;
	}
	if (!none)
		return rc;
	pass_session_end(p);
	handover_end(&p->parallel->handover);
	return pass_prove(p, err);
}

static void pass_sequences(struct pass *p)
{
	const struct train_options *o = p->options;
	struct rank_sequence *train = &p->sequences[PASS_TRAIN],
			     *evaluation = &p->sequences[PASS_EVALUATION];

	train_order(o, &p->inputs[PASS_TRAIN]->dataset, p->seed, &train->order);
	train->batch = o->batch;
	train->shuffle_samples = train_shuffle_samples(o);
	if (p->inputs[PASS_EVALUATION])
		order_init(&evaluation->order, ORDER_AS_IS, false, p->seed,
			   p->inputs[PASS_EVALUATION]->dataset.options.files,
			   p->inputs[PASS_EVALUATION]->dataset.options.samples_per_file);
	evaluation->batch = o->evaluation.batch;
	for (int s = 0; s < PASS_SOURCES && p->inputs[s]; s++) {
		p->sequences[s].interleave = train_interleave(o);
		p->sequences[s].rank = replicas_number(&p->parallel->replicas, p->ctx->group->rank);
		p->sequences[s].ranks = p->parallel->replicas.count;
		sequence_init(&p->sequences[s]);
	}
}

static int pass_open(struct pass *p, struct err *err)
{
	const struct train_options *o = p->options;
	const struct phase_context *ctx = p->ctx;
	struct loader_options l = {
		.kind = (enum loader_kind)o->loader.kind,
		.workers = (uint32_t)o->loader.workers,
		.prefetch = (uint32_t)o->loader.prefetch,
		.pin_memory = o->loader.pin_memory,
		.interleave = train_interleave(o),
		.shuffle_samples = train_shuffle_samples(o),
		.batch = o->batch,
	};
	struct reader_options w = {
		.clock = ctx->clock,
		.depth = UINT32_MAX,
		.decode = o->decode,
		.verify = o->verify,
		.cache_groups = (uint32_t)o->loader.keep,
		.evidence_bytes = o->cold.evidence_bytes,
		.count_errors = o->on_error == ON_ERROR_COUNT,
		.preprocess = o->preprocess,
		.seed = p->seed,
		.place = ctx->place,
		.layout = &train_meter,
		.sample_hist = TRAIN_HIST_SAMPLE,
		.snapshot = p->snapshot,
		.count = pass_count_reader,
		.pause = o->loader.workers ? NULL : pass_pause,
		.pause_argument = p,
	};
	int s;

	for (s = 0; s < PASS_SOURCES && p->inputs[s]; s++) {
		w.sources[s] = (struct source){&p->inputs[s]->dataset, &p->inputs[s]->store,
					       p->inputs[s]->sizes.request,
					       p->inputs[s]->sizes.buffer, p->inputs[s]->whole};
		w.depth = p->inputs[s]->depth < w.depth ? p->inputs[s]->depth : w.depth;
		w.source_count++;
	}
	pass_sequences(p);
	p->random =
		(struct random){.key = random_at(p->seed ^ compute_stream, ctx->place->rank, 0)};
	p->steps_total = epoch_row_steps(p, PASS_TRAIN) * o->epochs;
	if (o->steps && o->steps < p->steps_total)
		p->steps_total = o->steps;
	p->epoch_rows = p->tally->tables[TRAIN_TABLE_EPOCHS].capacity;
	p->taken = calloc(p->epoch_rows + 1, sizeof(*p->taken));
	p->handed = calloc(p->epoch_rows + 1, sizeof(*p->handed));
	if (!p->taken || !p->handed)
		return err_set(err, -ENOMEM, "no memory for %u epochs", p->epoch_rows);
	p->parallel->handover.pause = pass_pause;
	p->parallel->handover.pause_argument = p;
	return pass_reads(p) ? loader_open(&p->loader, &l, &w, err) : 0;
}

/* All ranks start together, unless one has been asked to stop already. */
static void pass_start(struct pass *p)
{
	struct status mine = {.stop = pass_stop_reason(p), .unfinished = 1};
	uint64_t run_ns;

	group_status(p->ctx->group, &mine, &p->merged);
	p->stopped = p->merged.stop != STOP_NONE;
	p->start_ns = clock_now(p->ctx->clock);
	p->limit_ns = p->options->seconds_ns ? p->start_ns + p->options->seconds_ns : 0;
	loader_start(&p->loader, p->start_ns);
	if (p->snapshot)
		snapshot_start(p->snapshot, p->start_ns);
	sched_times(&run_ns, &p->runnable_ns);
	timeline_init(p->tally->timeline, p->start_ns);
	account_start(&p->accounts, ACCOUNT_HAUL, p->start_ns);
}

int pass_run(struct pass *p, enum stop_reason *stopped, struct err *err)
{
	int rc;

	*stopped = STOP_NONE;
	rc = group_agree(p->ctx->group, pass_open(p, err), err);
	if (rc < 0)
		goto out_close;
	pass_start(p);
	rc = p->stopped ? 0 : pass_epoch_rows(p, err);
	/* A checkpoint under way may take as long as it takes. */
	pass_overdue(p, 0);
	pass_checkpoint_end(p);
	account_switch(&p->accounts, ACCOUNT_HAUL, clock_now(p->ctx->clock));
	pass_count(p);
	if (p->stopped)
		*stopped = (enum stop_reason)p->merged.stop;
	if (p->error)
		rc = pass_failure(p, err);
	if (p->checkpoint_rc < 0) {
		rc = p->checkpoint_rc;
		*err = p->checkpoint_err;
	}
	rc = group_agree(p->ctx->group, rc, err);
	if (rc == 0 && *stopped == STOP_ERROR)
		rc = err_set(err, -ECANCELED, "stopped by an error elsewhere in the run");
out_close:
	if (*stopped == STOP_LIMIT)
		pass_overdue(p, p->limit_ns);
	loader_close(&p->loader);
	pass_overdue(p, 0);
	free(p->taken);
	free(p->handed);
	return rc;
}
