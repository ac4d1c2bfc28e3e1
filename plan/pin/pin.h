/* Which cores a rank gets: cut from the node's topology, never wider than what the launcher allowed.
 * hwloc, no MPI. */
#ifndef HAUL_PLAN_PIN_PIN_H
#define HAUL_PLAN_PIN_PIN_H

#include <hwloc.h>
#include <stdint.h>

#include "core/err.h"
#include "core/job/job.h"

enum pin { PIN_NONE, PIN_CORE, PIN_NUMA, PIN_TILE, PIN_NIC, PIN_LIST };
extern const char *const pin_names[];

/* Where a rank sits on its node. Ranks that the launcher gave the same mask share it out; one that
 * has a mask of its own was bound by the launcher. */
struct pin_seat {
	uint32_t local_rank, local_ranks;
	uint32_t index, sharers; /* among the ranks with this rank's mask */
};

/* The set of PUs for the rank on seat. allowed: what the launcher gave this process; the set is never
 * wider.
 *
 *   none  allowed itself
 *   core  equal slices of consecutive cores: floor(usable / ranks) each, the rest idle
 *   numa  the same inside one NUMA node each, as wide as that allows; with fewer ranks than NUMA
 *         nodes, whole ones
 *   tile  near the rank's accelerator: the cores beside an accelerator's memory are cut into as many
 *         equal slices as it has tiles, and a rank gets its tiles' (rank r of n the tiles from
 *         r * tiles / n, as struct rank_place says)
 *   nic   near the rank's NIC, in the same way; where NICs belong to single cores (Aurora), one core
 *         of its NIC each, NICs in turn
 *   list  cluster.cores, less what is not allowed
 *
 * Usable is what is allowed and not reserved (pin_reserved). Slices are disjoint and equal. A mask
 * that only this rank has was cut by the launcher, and stands. The caller frees *out. *said (may be
 * NULL): a static sentence when the wish could not be granted ("more ranks than cores: not pinned"),
 * else NULL. */
int pin_cut(const struct job_cluster *cluster, hwloc_topology_t topology,
	    hwloc_const_bitmap_t allowed, const struct pin_seat *seat, hwloc_bitmap_t *out,
	    const char **message, struct err *err);

/* The PUs that no slice gets: cluster.reserved_cores with all their cores' threads, or, where the job
 * names none, those that the system of a known node keeps; *said then is a static sentence, else
 * NULL. */
int pin_reserved(const struct job_cluster *cluster, hwloc_topology_t topology, hwloc_bitmap_t out,
		 const char **message, struct err *err);

/* `haul topo`: this node's packages, NUMA nodes, cores, NICs, GPUs, and who would get which cores, as
 * a picture in text. The caller frees. */
char *pin_picture(const struct job_cluster *cluster, hwloc_topology_t topology,
		  uint32_t local_ranks, struct err *err);

#endif
