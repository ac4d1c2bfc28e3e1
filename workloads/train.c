#include "workloads/train.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "workloads/existing.h"
#include "workloads/train_pass.h"

/* Bytes a request of this store has here: an extent whole where it gives no bytes anyway; else what a
 * worker's share of the buffers holds, the blocks around it included where I/O is direct. */
static uint64_t request_bytes(const struct train_options *o, const struct pass_input *in)
{
	uint64_t budget = train_window(o, in->depth), transfer = store_transfer(&in->store);
	uint64_t largest = dataset_extent_bytes_max(&in->dataset) + WORKER_PIECE_BYTES, bytes,
		 window;

	if (!store_can(&in->store, BACKEND_CONTENT))
		return transfer;
	bytes = worker_request_bytes(transfer, budget, largest);
	window = queue_window(&in->store, bytes);
	if (window > budget && window - bytes < bytes)
		bytes = worker_request_bytes(transfer, budget - (window - bytes), largest);
	return bytes;
}

static int input_open(struct phase_context *ctx, const char *name, struct pass_input *in,
		      struct err *err)
{
	const struct train_options *o = ctx->phase->options;
	const struct job_store *store = NULL;
	int rc;

	rc = train_dataset(ctx->job, ctx->phase, name, &in->dataset, &store, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc < 0)
		return rc;
	rc = workload_store_open(ctx, store, &in->store, err);
	in->open = rc == 0;
	if (rc == 0)
		rc = dataset_open(&in->dataset, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc < 0)
		return rc;
	in->depth = train_depth(o, store);
	in->request_bytes = request_bytes(o, in);
	return existing_check(&in->dataset, &in->store, ctx->group, err);
}

/* What the proof says of the whole phase, for the report. */
static void train_say(struct phase_context *ctx)
{
	const struct tally *t = ctx->tally;
	char samples[UNITS_TEXT_BYTES];
	uint64_t proven = 0, judged = 0, read = 0;
	uint32_t i;

	for (i = 0; i < t->epochs; i++) {
		const uint64_t *row = t->epoch_rows + (size_t)i * EPOCH_MEASURES;

		judged += row[EPOCH_JUDGED];
		proven += row[EPOCH_PROVEN];
	}
	read = t->rank_row[TRAIN_SAMPLES];
	if (group_allreduce(ctx->group, MERGE_SUM, &read, 1) < 0)
		return;
	units_count(samples, read);
	if (t->epochs && proven == t->epochs)
		snprintf(ctx->said, sizeof(ctx->said), "%s samples, each exactly once an epoch",
			 samples);
	else if (proven == judged)
		snprintf(ctx->said, sizeof(ctx->said),
			 "%s samples; %llu of %u epochs ended unevenly and are not judged", samples,
			 (unsigned long long)(t->epochs - judged), t->epochs);
}

static int train_pass(struct phase_context *ctx, struct pass_input inputs[PASS_SOURCES],
		      enum stop_reason *stopped, struct err *err)
{
	const struct train_options *o = ctx->phase->options;
	struct pass *p = calloc(1, sizeof(*p));
	int rc;

	rc = group_agree(ctx->group, p ? 0 : err_set(err, -ENOMEM, "no memory for the phase"), err);
	if (rc < 0)
		goto out_free;
	p->ctx = ctx;
	p->options = o;
	p->inputs[PASS_TRAIN] = &inputs[PASS_TRAIN];
	p->inputs[PASS_EVALUATION] = o->evaluation.every ? &inputs[PASS_EVALUATION] : NULL;
	p->tally = ctx->tally;
	p->seed = ctx->job->seed;
	rc = pass_run(p, stopped, err);
	train_say(ctx);
out_free:
	free(p);
	return rc;
}

static int train_run(struct phase_context *ctx, enum stop_reason *stopped, struct err *err)
{
	const struct train_options *o = ctx->phase->options;
	struct pass_input *inputs = calloc(PASS_SOURCES, sizeof(*inputs));
	int rc, s;

	*stopped = STOP_NONE;
	ctx->null_au = NAN;
	ctx->target_au = o->target_au > 0 ? o->target_au : NAN;
	rc = group_agree(ctx->group, inputs ? 0 : err_set(err, -ENOMEM, "no memory for the phase"),
			 err);
	if (rc < 0)
		goto out_free;
	rc = input_open(ctx, o->dataset, &inputs[PASS_TRAIN], err);
	if (rc == 0 && o->evaluation.every)
		rc = input_open(ctx, o->evaluation.dataset, &inputs[PASS_EVALUATION], err);
	if (rc == 0)
		rc = train_null(ctx, o, &inputs[PASS_TRAIN], &ctx->null_au, err);
	if (rc == 0 && ctx->begins)
		ctx->begins(ctx->begins_argument);
	if (rc == 0)
		rc = train_pass(ctx, inputs, stopped, err);
	for (s = PASS_SOURCES - 1; s >= 0; s--)
		if (inputs[s].open) {
			dataset_close(&inputs[s].dataset);
			store_close(&inputs[s].store);
		}
out_free:
	free(inputs);
	return rc;
}

const struct workload train_workload = {
	.section =
		{
			.name = "train",
			.help = "epochs of training: batches read by a loader, emulated compute, synchronised ranks",
			.tables = {train_options, NULL},
			.size = sizeof(struct train_options),
			.owner = &train_workload,
		},
	.schema = &train_schema,
	.needs = BACKEND_RANGES,
	.check = train_check,
	.size = train_size,
	.epoch_rows = train_epoch_rows,
	.run = train_run,
};
