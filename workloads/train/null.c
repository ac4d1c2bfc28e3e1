/* SPDX-License-Identifier: Apache-2.0 */
/* The null AU: the loop of the phase on null://, so that haul's own share of every result is on the
 * record. Data set, order, loader, requests and synchronisation are the phase's; bytes,
 * verification and preprocessing are left out, and compute is at most 5 ms per step, so that the
 * pass is short. A barrier among ranks that all come at once costs less than one that waits: so
 * where each step ends with a barrier, a rank comes late now and then. */
#include "workloads/train/null.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/common/null_pass.h"
#include "workloads/train/pass.h"

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
			     hist_quantile_ns(late, 0.5)};
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

int train_null(struct phase_context *ctx, const struct train_options *options,
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
