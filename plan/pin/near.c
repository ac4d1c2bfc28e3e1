/* SPDX-License-Identifier: Apache-2.0 */
/* Cores near accelerators and NICs: see near.h. */
#include "plan/pin/near.h"

#include <string.h>

#include "core/numbers.h"

/* How many times slower the PCI link of a management port is than that of the fastest NIC, at
 * least. A NIC of 200 Gbit/s has 31.5 GB/s, a port of 1 Gbit/s 0.25 to 2; two NICs of a node seldom
 * differ by more than a factor of 4. */
enum { NEAR_SLOWER = 8 };

/* PCI classes of computing devices: 3D controllers, other displays, processing accelerators. A VGA
 * controller (0x0300) may be a server's console: it counts only with a computing device on it. */
static bool class_computes(unsigned class_id)
{
	return class_id == 0x0302 || class_id == 0x0380 || class_id == 0x1200;
}

/* Slingshot's, under both its names (Aurora, Frontier; Tioga), and InfiniBand's. */
static bool name_is_fast(const char *name)
{
	return name && (strncmp(name, "hsn", 3) == 0 || strncmp(name, "hsi", 3) == 0 ||
			strncmp(name, "ib", 2) == 0);
}

/* A PCI function represents the devices on it (ze0 and its parts, mlx5_0 and ib0). */
static hwloc_obj_t near_body(hwloc_obj_t device)
{
	while (device->parent && (device->parent->type == HWLOC_OBJ_OS_DEVICE ||
				  device->parent->type == HWLOC_OBJ_PCI_DEVICE))
		device = device->parent;
	return device;
}

static bool is_wanted(enum near_kind kind, hwloc_obj_t device, bool fast)
{
	hwloc_obj_t pci = near_body(device);
	hwloc_obj_osdev_type_t type = device->attr->osdev.type;
	bool on_pci = pci->type == HWLOC_OBJ_PCI_DEVICE;

	if (kind == NEAR_NIC)
		return type == HWLOC_OBJ_OSDEV_OPENFABRICS ||
		       (type == HWLOC_OBJ_OSDEV_NETWORK &&
			(fast ? name_is_fast(device->name) : on_pci));
	return type == HWLOC_OBJ_OSDEV_COPROC || (type == HWLOC_OBJ_OSDEV_GPU && on_pci &&
						  class_computes(pci->attr->pcidev.class_id));
}

static bool has_fast_nics(hwloc_topology_t topology)
{
	hwloc_obj_t device = NULL;

	while ((device = hwloc_get_next_osdev(topology, device)))
		if (device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS ||
		    (device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK &&
		     name_is_fast(device->name)))
			return true;
	return false;
}

/* GB/s of its PCI link, 0: unknown. */
static float link_speed(hwloc_obj_t nic)
{
	return nic->type == HWLOC_OBJ_PCI_DEVICE ? nic->attr->pcidev.linkspeed : 0;
}

/* A management port shows by its PCI link: it is far slower than that of the fastest NIC. Where it
 * lies says nothing: it may be beside the same cores as a NIC, or beside a part of them. */
static uint32_t drop_slow_nics(hwloc_obj_t *devices, uint32_t count)
{
	float fastest = 0;
	uint32_t kept = 0, i;

	for (i = 0; i < count; i++)
		if (link_speed(devices[i]) > fastest)
			fastest = link_speed(devices[i]);
	for (i = 0; i < count; i++)
		if (link_speed(devices[i]) <= 0 || link_speed(devices[i]) * NEAR_SLOWER >= fastest)
			devices[kept++] = devices[i];
	return kept;
}

/* A management port: other NICs are beside a part of the cores that it is beside. */
static bool nic_is_wide(hwloc_topology_t topology, hwloc_obj_t nic, hwloc_obj_t const *devices,
			uint32_t count)
{
	hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, nic);

	for (uint32_t i = 0; near && near->cpuset && i < count; i++) {
		hwloc_obj_t other = hwloc_get_non_io_ancestor_obj(topology, devices[i]);

		if (other && other->cpuset &&
		    hwloc_bitmap_isincluded(other->cpuset, near->cpuset) &&
		    !hwloc_bitmap_isequal(other->cpuset, near->cpuset))
			return true;
	}
	return false;
}

