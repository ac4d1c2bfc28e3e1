#include "workloads/common/start_line.h"

/* Between the time when all know that all are there and the beginning of the work. */
static const uint64_t begin_ns = 20000000;

int start_line(struct phase_context *ctx, bool first, uint64_t *start_ns)
{
	uint64_t ahead_ns;
	int rc = group_barrier(ctx->group);

	if (rc < 0)
		return rc;
	*start_ns = first ? workload_begin(ctx) : clock_now(ctx->clock);
	ahead_ns = *start_ns + begin_ns;
	if (ctx->node && group_allreduce(ctx->node, MERGE_MAX, &ahead_ns, 1) == 0)
		*start_ns = ahead_ns;
	return 0;
}
