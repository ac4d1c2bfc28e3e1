/* SPDX-License-Identifier: Apache-2.0 */
/* Parallelism: this rank among the replicas of a phase (replica.h), and how it meets the others of
 * its own.
 *
 * Belongs to the rank's main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_PARALLEL_H
#define HAUL_WORKLOADS_TRAIN_PARALLEL_H

#include "workloads/train/handover.h"
#include "workloads/train/replica.h"
#include "workloads/workload.h"

struct parallel {
	struct replicas replicas;
	enum replica_role role;
	/* One rank of each replica, this one among them: together they read, or get, each sample
	 * once. NULL: this rank gets none. */
	struct group *once;
	struct handover handover;
	bool hands_over; /* the handover is open */
};

/* readers: enum train_readers; piece_bytes: the buffer of a request in this rank's loader; 0: the
 * store keeps no content. Collective. Refuses tensor groups that straddle nodes. */
int parallel_open(struct parallel *p, const struct phase_context *ctx, uint32_t readers,
		  uint64_t piece_bytes, struct err *err);
void parallel_close(struct parallel *p, const struct phase_context *ctx);

#endif
