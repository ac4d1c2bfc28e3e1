/* SPDX-License-Identifier: Apache-2.0 */
/* The workload: opens what the passes need, runs them, and says what came of it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "core/units.h"
#include "workloads/common/repeat.h"
#include "workloads/train/state.h"
#include "workloads/train/train.h"

/* The null AU: the loop of the phase on null://, so that haul's own share of every result is on the record. Data set, order,
 * loader, requests and synchronisation are the phase's; bytes, verification and preprocessing are left out, and compute is at most
 * 5 ms per step, so that the pass is short. A barrier among ranks that all come at once costs less than one that waits: so where
 * each step ends with a barrier, a rank comes late now and then. */

#define NULL_COMPUTE_NS 5000000.0

static void null_options(const struct train_options *from, struct train_options *o)
{
	double mean = draw_mean(&from->compute);

	*o = *from;
	o->epochs = from->null_steps;
	o->steps = from->null_steps;
	o->seconds_ns = 0;
	o->compute =
		(struct draw){DRAW_CONSTANT, mean < NULL_COMPUTE_NS ? mean : NULL_COMPUTE_NS, 0};
	o->preprocess = (struct draw){DRAW_CONSTANT, 0, 0};
	o->decode = 0;
	o->verify = VERIFY_NONE;
	o->loader.h2d = 0;
	o->loader.pin_memory = false;
	o->evaluation.every = 0;
	o->cold = (struct cold_options){.drop = DROP_NONE};
}

/* Mean compute, and beside it the median stall of a step on the rank where that is worst: of calm
 * steps, and of those in which a rank came late. Where a rank has counted no step there is no
 * figure: the measures stay 0. */
static int null_measure(struct group *g, const struct tally *t, const struct hist *late,
			double mean, uint64_t *row)
{
	uint64_t words[3] = {t->rank_row[TRAIN_STALL_MEDIAN_NS], t->rank_row[TRAIN_AU_STEPS] == 0,
			     quantile_ns(late, QUANTILE_P50)};
	int rc = group_allreduce(g, MERGE_MAX, words, 3);

	if (rc < 0 || words[1])
		return rc;
	row[TRAIN_NULL_COMPUTE_NS] = (uint64_t)mean;
	row[TRAIN_NULL_STALL_NS] = words[0];
	row[TRAIN_NULL_LATE_NS] = words[2];
	return 0;
}

/* The loop, and what its late steps cost. */
struct null_loop {
	struct pass pass;
	struct hist late;
};

/* The steps on the store of the pass. Collective. */
static int null_run(struct null_loop *loop, struct null_pass *n, const struct train_options *o,
		    const struct train_input *train, struct parallel *parallel, struct err *err)
{
	struct pass *p = &loop->pass;
	struct train_input input = *train;
	int rc = workload_store_open(&n->ctx, &n->store, &input.store, err);
	enum stop_reason stopped;

	input.open = rc == 0;
	rc = group_agree(n->ctx.group, rc, err);
	if (rc == 0) {
		p->ctx = &n->ctx;
		p->options = o;
		p->inputs[PASS_TRAIN] = &input;
		p->parallel = parallel;
		p->tally = &n->tally;
		if (o->sync == SYNC_STEP && n->ctx.group->size > 1)
			p->late = &loop->late;
		rc = pass_run(p, &stopped, err);
	}
	if (input.open)
		store_close(&input.store);
	return rc;
}

/* The same pass with the same options on null://, whose compute and stall it puts into ctx->tally.
 * Collective. */
static int train_null(struct phase_context *ctx, const struct train_options *options,
		      const struct train_input *train, struct parallel *parallel, struct err *err)
{
	double mean = draw_mean(&options->compute);
	struct train_options o;
	uint32_t rows_max[TALLY_TABLES_MAX] = {0};
	struct null_loop *loop;
	struct null_pass n;
	int rc;

	if (mean <= 0 || !options->null_steps)
		return 0;
	null_options(options, &o);
	loop = calloc(1, sizeof(*loop));
	rows_max[TRAIN_TABLE_EPOCHS] = (uint32_t)o.epochs;
	rc = null_pass_open(&n, ctx, &train_schema, rows_max, err);
	if (rc == 0 && !loop)
		rc = err_set(err, -ENOMEM, "no memory for the null pass");
	rc = group_agree(ctx->group, rc, err);
	if (rc == 0)
		rc = null_run(loop, &n, &o, train, parallel, err);
	if (rc == 0)
		rc = null_measure(ctx->group, &n.tally, &loop->late, mean, ctx->tally->rank_row);
	null_pass_close(&n);
	free(loop);
	return rc;
}

