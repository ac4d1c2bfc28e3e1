/* Where a node's accelerators and NICs are, and slices of the cores near them. hwloc's I/O objects
 * first; a known node's table or an even deal where the node does not tell. */
#ifndef HAUL_PLAN_PIN_NEAR_H
#define HAUL_PLAN_PIN_NEAR_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "plan/pin/cores.h"
#include "plan/pin/known.h"

enum { NEAR_GROUPS_MAX = 64, NEAR_DEVICES_MAX = 256 };

enum near_kind { NEAR_TILE, NEAR_NIC };

/* Units (tiles or NICs) with the same cores beside them. */
struct near_group {
	hwloc_const_bitmap_t set; /* the topology's or c's */
	uint32_t units;
};

struct near {
	uint32_t units, count;
	struct near_group groups[NEAR_GROUPS_MAX]; /* [count]; their sets are disjoint */
};

/* A run of cores in a group's order. */
struct near_slice {
	hwloc_const_bitmap_t set;
	uint32_t first, count;
};

/* The node's devices, one object each (a NIC's or GPU's PCI function, or the device where no PCI is
 * told), in the topology's order. Where there are fast NICs (InfiniBand, Slingshot) the others do not
 * count, nor does one that is beside the cores of several others, as a management port is; a GPU is what computes, not a server's console. Returns how many. */
uint32_t near_devices(hwloc_topology_t topology, enum near_kind kind,
		      hwloc_obj_t devices[NEAR_DEVICES_MAX]);

/* The name a user knows a device by: "hsn0", "ze0". */
const char *near_name(enum near_kind kind, hwloc_obj_t device);

/* From what the topology tells. units: how many the job says there are, 0 where it does not. False:
 * it does not tell where they are, or none has a usable core beside it. */
bool near_find(struct near *n, hwloc_topology_t topology, const struct cores *c,
	       enum near_kind kind, uint32_t units);

/* The tiles of a known node, package by package. */
void near_known(struct near *n, hwloc_topology_t topology, const struct cores *c,
		const struct pin_known *known);

/* The slice of rank; count is 0 where there are too few cores for equal ones. */
struct near_slice near_cut(const struct near *n, const struct cores *c, uint32_t rank,
			   uint32_t ranks);

#endif