static uint32_t drop_wide_nics(hwloc_topology_t topology, hwloc_obj_t *devices, uint32_t count)
{
	bool wide[NEAR_DEVICES_MAX];
	uint32_t kept = 0, i;

	for (i = 0; i < count; i++)
		wide[i] = nic_is_wide(topology, devices[i], devices, count);
	for (i = 0; i < count; i++)
		if (!wide[i])
			devices[kept++] = devices[i];
	return kept;
}

uint32_t near_devices(hwloc_topology_t topology, enum near_kind kind,
		      hwloc_obj_t devices[NEAR_DEVICES_MAX])
{
	bool fast = has_fast_nics(topology);
	hwloc_obj_t device = NULL, body;
	uint32_t count = 0, i;

	while ((device = hwloc_get_next_osdev(topology, device)) && count < NEAR_DEVICES_MAX) {
		if (!is_wanted(kind, device, fast))
			continue;
		body = near_body(device);
		for (i = 0; i < count && devices[i] != body; i++)
			;
		if (i == count)
			devices[count++] = body;
	}
	if (kind == NEAR_NIC)
		count = drop_wide_nics(topology, devices, drop_slow_nics(devices, count));
	/* A GPU whose computing devices this hwloc does not see has its PCI function alone. */
	device = NULL;
	while (kind == NEAR_TILE && (device = hwloc_get_next_pcidev(topology, device)) &&
	       count < NEAR_DEVICES_MAX) {
		if (!class_computes(device->attr->pcidev.class_id))
			continue;
		for (i = 0; i < count && devices[i] != device; i++)
			;
		if (i == count)
			devices[count++] = device;
	}
	return count;
}

/* Chooses the most telling of the operating system's names: a NIC's own name before that of its
 * InfiniBand twin. */
const char *near_name(enum near_kind kind, hwloc_obj_t device)
{
	hwloc_obj_t child;

	if (device->type == HWLOC_OBJ_OS_DEVICE)
		return device->name;
	for (child = device->io_first_child; child; child = child->next_sibling)
		if (child->type == HWLOC_OBJ_OS_DEVICE && child->name &&
		    is_wanted(kind, child, kind == NEAR_NIC))
			return child->name;
	for (child = device->io_first_child; child; child = child->next_sibling)
		if (child->type == HWLOC_OBJ_OS_DEVICE && child->name)
			return child->name;
	return device->name ? device->name : "a device";
}

/* Level Zero shows tiles as parts of a device: ze0.0, ze0.1. */
static uint32_t parts_of(hwloc_obj_t device)
{
	uint32_t parts = 0;
	hwloc_obj_t child;

	for (child = device->io_first_child; child; child = child->next_sibling)
		parts += parts_of(child) + (child->type == HWLOC_OBJ_OS_DEVICE && child->name &&
					    strncmp(child->name, "ze", 2) == 0 &&
					    strchr(child->name, '.'));
	return parts;
}

static uint32_t cores_in(const struct cores *c, hwloc_const_bitmap_t set)
{
	uint32_t n = 0, i;

	for (i = 0; i < c->count; i++)
		n += hwloc_bitmap_isincluded(c->objects[i]->cpuset, set) ? 1 : 0;
	return n;
}

/* Adds a unit to the group with exactly these cores. Returns false where set overlaps another
 * group's cores. */
static bool near_add(struct near *n, hwloc_const_bitmap_t set, uint32_t units)
{
	uint32_t g;

	n->units += units;
	for (g = 0; g < n->count; g++) {
		if (hwloc_bitmap_isequal(n->groups[g].set, set)) {
			n->groups[g].units += units;
			return true;
		}
		if (hwloc_bitmap_intersects(n->groups[g].set, set))
			return false;
	}
	if (n->count == NEAR_GROUPS_MAX)
		return false;
	n->groups[n->count++] = (struct near_group){set, units};
	return true;
}

