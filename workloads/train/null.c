/* The null AU: the loop of the phase on null://, so that haul's own share of every result is on the record. Data
 * set, order, loader, requests and synchronisation are the phase's; bytes, verification and preprocessing are left
 * out, and compute is at most 5 ms per step, so that the pass is short. A barrier among ranks that all come at once
 * costs less than one that waits: so where each step ends with a barrier, a rank comes late now and then. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/train/pass.h"

#define NULL_COMPUTE_NS 5000000.0

static int null_store(struct arena *arena, struct job_store *out, struct err *err)
{
	const struct backend_ops *ops = backend_find("null");
	struct cJSON *object = cJSON_CreateObject();
	void *options;
	int rc;

	if (!ops) {
		cJSON_Delete(object);
		return err_set(err, -ENOTSUP, "this haul was built without null://");
	}
	options = arena_alloc(arena, ops->section.size);
	if (!options || !object || !cJSON_AddStringToObject(object, "uri", "null://null")) {
		cJSON_Delete(object);
		return err_set(err, -ENOMEM, "no memory for a null:// store");
	}
	rc = options_parse(ops->section.tables, options, object, "null://", arena, err);
	cJSON_Delete(object);
	*out = (struct job_store){.name = "null", .section = &ops->section, .options = options};
	return rc;
}

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

/* Mean compute, and beside it the median stall of a step on the rank where that is worst: of calm steps, and of those
 * in which a rank came late. Where a rank has counted no step there is no figure: the measures stay 0. */
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

/* The pass, and what its late steps cost. */
struct null_pass {
	struct pass pass;
	struct hist late;
};

static int null_tally(struct tally *tally, const struct train_options *o, struct arena *arena,
		      struct err *err)
{
	const struct tally_schema *schema = train_schema_with((uint32_t)o->epochs, arena);

	return schema ? tally_init(tally, schema, err)
		      : err_set(err, -ENOMEM, "no memory for the null pass");
}

int train_null(struct phase_context *ctx, const struct train_options *options,
	       const struct pass_input *train, struct parallel *parallel, struct err *err)
{
	double mean = draw_mean(&options->compute);
	struct phase_context quiet = *ctx;
	struct pass_input input = *train;
	struct train_options o;
	struct arena arena = {0};
	struct tally tally = {0};
	struct job_store described;
	enum stop_reason stopped;
	struct null_pass *n;
	struct pass *p;
	int rc;

	if (mean <= 0 || !options->null_steps)
		return 0;
	quiet.progress = NULL;
	input.open = false;
	null_options(options, &o);
	n = calloc(1, sizeof(*n));
	rc = n ? 0 : err_set(err, -ENOMEM, "no memory for the null pass");
	if (rc == 0)
		rc = null_store(&arena, &described, err);
	if (rc == 0)
		rc = null_tally(&tally, &o, &arena, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc < 0)
		goto out_free;
	rc = store_open(&input.store, &described,
			&(struct store_opener){.place = ctx->place,
					       .all = ctx->group,
					       .node = ctx->node,
					       .clock = ctx->clock,
					       .log = ctx->log,
					       .seed = ctx->job->seed},
			err);
	input.open = rc == 0;
	rc = group_agree(ctx->group, rc, err);
	if (rc == 0) {
		p = &n->pass;
		p->ctx = &quiet;
		p->options = &o;
		p->inputs[PASS_TRAIN] = &input;
		p->parallel = parallel;
		p->tally = &tally;
		p->seed = ctx->job->seed;
		if (o.sync == SYNC_STEP && ctx->group->size > 1)
			p->late = &n->late;
		rc = pass_run(p, &stopped, err);
	}
	if (rc == 0)
		rc = null_measure(ctx->group, &tally, &n->late, mean, ctx->tally->rank_row);
	if (input.open)
		store_close(&input.store);
out_free:
	tally_free(&tally);
	free(n);
	arena_free(&arena);
	return rc;
}
