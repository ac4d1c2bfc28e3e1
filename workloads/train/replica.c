/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/train/replica.h"

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