bool near_find(struct near *n, hwloc_topology_t topology, const struct cores *c,
	       enum near_kind kind, uint32_t units)
{
	hwloc_const_bitmap_t whole = hwloc_topology_get_topology_cpuset(topology);
	hwloc_obj_t devices[NEAR_DEVICES_MAX];
	uint32_t count = near_devices(topology, kind, devices), i, g;

	*n = (struct near){0};
	for (i = 0; i < count; i++) {
		hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, devices[i]);

		/* A device beside the whole of a node that has several parts: the topology does not
		 * tell its place. */
		if (!near || !near->cpuset ||
		    (c->domain_count > 1 && hwloc_bitmap_isequal(near->cpuset, whole)))
			return false;
		if (cores_in(c, near->cpuset) &&
		    !near_add(n, near->cpuset,
			      kind == NEAR_TILE ? max_u32(parts_of(devices[i]), 1) : 1))
			return false;
	}
	/* The job counts tiles, but the topology shows whole GPUs. */
	if (kind == NEAR_TILE && n->units == count && units > count && count &&
	    units % count == 0) {
		for (g = 0; g < n->count; g++)
			n->groups[g].units *= units / count;
		n->units = units;
	}
	return n->count > 0;
}

void near_known(struct near *n, hwloc_topology_t topology, const struct cores *c,
		const struct pin_known *known)
{
	hwloc_obj_t package = NULL;

	*n = (struct near){0};
	while ((package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package)))
		if (cores_in(c, package->cpuset))
			near_add(n, package->cpuset, known->package_tiles);
}

/* The number of cores that every unit can have. */
static uint32_t unit_cores(const struct near *n, const struct cores *c)
{
	uint32_t width = UINT32_MAX, g, each;

	for (g = 0; g < n->count; g++) {
		each = cores_in(c, n->groups[g].set) / n->groups[g].units;
		width = each < width ? each : width;
	}
	return width;
}

static uint32_t near_group_of(const struct near *n, uint32_t unit, uint32_t *first)
{
	uint32_t g;

	for (g = 0, *first = 0; unit >= *first + n->groups[g].units; g++)
		*first += n->groups[g].units;
	return g;
}

static uint32_t near_unit_of(const struct near *n, uint32_t rank, uint32_t ranks)
{
	return (uint32_t)((uint64_t)rank * n->units / ranks);
}

/* How many units a rank gets: the same number for all ranks, and so few that no rank gets units of
 * two groups. */
static uint32_t units_each(const struct near *n, uint32_t ranks)
{
	uint32_t each, r, first, last;

	for (each = n->units / ranks; each > 1; each--) {
		for (r = 0; r < ranks; r++) {
			uint32_t unit = near_unit_of(n, r, ranks);

			if (near_group_of(n, unit, &first) !=
			    near_group_of(n, unit + each - 1, &last))
				break;
		}
		if (r == ranks)
			break;
	}
	return each;
}

struct near_slice near_cut(const struct near *n, const struct cores *c, uint32_t rank,
			   uint32_t ranks)
{
	uint32_t unit = near_unit_of(n, rank, ranks), width = unit_cores(n, c), first, slot;
	/* the greatest number of ranks per unit */
	uint32_t share = (ranks + n->units - 1) / n->units;
	struct near_slice slice = {.set = n->groups[near_group_of(n, unit, &first)].set};

	slice.first = (unit - first) * width;
	if (ranks <= n->units) {
		slice.count = width * units_each(n, ranks);
		return slice;
	}
	/* The lowest rank on this unit is ceil(unit * ranks / units). */
	slot = rank - (uint32_t)(((uint64_t)unit * ranks + n->units - 1) / n->units);
	slice.count = width / share;
	slice.first += slot * slice.count;
	return slice;
}
