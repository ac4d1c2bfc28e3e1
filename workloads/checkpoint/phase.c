/* SPDX-License-Identifier: Apache-2.0 */
/* The workload "checkpoint": see checkpoint.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/checkpoint/run.h"
#include "workloads/common/repeat.h"

static void checkpoint_null_options(const struct checkpoint_options *from,
				    struct checkpoint_options *o)
{
	*o = *from;
	o->count = from->null_passes;
	o->pause_ns = 0;
	o->keep = 0;
	o->purge = CHECKPOINT_PURGE_RANKS;
	o->collectives = CHECKPOINT_COLLECTIVES_NONE;
	o->consolidate = CHECKPOINT_CONSOLIDATE_NONE;
	o->fill = CHECKPOINT_FILL_STREAM;
	o->behind = CHECKPOINT_BEHIND_NONE;
	o->verify = VERIFY_NONE;
	o->cold = (struct cold_options){.drop = DROP_NONE};
}

static void checkpoint_null_count(const struct tally *pass, uint64_t *row)
{
	const uint64_t *of = pass->rank_row;

	row[CHECKPOINT_NULL_NS] = of[CHECKPOINT_WRITE_SLOWEST_NS] + of[CHECKPOINT_READ_SLOWEST_NS];
	row[CHECKPOINT_NULL_BYTES] =
		of[CHECKPOINT_WRITE_DONE_BYTES] + of[CHECKPOINT_READ_DONE_BYTES];
}

/* Counts what haul itself costs: the same checkpoints on null://, before the first one that counts.
 * Files, pieces, requests and synchronisation are the phase's; bytes are neither made nor compared.
 * Collective. */
static int checkpoint_null(const struct phase_context *ctx,
			   const struct checkpoint_options *options, struct err *err)
{
	enum stop_reason stopped = STOP_NONE;
	struct checkpoint_options o;
	struct checkpoint_run *r;
	struct null_pass n;
	int rc;

	if (!options->null_passes)
		return 0;
	checkpoint_null_options(options, &o);
	rc = null_pass_open(&n, ctx, &checkpoint_schema, NULL, err);
	r = calloc(1, sizeof(*r));
	if (rc == 0)
		rc = group_agree(ctx->group,
				 r ? 0 : err_set(err, -ENOMEM, "no memory for the null pass"), err);
	if (rc == 0 && r) {
		r->ctx = &n.ctx;
		r->options = &o;
		r->described = &n.store;
		rc = checkpoint_open(r, err);
		r->repeat.at_once = true;
		if (rc == 0)
			rc = checkpoint_all(r, &stopped, err);
		checkpoint_close(r);
	}
	if (rc == 0 && stopped == STOP_NONE)
		checkpoint_null_count(&n.tally, ctx->tally->rank_row);
	free(r);
	null_pass_close(&n);
	return rc;
}

/* Whether storing bytes took longer, or making them. Collective. */
static void checkpoint_say_bottleneck(struct checkpoint_run *r)
{
	const uint64_t *row = r->ctx->tally->rank_row;
	uint64_t words[3] = {row[CHECKPOINT_FILL_NS], row[CHECKPOINT_STORE_NS],
			     row[CHECKPOINT_WRITE_NS]};
	bool store;

	if (group_allreduce(r->ctx->group, MERGE_SUM, words, 3) < 0 || !words[2])
		return;
	store = words[1] >= words[0];
	workload_say(r->ctx, "%s, which took %.0f %% of the time that writing did",
		     store ? "the bottleneck was the store" : "the bottleneck was making bytes",
		     100 * (double)words[store] / (double)words[2]);
}

