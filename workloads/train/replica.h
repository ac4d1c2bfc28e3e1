/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas: which ranks train on the same batch, and which of them read it (the option "readers").
 *
 * A data-parallel replica is tensor x pipeline ranks (cluster.tensor, cluster.pipeline) that hold one copy of the
 * model between them: the ranks from replica * tensor * pipeline on, tensor ranks fastest. In a step, all of them work
 * on the same batch.
 *
 *	readers   batches in a step   who reads a batch                the other ranks of the replica
 *	all       one per rank        the rank itself                  read batches of their own
 *	replica   one per replica     its first rank                   get it from that rank (handover.h)
 *	tensor    one per replica     every rank of the first          compute without a batch; they meet the
 *	                              pipeline stage, all of it        others at the end of the step
 *
 * With "all" a replica is one rank, whatever the cluster says. These are functions of numbers, so that the plan and
 * every rank come to the same result. */
#ifndef HAUL_WORKLOADS_TRAIN_REPLICA_H
#define HAUL_WORKLOADS_TRAIN_REPLICA_H

#include "core/job/job.h"

enum train_readers { READERS_ALL, READERS_REPLICA, READERS_TENSOR };

struct replicas {
	uint32_t count;   /* as many batches are taken in a step */
	uint32_t ranks;   /* per replica */
	uint32_t readers; /* per replica: its first ranks, which read its batch from the store */
	bool handed_over; /* the others get the batch, too; else they compute without one */
};

/* readers: enum train_readers. The cluster's sizes divide ranks, as the plan has checked. */
void replicas_init(struct replicas *r, uint32_t readers, const struct job_cluster *cluster,
		   uint32_t ranks);

/* What a rank does for the batch of its replica. */
enum replica_role { REPLICA_READS, REPLICA_RECEIVES, REPLICA_HAS_NONE };
enum replica_role replicas_role(const struct replicas *r, uint32_t rank);

/* The number of the rank's replica, and of the rank in it. */
static inline uint32_t replicas_number(const struct replicas *r, uint32_t rank)
{
	return rank / r->ranks;
}
static inline uint32_t replicas_member(const struct replicas *r, uint32_t rank)
{
	return rank % r->ranks;
}

/* The number of a rank that reads, among all that do. */
uint32_t replicas_reader(const struct replicas *r, uint32_t rank);

#endif
