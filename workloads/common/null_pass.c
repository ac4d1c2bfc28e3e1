/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/common/null_pass.h"

#include <cjson/cJSON.h>
#include <errno.h>

static int null_pass_store(struct null_pass *n, struct err *err)
{
	const struct backend_ops *ops = backend_find("null");
	struct cJSON *object = cJSON_CreateObject();
	void *options;
	int rc;

	if (!ops) {
		cJSON_Delete(object);
		return err_set(err, -ENOTSUP, "this haul was built without null://");
	}
	options = arena_alloc(&n->arena, ops->section.size);
	if (!options || !object || !cJSON_AddStringToObject(object, "uri", "null://null")) {
		cJSON_Delete(object);
		return err_set(err, -ENOMEM, "no memory for a null:// store");
	}
	rc = options_parse(ops->section.tables, options, object, "null://", &n->arena, err);
	cJSON_Delete(object);
	n->store = (struct job_store){.name = "null", .section = &ops->section, .options = options};
	return rc;
}

int null_pass_open(struct null_pass *n, const struct phase_context *ctx,
		   const struct tally_schema *schema, const uint32_t *rows_max, struct err *err)
{
	int rc;

	*n = (struct null_pass){.ctx = *ctx, .began_ns = clock_now(ctx->clock)};
	n->ctx.progress = NULL;
	n->ctx.measure_from = NULL;
	n->ctx.publish_every_ns = 0;
	n->ctx.op_log = NULL;
	n->ctx.stores = NULL;
	n->ctx.tally = &n->tally;
	rc = tally_init(&n->tally, schema, rows_max, err);
	if (rc == 0)
		rc = null_pass_store(n, err);
	return group_agree(ctx->group, rc, err);
}

void null_pass_close(struct null_pass *n)
{
	tally_free(&n->tally);
	arena_free(&n->arena);
	if (n->ctx.null_ns)
		*n->ctx.null_ns += clock_now(n->ctx.clock) - n->began_ns;
}
