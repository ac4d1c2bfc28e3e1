/* Which cores a rank gets: cut from the node's topology, never wider than what the launcher allowed.
 * hwloc, no MPI. */
#ifndef HAUL_PLAN_PIN_H
#define HAUL_PLAN_PIN_H

#include <hwloc.h>
#include <stdint.h>

#include "core/err.h"
#include "core/job.h"

enum pin { PIN_NONE, PIN_CORE, PIN_NUMA, PIN_LIST };
extern const char *const pin_names[];

/* The set of PUs for local_rank of local_ranks. allowed: what the launcher gave this process; the set
 * is never wider.
 *
 *   none  allowed itself
 *   core  equal slices of consecutive cores: floor(usable / ranks) each, the rest idle
 *   numa  the same inside one NUMA node each, as wide as that allows; with fewer ranks than NUMA
 *         nodes, whole ones
 *   list  cluster.cores, less what is not allowed
 *
 * Slices are disjoint. A mask of at most an equal share of the node's cores was cut by the launcher,
 * and stands. The caller frees *out. *said (may be NULL): a static sentence when the wish could not be
 * granted ("more ranks than cores: not pinned"), else NULL. */
int pin_cut(const struct job_cluster *cluster, hwloc_topology_t topology,
	    hwloc_const_bitmap_t allowed, uint32_t local_rank, uint32_t local_ranks,
	    hwloc_bitmap_t *out, const char **said, struct err *err);

/* `haul topo`: this node's packages, NUMA nodes, cores, NICs, GPUs, and who would get which cores, as
 * a picture in text. The caller frees. */
char *pin_picture(const struct job_cluster *cluster, hwloc_topology_t topology,
		  uint32_t local_ranks, struct err *err);

#endif
