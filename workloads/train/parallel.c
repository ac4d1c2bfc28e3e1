/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/train/state.h"

#include <errno.h>
#include <string.h>

#include "workloads/train/train.h"

static uint32_t replicas_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void replicas_init(struct replicas *r, uint32_t readers, const struct job_cluster *cluster,
		   uint32_t ranks)
{
	uint32_t tensor = cluster->tensor ? (uint32_t)cluster->tensor : 1;
	uint32_t pipeline = cluster->pipeline ? (uint32_t)cluster->pipeline : 1;

	r->ranks = readers == READERS_ALL ? 1 : replicas_least(tensor * pipeline, ranks);
	r->count = ranks / r->ranks;
	r->readers = readers == READERS_TENSOR ? replicas_least(tensor, r->ranks) : 1;
	r->handed_over = readers == READERS_REPLICA;
}

enum replica_role replicas_role(const struct replicas *r, uint32_t rank)
{
	if (replicas_member(r, rank) < r->readers)
		return REPLICA_READS;
	return r->handed_over ? REPLICA_RECEIVES : REPLICA_HAS_NONE;
}

uint32_t replicas_reader(const struct replicas *r, uint32_t rank)
{
	return replicas_number(r, rank) * r->readers + replicas_member(r, rank);
}

/* The ranks of a tensor group exchange data within each layer of the model, over the links inside a
 * node. */
static int parallel_check(const struct parallel *p, const struct phase_context *ctx,
			  struct err *err)
{
	const struct job_cluster *cluster = &ctx->job->cluster;
	uint32_t group = ctx->group->rank / (uint32_t)cluster->tensor;
	struct group *tensor;
	bool one_node;
	int rc;

	if (p->replicas.ranks == 1 || cluster->tensor == 1 || ctx->place->nodes <= 1)
		return 0;
	rc = group_split(ctx->group, group, &tensor, err);
	if (rc < 0)
		return rc;
	rc = group_same(tensor, ctx->place->node, &one_node);
	group_free(tensor);
	if (rc == 0 && !one_node)
		rc = err_set(err, -EINVAL,
			     "%s/readers: the ranks of tensor group %u are on different nodes; "
			     "cluster.tensor is %llu, so start a multiple of %llu ranks on each "
			     "node, one after the other",
			     ctx->phase->path, group, (unsigned long long)cluster->tensor,
			     (unsigned long long)cluster->tensor);
	return group_agree(ctx->group, rc, err);
}

/* Windows are as large on all ranks. */
static int parallel_hand_over(struct parallel *p, const struct phase_context *ctx,
			      uint64_t piece_bytes, struct err *err)
{
	int rc = group_allreduce(ctx->group, MERGE_MAX, &piece_bytes, 1);

	if (rc == 0)
		rc = handover_open(&p->handover, ctx->group,
				   replicas_number(&p->replicas, ctx->group->rank),
				   ctx->place->node, ctx->place->nodes ? ctx->place->nodes : 1,
				   piece_bytes, ctx->clock, err);
	p->hands_over = rc == 0;
	return rc;
}

int parallel_open(struct parallel *p, const struct phase_context *ctx, uint32_t readers,
		  uint64_t piece_bytes, struct err *err)
{
	uint32_t rank = ctx->group->rank;
	int rc;

	memset(p, 0, sizeof(*p));
	replicas_init(&p->replicas, readers, &ctx->job->cluster, ctx->group->size);
	p->role = replicas_role(&p->replicas, rank);
	if (p->replicas.ranks == 1) {
		p->once = ctx->group;
		return 0;
	}
	rc = parallel_check(p, ctx, err);
	if (rc == 0)
		rc = group_split(ctx->group, replicas_member(&p->replicas, rank), &p->once, err);
	if (rc == 0 && p->replicas.handed_over)
		rc = parallel_hand_over(p, ctx, piece_bytes, err);
	if (rc == 0 && p->role == REPLICA_HAS_NONE) {
		group_free(p->once);
		p->once = NULL;
	}
	if (rc < 0)
		parallel_close(p, ctx);
	return rc;
}

void parallel_close(struct parallel *p, const struct phase_context *ctx)
{
	if (p->hands_over)
		handover_close(&p->handover);
	if (p->once && p->once != ctx->group)
		group_free(p->once);
	memset(p, 0, sizeof(*p));
}
