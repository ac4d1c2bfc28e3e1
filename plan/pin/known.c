/* SPDX-License-Identifier: Apache-2.0 */
/* Table of known nodes: see known.h. */
#include "plan/pin/known.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Aurora. Source: ALCF's user guides, 2026-08. Since March 2025 cores 0 and 52 belong to the
 * system's services. Core c of socket 0 belongs to NIC c mod 4, core c of socket 1 to NIC 4 + c mod
 * 4. All first hardware threads are numbered before the second ones: PU i and PU i + 104 are one
 * core. */
static const struct pin_known known_nodes[] = {
	{.name = "Aurora",
	 .cpu = "9470",
	 .packages = 2,
	 .cores = 52,
	 .reserved = "0,52",
	 .reserved_said = "an Aurora node: cores 0 and 52 are left to the system's services",
	 .package_tiles = 6,
	 .package_nics = 4},
};

static unsigned first_pu(hwloc_obj_t core)
{
	return (unsigned)hwloc_bitmap_first(core->cpuset);
}

/* Whether the topology has the known shape: each visible core has threads i and i + half, or one of
 * them, and lies in package i / cores. The very last thread must be where the shape puts it,
 * visible or not. */
static bool known_has_shape(const struct pin_known *known, hwloc_topology_t topology)
{
	unsigned half = known->packages * known->cores;
	hwloc_obj_t core = NULL, package;

	if (hwloc_bitmap_last(hwloc_topology_get_complete_cpuset(topology)) != (int)(2 * half - 1))
		return false;
	while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core))) {
		unsigned i = first_pu(core) % half;
		int last = hwloc_bitmap_last(core->cpuset);

		package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
		if (!package || package->os_index != i / known->cores ||
		    (unsigned)last % half != i || hwloc_bitmap_weight(core->cpuset) > 2)
			return false;
	}
	return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
}

const struct pin_known *pin_known_find(hwloc_topology_t topology)
{
	hwloc_obj_t package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, NULL);
	const char *cpu = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
	unsigned i;

	for (i = 0; i < sizeof(known_nodes) / sizeof(known_nodes[0]); i++)
		if ((!cpu || strstr(cpu, known_nodes[i].cpu)) &&
		    known_has_shape(&known_nodes[i], topology))
			return &known_nodes[i];
	return NULL;
}

static uint32_t core_number(const struct pin_known *known, hwloc_obj_t core)
{
	return first_pu(core) % (known->packages * known->cores);
}

uint32_t pin_known_nic(const struct pin_known *known, hwloc_obj_t core)
{
	uint32_t number = core_number(known, core);

	return number / known->cores * known->package_nics +
	       number % known->cores % known->package_nics;
}

struct core_choice {
	const struct pin_known *known;
	const struct cores *c;
	bool *used;     /* [c->count] */
	uint32_t after; /* the lowest core number to use next */
};

/* The lowest unused core of that NIC with number `after` or more. UINT32_MAX: there is none. */
static uint32_t known_lowest(const struct core_choice *choice, uint32_t nic, uint32_t after)
{
	uint32_t best = UINT32_MAX, best_number = UINT32_MAX, i;

	for (i = 0; i < choice->c->count; i++) {
		uint32_t number = core_number(choice->known, choice->c->objects[i]);

		if (choice->used[i] || number < after || number >= best_number ||
		    pin_known_nic(choice->known, choice->c->objects[i]) != nic)
			continue;
		best = i;
		best_number = number;
	}
	return best;
}

/* The next core of nic or, when it has none left, of the NICs after it. */
static uint32_t known_take(struct core_choice *choice, uint32_t nic)
{
	uint32_t nics = choice->known->packages * choice->known->package_nics, i;
	uint32_t best = known_lowest(choice, nic, choice->after);

	for (i = 0; i < nics && best == UINT32_MAX; i++)
		best = known_lowest(choice, (nic + i) % nics, 0);
	choice->used[best] = true;
	return best;
}

/* Takes the NICs of a package in turn, one core each. Within a turn, the core number grows by one
 * more than the NIC number, so that the cores spread out. A last turn that is not full uses the
 * first NICs in even packages and the last ones in odd packages. For 12 ranks this gives what ALCF
 * recommends: 4:9:14:19:20:25 and 56:61:66:71:74:79. */
static uint32_t known_take_in_package(struct core_choice *choice, uint32_t package, uint32_t rank,
				      uint32_t ranks)
{
	uint32_t nics = choice->known->package_nics, left = ranks % nics, i, taken = 0;

	choice->after = package * choice->known->cores;
	for (i = 0; i <= rank; i++) {
		uint32_t shift = package % 2 && i / nics == ranks / nics ? nics - left : 0;

		if (i)
			choice->after += i % nics ? nics + 1 : 1;
		taken = known_take(choice, package * nics + shift + i % nics);
		choice->after = core_number(choice->known, choice->c->objects[taken]);
	}
	return taken;
}

hwloc_obj_t pin_known_nic_core(const struct pin_known *known, const struct cores *c, uint32_t rank,
			       uint32_t ranks)
{
	uint32_t usable[CORES_DOMAINS_MAX] = {0}, packages = 0, seat = 0, p, i, taken = 0, before;
	struct core_choice choice = {
		.known = known, .c = c, .used = calloc(c->count, sizeof(bool))};

	if (!choice.used)
		return NULL;
	for (i = 0; i < c->count; i++)
		usable[core_number(known, c->objects[i]) / known->cores]++;
	for (p = 0; p < known->packages; p++)
		packages += usable[p] ? 1 : 0;
	/* The ranks are divided equally among the packages that have cores; the first package gets
	 * the odd rank. */
	for (p = 0, before = 0; p < known->packages && before <= rank; p++) {
		uint32_t end;

		if (!usable[p])
			continue;
		seat++;
		end = (ranks * seat + packages - 1) / packages;
		taken = known_take_in_package(&choice, p, (rank < end ? rank : end - 1) - before,
					      end - before);
		before = end;
	}
	free(choice.used);
	return c->objects[taken];
}
