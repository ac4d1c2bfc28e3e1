/* SPDX-License-Identifier: Apache-2.0 */
/* A wait for storage that is longer than the job's stall_limit, as this rank tells it to whoever
 * watches the ranks. */
#include <stdio.h>

#include "workloads/train/pass.h"

void pass_wait_tell(struct pass *p, uint64_t since_ns)
{
	const struct pass_input *in = p->inputs[p->epoch_row.source];
	uint64_t limit_ns = p->ctx->job->stall_limit_ns, now_ns = clock_now(p->ctx->clock), file;
	struct group_wait wait = {.elapsed_ns = now_ns - since_ns};
	char key[OBJECT_KEY_BYTES];

	if (!limit_ns || now_ns < since_ns + limit_ns)
		return;
	/* Without a sample on its way, the readers decode, or wait for a core. */
	if (!loader_live_oldest(&p->loader, &file))
		return;
	dataset_key(&in->dataset, file, key);
	snprintf(wait.object, sizeof(wait.object), "%.*s/%.*s", GROUP_WAIT_BYTES / 2, in->store.uri,
		 GROUP_WAIT_BYTES / 2 - 2, key);
	group_wait_tell(p->ctx->group, &wait);
	p->told = true;
}

void pass_wait_over(struct pass *p)
{
	const struct group_wait none = {.elapsed_ns = 0};

	if (p->told)
		group_wait_tell(p->ctx->group, &none);
	p->told = false;
}
