/* SPDX-License-Identifier: Apache-2.0 */
/* Place: a folder of a store that one run at a time writes, beside others that may want to: a data
 * set, checkpoints, tiers. Rank 0 holds the lock, which no crash leaves behind (core/owner.h), by a
 * file beside the folder, "FOLDER.haul-owner", or an object that is a lease (backends/http/own.h).
 * Where a file system has no locks, or an object store heeds no conditions, a warning says that nothing
 * keeps another run out; daos:// has none, and says nothing.
 *
 * Main thread. place_take and place_wait are collective over the group. */
#ifndef HAUL_WORKLOADS_COMMON_PLACE_H
#define HAUL_WORKLOADS_COMMON_PLACE_H

#include "core/owner.h"
#include "workloads/workload.h"

struct place {
	struct owner owner; /* zeroed: none */
	uint64_t next_ns;   /* trying again pays no sooner */
};

/* Takes the folder. -EBUSY with a sentence that says who has it. */
int place_take(struct place *p, const struct store *store, const char *folder, struct group *group,
	       struct err *err);
/* The same, but waits until another run gives it back. *stopped: a reason to end came meanwhile;
 * then it is not taken. */
int place_wait(struct place *p, const struct store *store, const char *folder,
	       const struct phase_context *ctx, enum stop_reason *stopped, struct err *err);
/* Gives it back; a place that was not taken is none. */
void place_give(struct place *p);

#endif
