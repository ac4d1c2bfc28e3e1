/* SPDX-License-Identifier: Apache-2.0 */
/* Core binding: which cores a rank gets. Slices are cut from the node's topology and are never
 * wider than what the launcher allowed. Uses hwloc, no MPI. */
#ifndef HAUL_PLAN_PIN_PIN_H
#define HAUL_PLAN_PIN_PIN_H

#include <hwloc.h>
#include <stdint.h>

#include "core/err.h"
#include "core/job/job.h"
#include "plan/pin/launch_bind.h"

enum pin { PIN_NONE, PIN_CORE, PIN_NUMA, PIN_TILE, PIN_NIC, PIN_LIST };
extern const char *const pin_names[];

/* Where a rank is on its node. Ranks to which the launcher gave the same mask divide it among
 * themselves. A rank with a mask of its own was bound by the launcher. */
struct pin_seat {
	uint32_t local_rank, local_ranks;
	uint32_t index, sharers; /* among the ranks with the same mask */
};

/* The set of PUs for the rank on seat. allowed is what the launcher gave this process; the set is
 * never wider.
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
 * A PU is usable if it is allowed and not reserved (pin_reserved). Slices are disjoint and equal. A
 * mask that only this rank has was cut by the launcher and is kept. The caller frees *out. *said
 * (may be NULL) is a static sentence when the request could not be granted ("more ranks than cores:
 * not pinned"), else NULL. */
int pin_cut(const struct job_cluster *cluster, hwloc_topology_t topology,
	    hwloc_const_bitmap_t allowed, const struct pin_seat *seat, hwloc_bitmap_t *out,
	    const char **message, struct err *err);

/* The PUs that no slice gets: cluster.reserved_cores with all hardware threads of those cores or,
 * where the job names none, those that the system of a known node keeps. Then *said is a static
 * sentence, else NULL. */
int pin_reserved(const struct job_cluster *cluster, hwloc_topology_t topology, hwloc_bitmap_t out,
		 const char **message, struct err *err);

/* `haul topo`: the node's packages, NUMA nodes, cores, NICs and GPUs, and which rank would get
 * which cores, as a picture in text. bind is what a launcher would give each rank, of which the
 * rank then gets what cluster->pin leaves it; NULL: the ranks share what this process may use. The
 * caller frees the text. */
char *pin_picture(const struct job_cluster *cluster, hwloc_topology_t topology,
		  uint32_t local_ranks, const struct launch_bind *bind, struct err *err);

#endif