/* Sums over all ranks, for sentences about the whole phase. */
enum { SAY_SAMPLES, SAY_PAYLOAD, SAY_READ, SAY_FAILED, SAY_IDS, SAY_RECEIVED, SAY_WORDS };

/* What is known of the samples of both data sets together. */
static void train_know(struct phase_context *ctx, const struct train_input inputs[PASS_SOURCES],
		       const uint64_t words[SAY_WORDS])
{
	struct phase_proof *p = &ctx->proof;
	enum dataset_known known = KNOWN_COUNTED;
	bool existing = false;

	claim_begin(&p->claim);
	for (unsigned s = 0; s < PASS_SOURCES; s++) {
		const struct dataset_proof *proof = &inputs[s].proof;

		if (!inputs[s].open || !inputs[s].dataset.existing)
			continue;
		existing = true;
		dataset_claim(proof, &p->claim);
		known = dataset_known(proof) > known ? dataset_known(proof) : known;
		p->hole_bytes += proof->all.hole_bytes;
	}
	if (!existing && words[SAY_IDS]) {
		claim_add(&p->claim, CLAIM_HELD, "ids in the bytes that were read", NULL);
		snprintf(p->word, sizeof(p->word), "read");
		return;
	}
	if (!existing) {
		claim_add(&p->claim, CLAIM_UNKNOWN, "no bytes came that have ids",
			  "a store that keeps content, and samples of 8 bytes at least");
		known = KNOWN_AS_PLANNED;
	}
	snprintf(p->word, sizeof(p->word), "%s", dataset_known_words[known]);
}

/* Of samples: what is said where all epochs were proven. The rest of the sentence is what is known of
 * them. */
static void train_say_proven(struct phase_context *ctx, const char *samples, const char *failed)
{
	const struct phase_proof *p = &ctx->proof;
	bool held = claim_holds(p->claim.state);

	if (failed)
		workload_say(
			ctx,
			"%s, %s more could not be read, each asked for exactly once an epoch%s%s",
			samples, failed, held ? "" : ", ", held ? "" : p->word);
	else if (held)
		workload_say(ctx, "%s, each exactly once an epoch", samples);
	else
		workload_say(ctx, "%s %s, each asked for once an epoch", samples, p->word);
}

/* What the proof has shown: over how many epochs it was judged, and held. */
static void train_say_proof(struct phase_context *ctx, const uint64_t words[SAY_WORDS])
{
	const struct tally *t = ctx->tally;
	char samples[UNITS_COUNTED_BYTES], failed[UNITS_COUNTED_BYTES];
	uint64_t proven = 0, judged = 0;
	uint32_t epochs = train_epochs(t);

	for (uint32_t i = 0; i < epochs; i++) {
		const uint64_t *row = train_epoch_row(t, i);

		judged += row[EPOCH_JUDGED];
		proven += row[EPOCH_PROVEN];
	}
	units_counted(samples, words[SAY_SAMPLES], "sample");
	if (proven != judged)
		claim_add(&ctx->proof.claim, CLAIM_MISSED,
			  "an epoch had other samples than planned", NULL);
	else if (!epochs || words[SAY_FAILED] || proven != epochs)
		claim_add(&ctx->proof.claim, CLAIM_UNKNOWN,
			  words[SAY_FAILED] ? "samples that could not be read"
					    : "an epoch that was not judged",
			  "epochs that come to their end without errors");
	if (epochs && proven == epochs)
		train_say_proven(ctx, samples,
				 words[SAY_FAILED] ? units_count(failed, words[SAY_FAILED]) : NULL);
	else if (proven == judged)
		workload_say(ctx, "%s; %llu of %s ended unevenly and cannot be judged", samples,
			     (unsigned long long)(epochs - judged),
			     units_counted(failed, epochs, "epoch"));
}

/* Which ranks have read, where others had their batches or none. */
static void train_say_readers(struct phase_context *ctx, const struct replicas *r,
			      const uint64_t words[SAY_WORDS])
{
	uint32_t readers = r->count * r->readers;
	char bytes[UNITS_TEXT_BYTES];

	if (r->ranks == 1)
		return;
	if (r->handed_over)
		workload_say(ctx, "read by %u of %u ranks, which handed %s to the others", readers,
			     ctx->group->size,
			     units_bytes_decimal(bytes, (double)words[SAY_RECEIVED]));
	else if (readers < ctx->group->size)
		workload_say(ctx, "read by %u of %u ranks, every %u of them the same", readers,
			     ctx->group->size, r->readers);
	else
		workload_say(ctx, "every %u ranks read the same", r->readers);
}

/* From such a difference on, bytes read and bytes of samples are both worth a word. */
static const double train_say_difference = 0.01;

