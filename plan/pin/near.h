/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of cores near a node's accelerators and NICs. Their places come from hwloc's I/O objects,
 * or, where the node does not tell, from the table of known nodes or an even distribution. */
#ifndef HAUL_PLAN_PIN_NEAR_H
#define HAUL_PLAN_PIN_NEAR_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "plan/pin/cores.h"
#include "plan/pin/known.h"

enum { NEAR_GROUPS_MAX = 64, NEAR_DEVICES_MAX = 256 };

enum near_kind { NEAR_TILE, NEAR_NIC };

/* Units (tiles or NICs) that share the same near cores. */
struct near_group {
	hwloc_const_bitmap_t set; /* belongs to the topology or to c */
	uint32_t units;
};

struct near {
	uint32_t units, count;
	struct near_group groups[NEAR_GROUPS_MAX]; /* [count]; their sets are disjoint */
};

/* Consecutive cores in the order of a group. */
struct near_slice {
	hwloc_const_bitmap_t set;
	uint32_t first, count;
};

/* The node's devices, one object each (the PCI function of a NIC or GPU, or the device itself where
 * no PCI function is known), in the order of the topology. Where there are fast NICs (InfiniBand,
 * Slingshot), other NICs do not count, nor do management ports. A GPU counts if it computes; a
 * server's console does not. Returns the number of devices. */
uint32_t near_devices(hwloc_topology_t topology, enum near_kind kind,
		      hwloc_obj_t devices[NEAR_DEVICES_MAX]);

/* The name by which users know a device: "hsn0", "ze0". */
const char *near_name(enum near_kind kind, hwloc_obj_t device);

/* Finds the units from the topology. units is how many the job says there are, or 0. Returns false
 * where the topology does not tell their places, or no usable core is beside them. */
bool near_find(struct near *n, hwloc_topology_t topology, const struct cores *c,
	       enum near_kind kind, uint32_t units);

/* Finds the tiles of a known node, package by package. */
void near_known(struct near *n, hwloc_topology_t topology, const struct cores *c,
		const struct pin_known *known);

/* The slice of a rank. Its count is 0 where there are too few cores for equal slices. */
struct near_slice near_cut(const struct near *n, const struct cores *c, uint32_t rank,
			   uint32_t ranks);

#endif
