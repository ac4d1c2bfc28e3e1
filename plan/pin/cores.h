/* SPDX-License-Identifier: Apache-2.0 */
/* Usable cores of a node in the order of its topology; pin_cut cuts slices from them. Cores are
 * hwloc cores (all hardware threads of a core together), each reduced to the allowed threads. Where
 * the topology knows no cores, its PUs are used. A topology belongs to one thread at a time. */
#ifndef HAUL_PLAN_PIN_CORES_H
#define HAUL_PLAN_PIN_CORES_H

#include <hwloc.h>
#include <stdint.h>

#include "core/err.h"

enum { CORES_DOMAINS_MAX = 64 };

struct core_domain {
	uint32_t first, count; /* a range of cores.objects */
};

struct cores {
	uint32_t count;        /* usable cores */
	uint32_t node_count;   /* of the whole node, usable or not */
	hwloc_obj_type_t type; /* HWLOC_OBJ_CORE or HWLOC_OBJ_PU */
	hwloc_obj_t *objects;  /* [count], ordered by domain, then as in the topology */
	uint32_t domain_count;
	struct core_domain
		domains[CORES_DOMAINS_MAX]; /* NUMA nodes with usable cores; at least one */
};

/* Returns -ENODEV when no core is allowed. */
int cores_init(struct cores *c, hwloc_topology_t topology, hwloc_const_bitmap_t allowed,
	       struct err *err);
void cores_free(struct cores *c);

#endif
