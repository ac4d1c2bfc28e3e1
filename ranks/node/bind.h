/* Core binding of this rank: the node's topology is loaded once and handed on as XML, and each rank
 * cuts its own slice by the plan's rule. */
#ifndef HAUL_RANKS_NODE_BIND_H
#define HAUL_RANKS_NODE_BIND_H

#include <stdbool.h>

#include "core/job/job.h"
#include "core/log.h"
#include "ranks/node/nodes.h"

/* Call before MPI_Init and before the first thread starts. It keeps hwloc, also the one inside MPI,
 * from moving from core to core to ask each processor about itself, which would leave the set that
 * the launcher gave. Linux provides the same information. */
void bind_prepare(void);

/* Collective over the node. found: the binding as read back from the kernel afterwards, as a list
 * ("1-8"). *crowded: the node, or the ranks with this rank's mask, have more ranks than usable
 * hardware threads. */
int bind_rank(const struct nodes *n, const struct job_cluster *cluster, const struct log *log,
	      char found[RESULTS_TEXT], bool *crowded, struct err *err);

#endif
