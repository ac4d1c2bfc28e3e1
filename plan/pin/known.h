/* SPDX-License-Identifier: Apache-2.0 */
/* Known nodes: nodes of which haul knows more than their topology tells a user, namely the cores
 * that the system keeps for itself and the NIC of each core. A const table; nodes are recognised by
 * shape and processor. */
#ifndef HAUL_PLAN_PIN_KNOWN_H
#define HAUL_PLAN_PIN_KNOWN_H

#include <hwloc.h>
#include <stdint.h>

#include "plan/pin/cores.h"

struct pin_known {
	const char *name; /* "Aurora" */
	const char *cpu;  /* part of the processor's name; ignored where the topology has no name */
	uint32_t packages, cores;  /* cores: per package */
	const char *reserved;      /* cores, given by their first hardware threads */
	const char *reserved_said; /* sentence for the user */
	uint32_t package_tiles;    /* accelerator tiles per package */
	uint32_t package_nics;     /* core c belongs to NIC c mod package_nics of its package */
};

/* The known node of that topology, or NULL. Also recognises a node of which a cgroup shows only a
 * part. */
const struct pin_known *pin_known_find(hwloc_topology_t topology);

/* The NIC of a core, counted over the node. */
uint32_t pin_known_nic(const struct pin_known *known, hwloc_obj_t core);

/* pin nic: the core of this rank, one of c->objects. NICs are taken in turn and each core is used
 * once. rank < ranks <= c->count. NULL: no memory. */
hwloc_obj_t pin_known_nic_core(const struct pin_known *known, const struct cores *c, uint32_t rank,
			       uint32_t ranks);

#endif