/* What a training loses by checkpoints and failures, and the interval at which it loses least. Collective. */
static void checkpoint_say_goodput(struct checkpoint_run *r)
{
	uint64_t words[CHECKPOINT_MEASURES];
	char mtbf[UNITS_TEXT_BYTES], text[UNITS_TEXT_BYTES];

	memcpy(words, r->ctx->tally->rank_row, sizeof(words));
	if (!r->options->mtbf_ns ||
	    group_allreduce(r->ctx->group, MERGE_MAX, words, CHECKPOINT_MEASURES) < 0 ||
	    !words[CHECKPOINT_WRITTEN])
		return;
	units_time(mtbf, (double)r->options->mtbf_ns * 1e-9);
	workload_say(
		r->ctx,
		"with a failure every %s, the best interval is %s: %.2f %% of the time is lost%s",
		mtbf, units_time(text, checkpoint_best_interval(words)),
		100 * checkpoint_lost_at_best(words),
		words[CHECKPOINT_READ_BACK] ? ""
					    : ", and what a load takes, which was not measured");
	if (r->options->interval_ns)
		workload_say(
			r->ctx,
			"a failure every %s: least is lost (%.2f %%%s) with a checkpoint every %s",
			mtbf, 100 * checkpoint_lost_at_best(words),
			words[CHECKPOINT_READ_BACK] ? "" : ", no load measured",
			units_time(text, checkpoint_best_interval(words)));
	if (r->options->interval_ns)
		workload_say(r->ctx, "every %s, %.2f %%",
			     units_time(text, (double)r->options->interval_ns * 1e-9),
			     100 * checkpoint_lost(words));
}

static void checkpoint_say(void *run)
{
	struct checkpoint_run *r = run;
	const uint64_t *row = r->ctx->tally->rank_row;
	char count[UNITS_COUNTED_BYTES];

	if (row[CHECKPOINT_WRITTEN])
		workload_say(r->ctx, "wrote %s",
			     units_counted(count, row[CHECKPOINT_WRITTEN], "checkpoint"));
	checkpoint_say_bottleneck(r);
	if (row[CHECKPOINT_READ_BACK])
		workload_say(r->ctx, "read %s",
			     units_counted(count, row[CHECKPOINT_READ_BACK], "checkpoint"));
	checkpoint_say_goodput(r);
	if (checkpoint_reads(r->options))
		cold_say(r->ctx, &r->options->cold, &r->store,
			 row[CHECKPOINT_RESIDENT_SAMPLED_BYTES], row[CHECKPOINT_RESIDENT_BYTES],
			 row[TALLY_BYTES_READ]);
}

static int checkpoint_phase_open(void *run, struct phase_context *ctx, struct err *err)
{
	struct checkpoint_run *r = run;
	int rc = phase_store_find(ctx->job, ctx->phase, &r->described, err);

	r->ctx = ctx;
	r->options = ctx->phase->options;
	if (rc == 0)
		rc = checkpoint_null(ctx, r->options, err);
	return rc == 0 ? checkpoint_open(r, err) : rc;
}

static int checkpoint_phase_work(void *run, enum stop_reason *stopped, struct err *err)
{
	return checkpoint_all(run, stopped, err);
}

static void checkpoint_phase_measure(void *run)
{
	struct checkpoint_run *r = run;

	if (r->crew.members && r->repeat.begun)
		checkpoint_measure(r);
}

static void checkpoint_phase_close(void *run)
{
	checkpoint_close(run);
}

/* A row for each checkpoint. */
static void checkpoint_rows_max(const struct job_phase *phase, uint32_t rows_max[TALLY_TABLES_MAX])
{
	const struct checkpoint_options *o = phase->options;

	rows_max[CHECKPOINT_TABLE_ROWS] = (uint32_t)o->count;
}

const struct workload checkpoint_workload = {
	.section = SECTION_OF(checkpoint, "writes and reads checkpoints of a model",
			      checkpoint_targets, checkpoint_options_table),
	.schema = &checkpoint_schema,
	.purpose = PURPOSE_CHECKPOINTS,
	.snapshots = true,
	.rows = checkpoint_rows_max,
	.stores = checkpoint_stores,
	.check = checkpoint_check,
	.size = checkpoint_size,
	.settle = checkpoint_settle,
	.tell = checkpoint_tell,
	.run_bytes = sizeof(struct checkpoint_run),
	.open = checkpoint_phase_open,
	.work = checkpoint_phase_work,
	.measure = checkpoint_phase_measure,
	.say = checkpoint_say,
	.close = checkpoint_phase_close,
	.clean = checkpoint_clean,
};
