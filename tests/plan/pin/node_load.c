/* SPDX-License-Identifier: Apache-2.0 */
/* Loading of a node's topology from the fixtures: see node_load.h. */
#include "tests/plan/pin/node_load.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit.h"

hwloc_topology_t node_load(const char *name)
{
	const char *source = getenv("HAUL_SOURCE");
	hwloc_topology_t topology;
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/fixtures/topologies/%s.xml", source ? source : ".",
		 name);
	CU_ASSERT_FATAL(hwloc_topology_init(&topology) == 0);
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	CU_ASSERT_FATAL(hwloc_topology_set_xml(topology, path) == 0);
	CU_ASSERT_FATAL(hwloc_topology_load(topology) == 0);
	return topology;
}
