/* Nodes of which more is known than their topology tells a user: cores that the system keeps for
 * itself, and which NIC a core belongs to. A const table; recognised by shape and processor. */
#ifndef HAUL_PLAN_PIN_KNOWN_H
#define HAUL_PLAN_PIN_KNOWN_H

#include <hwloc.h>
#include <stdint.h>

#include "plan/pin/cores.h"

struct pin_known {
	const char *name;          /* "Aurora" */
	const char *cpu;           /* part of the processor's name, where one is told */
	uint32_t packages, cores;  /* cores of a package */
	const char *reserved;      /* cores, by their first threads */
	const char *reserved_said; /* for the user */
	uint32_t package_tiles;    /* accelerator tiles beside a package */
	uint32_t package_nics;     /* core c belongs to NIC c mod package_nics of its package */
};

/* NULL: nothing more is known. Recognises a node of which a cgroup shows only a part, too. */
const struct pin_known *pin_known_find(hwloc_topology_t topology);

/* The NIC, counted over the node, that a core belongs to. */
uint32_t pin_known_nic(const struct pin_known *known, hwloc_obj_t core);

/* pin nic: the core of rank, of c->objects; NICs are taken in turn, each core once.
 * rank < ranks <= c->count. NULL: no memory. */
hwloc_obj_t pin_known_nic_core(const struct pin_known *known, const struct cores *c, uint32_t rank,
			       uint32_t ranks);

#endif
