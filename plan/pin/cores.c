/* SPDX-License-Identifier: Apache-2.0 */
/* Usable cores of a node: see cores.h. */
#include "plan/pin/cores.h"

#include <errno.h>
#include <stdlib.h>

/* Appends the usable cores in set that no earlier domain has. taken gathers the PUs used so far. */
static void cores_add_domain(struct cores *c, hwloc_topology_t topology, hwloc_const_bitmap_t set,
			     hwloc_const_bitmap_t allowed, hwloc_bitmap_t taken)
{
	struct core_domain *d = &c->domains[c->domain_count];
	hwloc_obj_t core = NULL;

	d->first = c->count;
	while ((core = hwloc_get_next_obj_by_type(topology, c->type, core))) {
		if (!core->cpuset || !hwloc_bitmap_intersects(core->cpuset, allowed) ||
		    !hwloc_bitmap_isincluded(core->cpuset, set) ||
		    hwloc_bitmap_intersects(core->cpuset, taken))
			continue;
		c->objects[c->count++] = core;
		hwloc_bitmap_or(taken, taken, core->cpuset);
	}
	d->count = c->count - d->first;
	if (d->count)
		c->domain_count++;
}

int cores_init(struct cores *c, hwloc_topology_t topology, hwloc_const_bitmap_t allowed,
	       struct err *err)
{
	hwloc_const_bitmap_t whole = hwloc_topology_get_topology_cpuset(topology);
	hwloc_bitmap_t taken = hwloc_bitmap_alloc();
	hwloc_obj_t numa = NULL;
	int found;

	*c = (struct cores){.type = HWLOC_OBJ_CORE};
	found = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
	if (found <= 0) {
		c->type = HWLOC_OBJ_PU;
		found = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
	}
	c->node_count = found > 0 ? (uint32_t)found : 0;
	c->objects = calloc(c->node_count + 1, sizeof(*c->objects));
	if (!c->objects || !taken) {
		cores_free(c);
		hwloc_bitmap_free(taken);
		return err_set(err, -ENOMEM, "no memory for the cores of this node");
	}
	/* Skips memory without processors (HBM in flat mode) and a second memory of the same cores.
	 * The last domain is kept for cores that belong to no NUMA node. */
	while ((numa = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, numa)) &&
	       c->domain_count + 1 < CORES_DOMAINS_MAX)
		cores_add_domain(c, topology, numa->cpuset, allowed, taken);
	cores_add_domain(c, topology, whole, allowed, taken);
	hwloc_bitmap_free(taken);
	if (!c->count) {
		cores_free(c);
		return err_set(err, -ENODEV, "none of this node's cores may be used");
	}
	return 0;
}

void cores_free(struct cores *c)
{
	free(c->objects);
	c->objects = NULL;
	c->count = 0;
}