/* What the proof says of the whole phase, for the report, and what it rests on: the id of a sample
 * that was kept from an earlier read, is too small for one, or lies in a store without bytes is
 * known from the plan alone. */
static void train_say(struct phase_context *ctx, const struct train_input inputs[PASS_SOURCES],
		      const struct parallel *parallel)
{
	const uint64_t *row = ctx->tally->rank_row;
	uint64_t words[SAY_WORDS] = {
		[SAY_SAMPLES] = row[TRAIN_SAMPLES],    [SAY_PAYLOAD] = row[TRAIN_LOGICAL_BYTES],
		[SAY_READ] = row[TALLY_BYTES_READ],    [SAY_FAILED] = row[TRAIN_SAMPLES_FAILED],
		[SAY_IDS] = row[TRAIN_IDS_FROM_BYTES], [SAY_RECEIVED] = row[TRAIN_RECEIVED_BYTES],
	};
	char text[2][UNITS_TEXT_BYTES];
	double payload, read;

	if (group_allreduce(ctx->group, MERGE_SUM, words, SAY_WORDS) < 0)
		return;
	payload = (double)words[SAY_PAYLOAD];
	read = (double)words[SAY_READ];
	train_know(ctx, inputs, words);
	train_say_proof(ctx, words);
	train_say_readers(ctx, &parallel->replicas, words);
	if (!words[SAY_IDS] && words[SAY_SAMPLES] && claim_holds(ctx->proof.claim.state))
		workload_say(ctx, "ids as planned");
	else if (words[SAY_IDS] < words[SAY_SAMPLES])
		workload_say(ctx, "%s ids from the bytes read, the others as planned",
			     units_count(text[0], words[SAY_IDS]));
	if (fabs(read - payload) >= train_say_difference * payload)
		workload_say(ctx, "%s of samples, %s moved", units_bytes_decimal(text[0], payload),
			     units_bytes_decimal(text[1], read));
}

/* Samples that each epoch leaves out, as DLIO's do, whose epochs count whole steps of all ranks. */
static uint64_t train_dropped(const struct train_options *o, const struct dataset *d,
			      const struct replicas *r)
{
	return d->samples - train_steps(o, d, o->batch, r->count) * o->batch * r->count;
}

static void train_say_dropped(struct phase_context *ctx, const struct dataset *d)
{
	uint64_t dropped = ctx->tally->rank_row[TRAIN_SAMPLES_DROPPED];
	char text[UNITS_COUNTED_BYTES];

	if (dropped)
		workload_say(
			ctx,
			"%llu of %s dropped in each epoch, because they do not fill a step of all ranks",
			(unsigned long long)dropped, units_counted(text, d->samples, "sample"));
}

/* And what else the reader of the report must know of these reads. */
static void train_say_reads(struct phase_context *ctx, const struct train_input *in)
{
	const struct train_options *o = ctx->phase->options;
	const uint64_t *row = ctx->tally->rank_row;

	cold_say(ctx, &o->cold, &in->store, row[TRAIN_RESIDENT_SAMPLED_BYTES],
		 row[TRAIN_RESIDENT_BYTES], row[TALLY_BYTES_READ]);
	if (in->dataset.existing)
		workload_say(ctx, "not made by haul: bytes not verified; %s",
			     ctx->proof.claim.evidence);
}

struct train_run {
	struct phase_context *ctx;
	struct train_input inputs[PASS_SOURCES];
	struct parallel parallel;
	struct cold cold;
	struct checkpoint_run *checkpoint; /* NULL: none are written */
};

static int train_pass(struct train_run *r, enum stop_reason *stopped, struct err *err)
{
	struct phase_context *ctx = r->ctx;
	const struct train_options *o = ctx->phase->options;
	struct pass *p = calloc(1, sizeof(*p));
	struct snapshot snapshot = {0};
	int rc = p ? snapshot_open(&snapshot, ctx, (struct snapshot_hooks){.own = epoch_so_far}, p,
				   err)
		   : err_set(err, -ENOMEM, "no memory for the phase");

	rc = group_agree(ctx->group, rc, err);
	if (rc < 0)
		goto out_free;
	p->ctx = ctx;
	p->options = o;
	p->inputs[PASS_TRAIN] = &r->inputs[PASS_TRAIN];
	p->inputs[PASS_EVALUATION] = o->evaluation.every ? &r->inputs[PASS_EVALUATION] : NULL;
	p->parallel = &r->parallel;
	p->tally = ctx->tally;
	p->cold = &r->cold;
	p->checkpoint.run = r->checkpoint;
	p->snapshot = &snapshot;
	ctx->tally->rank_row[TRAIN_SAMPLES_DROPPED] =
		train_dropped(o, &r->inputs[PASS_TRAIN].dataset, &r->parallel.replicas);
	rc = pass_run(p, stopped, err);
	train_say(ctx, r->inputs, &r->parallel);
	train_say_dropped(ctx, &r->inputs[PASS_TRAIN].dataset);
	train_say_reads(ctx, &r->inputs[PASS_TRAIN]);
out_free:
	snapshot_close(&snapshot);
	free(p);
	return rc;
}

