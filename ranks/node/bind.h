/* SPDX-License-Identifier: Apache-2.0 */
/* Core binding of this rank: the node's topology is loaded once and handed on as XML, and each rank
 * cuts its own slice by the plan's rule. Where ranks keep the cores that they were given, and the node
 * has no accelerators, nobody needs the topology, and it is not read. */
#ifndef HAUL_RANKS_NODE_BIND_H
#define HAUL_RANKS_NODE_BIND_H

#include <stdbool.h>

#include "core/job/job.h"
#include "core/log.h"
#include "ranks/node/nodes.h"

/* Collective over the node. found: the binding as read back from the kernel afterwards, as a list
 * ("1-8"). *gpu: set where the launcher or the topology tells which accelerator the rank has.
 * *crowded: the node has more ranks than threads that may be used, or so have those with this
 * rank's mask. */
int bind_rank(const struct nodes *n, const struct job_cluster *cluster, const struct log *log,
	      char found[RESULTS_TEXT], uint32_t *gpu, bool *crowded, struct err *err);

#endif
