#include "workloads/train/train.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "workloads/dataset/dataset_probe.h"
#include "workloads/train/pass.h"

/* Where I/O is direct a worker's share of the buffers holds the blocks around a request, too. */
static void input_sizes(const struct train_options *o, struct pass_input *in)
{
	uint64_t budget = train_buffer_bytes(o, in->depth), bytes, window;
	uint64_t range = store_range(&in->store, train_longest(o, &in->dataset), in->depth);

	train_sizes(o, &in->dataset, in->store.ops->capabilities, range, budget, &in->sizes);
	bytes = in->sizes.window;
	window = queue_buffer_bytes(&in->store, bytes);
	if (window > budget && window - bytes < bytes)
		train_sizes(o, &in->dataset, in->store.ops->capabilities, range,
			    budget - (window - bytes), &in->sizes);
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
	in->depth = train_depth(o, store, &in->dataset);
	input_sizes(o, in);
	in->whole =
		store_can(&in->store, BACKEND_STREAMS) &&
		store_range(&in->store, train_longest(o, &in->dataset), in->depth) == UINT64_MAX;
	return dataset_probe(&in->dataset, &in->store, ctx->group, err);
}

/* By so much bytes moved differ from those of the samples before both are told. */
static const double told_share = 0.01;

/* What the proof says of the whole phase, for the report, and what it rests on: of a sample that was
 * kept, is too small or lies in a store without bytes only the plan knows the id. */
static void train_say(struct phase_context *ctx)
{
	const struct tally *t = ctx->tally;
	char samples[UNITS_TEXT_BYTES];
	char bytes[2][UNITS_TEXT_BYTES];
	uint64_t proven = 0, judged = 0, words[5];
	uint32_t epochs = train_epochs(t), i;

	for (i = 0; i < epochs; i++) {
		const uint64_t *row = train_epoch_row(t, i);

		judged += row[EPOCH_JUDGED];
		proven += row[EPOCH_PROVEN];
	}
	words[0] = t->rank_row[TRAIN_SAMPLES];
	words[1] = t->rank_row[TRAIN_LOGICAL_BYTES];
	words[2] = t->rank_row[TALLY_BYTES_READ];
	words[3] = t->rank_row[TRAIN_SAMPLES_FAILED];
	words[4] = t->rank_row[TRAIN_IDS_FROM_BYTES];
	if (group_allreduce(ctx->group, MERGE_SUM, words, 5) < 0)
		return;
	units_count(samples, words[0]);
	if (epochs && proven == epochs && words[3])
		snprintf(
			ctx->message, sizeof(ctx->message),
			"%s samples, %s more could not be read, each asked for exactly once an epoch",
			samples, units_count(bytes[0], words[3]));
	else if (epochs && proven == epochs)
		snprintf(ctx->message, sizeof(ctx->message),
			 "%s samples, each exactly once an epoch", samples);
	else if (proven == judged)
		snprintf(ctx->message, sizeof(ctx->message),
			 "%s samples; %llu of %u epochs ended unevenly and are not judged", samples,
			 (unsigned long long)(epochs - judged), epochs);
	if (!words[4] && words[0])
		workload_say(ctx, "ids as planned");
	else if (words[4] < words[0])
		workload_say(ctx, "%s ids from the bytes read, the others as planned",
			     units_count(samples, words[4]));
	if (fabs((double)words[2] - (double)words[1]) >= told_share * (double)words[1])
		workload_say(ctx, "%s of samples, %s moved",
			     units_bytes_decimal(bytes[0], (double)words[1]),
			     units_bytes_decimal(bytes[1], (double)words[2]));
}

/* And what else the reader of the report must know of these reads. */
static void say_of_reads(struct phase_context *ctx, const struct pass_input *in)
{
	const struct train_options *o = ctx->phase->options;
	const uint64_t *row = ctx->tally->rank_row;

	cold_say(ctx, &o->cold, &in->store, row[TRAIN_RESIDENT_SAMPLED_BYTES],
		 row[TRAIN_RESIDENT_BYTES], row[TALLY_BYTES_READ]);
	if (in->dataset.existing)
		workload_say(ctx, "not made by haul: bytes not verified");
}

static int train_pass(struct phase_context *ctx, struct pass_input inputs[PASS_SOURCES],
		      struct cold *cold, enum stop_reason *stopped, struct err *err)
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
	p->cold = cold;
	p->seed = ctx->job->seed;
	rc = pass_run(p, stopped, err);
	train_say(ctx);
	say_of_reads(ctx, &inputs[PASS_TRAIN]);
out_free:
	free(p);
	return rc;
}

/* Before the phase: memory taken, and everything dropped where the job says so. */
static int make_cold(const struct pass_input inputs[PASS_SOURCES], struct cold *cold,
		     struct err *err)
{
	const struct cold_options *o = cold->options;
	int rc = 0;

	for (unsigned s = 0; s < PASS_SOURCES && rc == 0 && o->drop != DROP_NONE; s++) {
		const struct cold_objects files = pass_objects(&inputs[s]);

		if (!inputs[s].open)
			continue;
		cold_warn(cold, &inputs[s].store);
		if (o->when == COLD_PHASE)
			rc = cold_drop_all(cold, &files, err);
	}
	return rc;
}

static int train_run(struct phase_context *ctx, enum stop_reason *stopped, struct err *err)
{
	const struct train_options *o = ctx->phase->options;
	struct pass_input *inputs = calloc(PASS_SOURCES, sizeof(*inputs));
	struct cold cold = {0};
	int rc, s;

	*stopped = STOP_NONE;
	rc = group_agree(ctx->group, inputs ? 0 : err_set(err, -ENOMEM, "no memory for the phase"),
			 err);
	if (rc < 0)
		goto out_free;
	rc = input_open(ctx, o->dataset, &inputs[PASS_TRAIN], err);
	if (rc == 0 && o->evaluation.every)
		rc = input_open(ctx, o->evaluation.dataset, &inputs[PASS_EVALUATION], err);
	if (rc == 0)
		rc = train_null(ctx, o, &inputs[PASS_TRAIN], err);
	if (rc == 0)
		rc = cold_open(&cold, &o->cold, ctx, err);
	if (rc == 0)
		rc = make_cold(inputs, &cold, err);
	if (rc == 0 && ctx->measure_from)
		ctx->measure_from(ctx->measure_from_argument);
	if (rc == 0)
		rc = train_pass(ctx, inputs, &cold, stopped, err);
	cold_close(&cold);
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
			.targets = train_targets,
			.owner = &train_workload,
		},
	.schema = &train_schema,
	.stores = train_stores,
	.check = train_check,
	.size = train_size,
	.schema_for = train_schema_for,
	.run = train_run,
};