/* What counting has found, on this rank. */
static void train_counted(struct tally *t, const struct train_input inputs[PASS_SOURCES])
{
	for (unsigned s = 0; s < PASS_SOURCES; s++) {
		const struct dataset_counts *own = &inputs[s].proof.own;

		t->rank_row[TRAIN_FILES_COUNTED] += own->counted;
		t->rank_row[TRAIN_FILES_BY_SIZE] += own->by_size;
		t->rank_row[TRAIN_COUNT_BYTES] += own->read_bytes;
		t->rank_row[TRAIN_COUNT_NS] += own->ns;
		t->rank_row[TRAIN_HOLE_BYTES] += own->hole_bytes;
	}
}

/* Before the phase, everything is dropped from caches where the job says so. */
static int train_make_cold(const struct train_input inputs[PASS_SOURCES], struct cold *cold,
			   struct err *err)
{
	const struct cold_options *o = cold->options;
	int rc = 0;

	for (unsigned s = 0; s < PASS_SOURCES && rc == 0 && o->drop != DROP_NONE; s++) {
		const struct cold_objects files = train_input_objects(&inputs[s]);

		if (!inputs[s].open)
			continue;
		cold_warn(cold, &inputs[s].store);
		if (o->when == COLD_PHASE)
			rc = cold_drop_all(cold, &files, err);
	}
	return rc;
}

/* Batches are handed over in pieces as large as the loader's buffers. */
static uint64_t train_piece_bytes(const struct train_input inputs[PASS_SOURCES])
{
	uint64_t bytes = 0;

	for (unsigned s = 0; s < PASS_SOURCES; s++)
		if (inputs[s].open && inputs[s].sizes.buffer > bytes)
			bytes = inputs[s].sizes.buffer;
	return bytes < HANDOVER_PIECE_MAX ? bytes : HANDOVER_PIECE_MAX;
}

static int train_open(void *run, struct phase_context *ctx, struct err *err)
{
	struct train_run *r = run;
	const struct train_options *o = ctx->phase->options;
	char path[TRAIN_CHECKPOINT_PATH_BYTES];
	struct checkpoint_use use;
	int rc = train_input_open(ctx, o->dataset, &r->inputs[PASS_TRAIN], err);

	r->ctx = ctx;
	if (rc == 0 && o->evaluation.every)
		rc = train_input_open(ctx, o->evaluation.dataset, &r->inputs[PASS_EVALUATION], err);
	if (rc == 0)
		rc = parallel_open(&r->parallel, ctx, o->readers, train_piece_bytes(r->inputs),
				   err);
	if (rc == 0)
		rc = train_null(ctx, o, &r->inputs[PASS_TRAIN], &r->parallel, err);
	if (rc == 0)
		rc = cold_open(&r->cold, &o->cold, ctx, err);
	if (rc == 0)
		rc = train_make_cold(r->inputs, &r->cold, err);
	if (rc == 0 && train_checkpoints(o))
		rc = train_checkpoint_use(ctx->job, ctx->phase, path, &use, err);
	if (rc == 0 && train_checkpoints(o))
		rc = checkpoint_within_open(&r->checkpoint, ctx, &use, err);
	return rc;
}

static int train_work(void *run, enum stop_reason *stopped, struct err *err)
{
	struct train_run *r = run;

	workload_begin(r->ctx);
	train_counted(r->ctx->tally, r->inputs);
	return train_pass(r, stopped, err);
}

static void train_close(void *run)
{
	struct train_run *r = run;

	checkpoint_within_close(r->checkpoint);
	cold_close(&r->cold);
	parallel_close(&r->parallel, r->ctx);
	for (int s = PASS_SOURCES - 1; s >= 0; s--)
		train_input_close(&r->inputs[s]);
}

const struct workload train_workload = {
	.section = SECTION_OF(
		train,
		"epochs of training: batches read by a loader, emulated compute, synchronised ranks",
		train_targets, train_options),
	.schema = &train_schema,
	.purpose = PURPOSE_TRAINING,
	.stores = train_stores,
	.check = train_check,
	.size = train_size,
	.settle = train_settle,
	.rows = train_rows,
	.snapshots = true,
	.step_samples = train_step_samples,
	.tell = train_tell,
	.run_bytes = sizeof(struct train_run),
	.open = train_open,
	.work = train_work,
	.close = train_close,
	.clean = train_clean,
};
