/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over epochs and evaluations: see state.h. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "core/proc.h"
#include "workloads/train/state.h"

static const uint64_t compute_stream = 0x636f6d70; /* "comp" */

static bool pass_pause(void *pass)
{
	return meeting_poll(pass);
}

/* Proves all rows of a pass without synchronisation: as many as the rank has that came furthest. */
static int pass_prove(struct pass *p, struct err *err)
{
	uint64_t rows = train_epochs(p->tally);
	uint32_t i;
	int rc = group_allreduce(p->ctx->group, MERGE_MAX, &rows, 1);

	for (i = 0; i < rows && rc == 0; i++)
		rc = epoch_prove(p, i, err);
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
	failure_compose(err, p->error, &p->inputs[p->row.of.source]->store, f->object, f->text,
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
		meeting_begin(p);
	for (i = 0;
	     i < p->tally->tables[TRAIN_TABLE_EPOCHS].capacity && !p->meeting.stopped && rc == 0;
	     i++) {
		p->row.of = epoch_at(p, i);
		if (!p->row.of.steps)
			break;
		rc = epoch_cold(p, err);
		if (rc < 0)
			break;
		p->meeting.unfinished = true;
		epoch_run(p, i);
		if (!none)
			rc = epoch_prove(p, i, err);
		if (p->error)
			break;
		/* An epoch that the job's number of steps cuts short is the last one, and has no
		 * evaluation. */
		if (p->row.of.source == PASS_TRAIN && p->row.of.steps < epoch_steps(p, PASS_TRAIN))
			break;
	}
	if (!none)
		return rc;
	meeting_end(p);
	handover_end(&p->parallel->handover);
	return pass_prove(p, err);
}

static void pass_sequences(struct pass *p)
{
	const struct train_options *o = p->options;
	uint64_t seed = p->ctx->job->seed;
	struct rank_sequence *train = &p->sequences[PASS_TRAIN],
			     *evaluation = &p->sequences[PASS_EVALUATION];

	train_order(o, &p->inputs[PASS_TRAIN]->dataset, seed, &train->order);
	train->batch = o->batch;
	train->shuffle_samples = train_shuffle_samples(o);
	if (p->inputs[PASS_EVALUATION])
		order_init(&evaluation->order, ORDER_AS_IS, false, seed,
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
		.seed = ctx->job->seed,
		.place = ctx->place,
		.layout = &train_meter,
		.sample_hist = TRAIN_HIST_SAMPLE,
		.snapshot = p->snapshot,
		.count = pass_count_reader,
		.pause = o->loader.workers ? NULL : pass_pause,
		.pause_argument = p,
	};
	uint32_t rows = p->tally->tables[TRAIN_TABLE_EPOCHS].capacity;

	for (int s = 0; s < PASS_SOURCES && p->inputs[s]; s++) {
		w.sources[s] = (struct source){&p->inputs[s]->dataset, &p->inputs[s]->store,
					       p->inputs[s]->sizes.request,
					       p->inputs[s]->sizes.buffer, p->inputs[s]->whole};
		w.depth = p->inputs[s]->depth < w.depth ? p->inputs[s]->depth : w.depth;
		w.source_count++;
	}
	pass_sequences(p);
	p->random = (struct random){
		.key = random_at(ctx->job->seed ^ compute_stream, ctx->place->rank, 0)};
	p->steps_total = epoch_steps(p, PASS_TRAIN) * o->epochs;
	if (o->steps && o->steps < p->steps_total)
		p->steps_total = o->steps;
	p->proof.taken = calloc(rows + 1, sizeof(*p->proof.taken));
	p->proof.handed = calloc(rows + 1, sizeof(*p->proof.handed));
	if (!p->proof.taken || !p->proof.handed)
		return err_set(err, -ENOMEM, "no memory for %u epochs", rows);
	p->parallel->handover.pause = pass_pause;
	p->parallel->handover.pause_argument = p;
	return pass_reads(p) ? loader_open(&p->loader, &l, &w, err) : 0;
}

/* All ranks start together, unless one has been asked to stop already. */
static void pass_start(struct pass *p)
{
	struct status mine = {.stop = meeting_stop_reason(p), .unfinished = 1};
	uint64_t run_ns;

	group_status(p->ctx->group, &mine, &p->meeting.merged);
	p->meeting.stopped = p->meeting.merged.stop != STOP_NONE;
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
	rc = p->meeting.stopped ? 0 : pass_epoch_rows(p, err);
	/* A checkpoint under way may take as long as it takes. */
	meeting_overdue(p, 0);
	pass_checkpoint_end(p);
	account_switch(&p->accounts, ACCOUNT_HAUL, clock_now(p->ctx->clock));
	pass_count(p);
	if (p->meeting.stopped)
		*stopped = (enum stop_reason)p->meeting.merged.stop;
	if (p->error)
		rc = pass_failure(p, err);
	if (p->checkpoint.rc < 0) {
		rc = p->checkpoint.rc;
		*err = p->checkpoint.err;
	}
	rc = group_agree(p->ctx->group, rc, err);
	if (rc == 0 && *stopped == STOP_ERROR)
		rc = err_set(err, -ECANCELED, "stopped by an error elsewhere in the run");
out_close:
	if (*stopped == STOP_LIMIT)
		meeting_overdue(p, p->limit_ns);
	loader_close(&p->loader);
	meeting_overdue(p, 0);
	free(p->proof.taken);
	free(p->proof.handed);
	return rc;
}
