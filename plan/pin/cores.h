/* The usable cores of a node in the order of its topology: what pin_cut slices. Cores are hwloc cores
 * (a processor's hardware threads together), each cut to the threads that are allowed; where the
 * topology knows no cores, its PUs. A topology belongs to one thread at a time. */
#ifndef HAUL_PLAN_PIN_CORES_H
#define HAUL_PLAN_PIN_CORES_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

enum { CORES_DOMAINS_MAX = 64 };

struct core_domain {
	uint32_t first, count; /* of cores.sets */
};

struct cores {
	uint32_t count;        /* usable */
	uint32_t node_count;   /* of the whole node, usable or not */
	hwloc_obj_type_t type; /* HWLOC_OBJ_CORE or HWLOC_OBJ_PU */
	hwloc_obj_t *objects;  /* [count], ordered by domain, then as in the topology */
	uint32_t domain_count;
	struct core_domain
		domains[CORES_DOMAINS_MAX]; /* NUMA nodes with usable cores; at least one */
};

/* -ENODEV when nothing is allowed. */
int cores_init(struct cores *c, hwloc_topology_t topology, hwloc_const_bitmap_t allowed,
	       struct err *err);
void cores_free(struct cores *c);

#endif
