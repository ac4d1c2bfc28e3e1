/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/pin/accelerator.h"

#include <stdlib.h>

#include "plan/pin/near.h"

const char *const accelerator_variables[] = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
					     "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", NULL};

/* More would not be on one node. */
enum { ACCELERATORS_MAX = NEAR_DEVICES_MAX * 2 };

bool accelerator_told(const char *value, uint32_t *number)
{
	unsigned long n;
	char *end;

	if (!value || *value < '0' || *value > '9')
		return false;
	n = strtoul(value, &end, 10);
	if (*end || n >= ACCELERATORS_MAX)
		return false;
	*number = (uint32_t)n;
	return true;
}

/* All of the node, whoever may use them. */
static bool accelerators_find(const struct job_cluster *cluster, hwloc_topology_t topology,
			      struct near *n)
{
	const struct pin_known *known = pin_known_find(topology);
	struct cores cores;
	bool found = true;

	if (cores_init(&cores, topology, hwloc_topology_get_topology_cpuset(topology), NULL) < 0)
		return false;
	if (known)
		near_known(n, topology, &cores, known);
	else
		found = near_find(n, topology, &cores, NEAR_TILE, (uint32_t)cluster->gpus);
	cores_free(&cores);
	return found;
}

bool accelerator_near(const struct job_cluster *cluster, hwloc_topology_t topology,
		      hwloc_const_bitmap_t allowed, const struct pin_seat *seat, uint32_t *number)
{
	uint32_t numbers[ACCELERATORS_MAX], count = 0, next = 0;
	struct near n;

	if (!accelerators_find(cluster, topology, &n))
		return false;
	for (uint32_t g = 0; g < n.count; g++) {
		bool near = hwloc_bitmap_intersects(n.groups[g].set, allowed);

		for (uint32_t u = 0; u < n.groups[g].units; u++, next++)
			if (near && count < ACCELERATORS_MAX)
				numbers[count++] = next;
	}
	/* Ranks with masks of their own may have others of those near this mask. */
	if (!count || (seat->sharers < seat->local_ranks && count > seat->sharers))
		return false;
	*number = numbers[(uint64_t)seat->index * count / seat->sharers];
	return true;
}
