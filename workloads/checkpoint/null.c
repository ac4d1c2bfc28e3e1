/* The null rate of a phase of checkpoints: the same checkpoints on null://, before the first one that counts. Files,
 * pieces, requests and synchronisation are the phase's; bytes are neither made nor compared. */
#include <errno.h>
#include <stdlib.h>

#include "workloads/checkpoint/run.h"
#include "workloads/common/null_pass.h"

static void checkpoint_null_options(const struct checkpoint_options *from,
				    struct checkpoint_options *o)
{
	*o = *from;
	o->count = from->null_passes;
	o->pause_ns = 0;
	o->keep = 0;
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

int checkpoint_null(const struct phase_context *ctx, const struct checkpoint_options *options,
		    struct err *err)
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
