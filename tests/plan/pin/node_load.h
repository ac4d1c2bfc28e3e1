/* SPDX-License-Identifier: Apache-2.0 */
/* A node's topology from tests/fixtures/topologies, by its name without ".xml". The caller destroys
 * it. */
#ifndef HAUL_TESTS_PLAN_PIN_NODE_LOAD_H
#define HAUL_TESTS_PLAN_PIN_NODE_LOAD_H

#include <hwloc.h>

hwloc_topology_t node_load(const char *name);

#endif
