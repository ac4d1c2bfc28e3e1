#include "workloads/workload.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct phase_store *phase_store_add(struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
				    const char *role, const struct job_store *store)
{
	struct phase_store *s = &out[(*count)++];

	memset(s, 0, sizeof(*s));
	snprintf(s->role, sizeof(s->role), "%s", role);
	s->store = store;
	return s;
}

void workload_say(struct phase_context *ctx, const char *format, ...)
{
	size_t used = strlen(ctx->message);
	va_list arguments;

	if (used)
		used += (size_t)snprintf(ctx->message + used, sizeof(ctx->message) - used, "; ");
	if (used >= sizeof(ctx->message))
		return;
	va_start(arguments, format);
	vsnprintf(ctx->message + used, sizeof(ctx->message) - used, format, arguments);
	va_end(arguments);
}

int workload_store_open(const struct phase_context *ctx, const struct job_store *described,
			struct store *store, struct err *err)
{
	const struct store_opener by = {.place = ctx->place,
					.all = ctx->group,
					.node = ctx->node,
					.clock = ctx->clock,
					.log = ctx->log,
					.seed = ctx->job->seed};
	int rc = store_open(store, described, &by, err);

	if (rc == 0)
		store->op_log = ctx->op_log;
	if (rc == 0 && ctx->stores)
		store_describe(store, described, &ctx->stores[described - ctx->job->stores]);
	return rc;
}
