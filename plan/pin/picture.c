/* SPDX-License-Identifier: Apache-2.0 */
/* `haul topo`: a picture in text, one character per core, one or more rows per NUMA node, and the
 * devices beside their package. See pin.h. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "plan/pin/known.h"
#include "plan/pin/launch_bind.h"
#include "plan/pin/near.h"
#include "plan/pin/pin.h"

enum {
	ROW_CORES = 52,
	NAME_BYTES = 64,
	NUMA_COLUMNS = 4,
	NEAR_COLUMNS = 26,
	LIST_COLUMN = 17 + NUMA_COLUMNS + NEAR_COLUMNS /* of the threads of a rank */
};

/* The sign of the rank that a core belongs to. Ranks beyond these share the last sign. */
static const char signs[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ#";

struct devices {
	uint32_t count;
	hwloc_obj_t objects[NEAR_DEVICES_MAX];
};

struct picture {
	FILE *out;
	hwloc_topology_t topology;
	const struct pin_known *known; /* may be NULL */
	hwloc_bitmap_t allowed, reserved;
	const struct launch_bind *bind; /* may be NULL */
	hwloc_bitmap_t *given, *sets;   /* [ranks]: by the launcher, and of it after pinning */
	uint32_t ranks;
	struct devices nics, gpus;
	const char *message, *reserved_said;
};

static hwloc_obj_type_t core_type(hwloc_topology_t topology)
{
	return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE
								      : HWLOC_OBJ_PU;
}

static char core_sign(const struct picture *p, hwloc_obj_t core)
{
	uint32_t r, last = 0, users = 0;

	if (!hwloc_bitmap_intersects(core->cpuset, p->allowed))
		return '-';
	for (r = 0; r < p->ranks; r++) {
		if (hwloc_bitmap_intersects(core->cpuset, p->sets[r])) {
			last = r;
			users++;
		}
	}
	if (!users)
		return hwloc_bitmap_intersects(core->cpuset, p->reserved) ? '=' : '.';
	if (users > 1)
		return '*';
	return signs[last < sizeof(signs) - 2 ? last : sizeof(signs) - 2];
}

static int picture_count(const struct picture *p, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(p->topology, type);

	return n > 0 ? n : 0;
}

static void draw_counts(const struct picture *p, const char *label, int n, const char *one,
			const char *many)
{
	fprintf(p->out, "%s%d %s", label, n, n == 1 ? one : many);
}

static void draw_head(const struct picture *p, const struct job_cluster *cluster)
{
	hwloc_obj_t package = hwloc_get_next_obj_by_type(p->topology, HWLOC_OBJ_PACKAGE, NULL);
	const char *cpu = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
	char memory[UNITS_TEXT_BYTES];

	units_bytes_binary(memory, (double)hwloc_get_root_obj(p->topology)->total_memory);
	draw_counts(p, "node       ", picture_count(p, HWLOC_OBJ_PACKAGE), "package", "packages");
	draw_counts(p, " · ", picture_count(p, HWLOC_OBJ_NUMANODE), "NUMA node", "NUMA nodes");
	draw_counts(p, " · ", picture_count(p, core_type(p->topology)), "core", "cores");
	draw_counts(p, " · ", picture_count(p, HWLOC_OBJ_PU), "thread", "threads");
	fprintf(p->out, " · %s\n", memory);
	if (cpu)
		fprintf(p->out, "processor  %.80s\n", cpu);
	fprintf(p->out, "pin        %s · ", pin_names[cluster->pin]);
	draw_counts(p, "", (int)p->ranks, "rank", "ranks");
	if (p->bind)
		fprintf(p->out, " · inside what the launcher gives");
	fprintf(p->out, "\n");
	if (p->reserved_said)
		fprintf(p->out, "reserved   %s\n", p->reserved_said);
	if (p->message)
		fprintf(p->out, "note       %s\n", p->message);
	if (p->bind)
		launch_bind_notes(p->out, p->bind, p->topology, p->reserved);
}

/* Combines consecutive names with the same stem into one: "hsn0-3". */
static void picture_add_name(char *text, size_t bytes, char *last, unsigned *run, const char *name)
{
	size_t stem = strlen(name), used = strlen(text), old = strlen(last);
	char *dash;

	while (stem && isdigit((unsigned char)name[stem - 1]))
		stem--;
	while (old && isdigit((unsigned char)last[old - 1]))
		old--;
	if (used && stem == old && name[stem] && last[old] && strncmp(name, last, stem) == 0 &&
	    strtoul(name + stem, NULL, 10) == strtoul(last + old, NULL, 10) + 1) {
		if (*run) {
			dash = strrchr(text, '-');
			*dash = '\0';
			used = (size_t)(dash - text);
		}
		snprintf(text + used, bytes - used, "-%s", name + stem);
		(*run)++;
	} else {
		snprintf(text + used, bytes - used, "%s%s", used ? " " : "", name);
		*run = 0;
	}
	snprintf(last, NAME_BYTES, "%.60s", name);
}

static bool is_near(const struct picture *p, hwloc_obj_t device, hwloc_const_bitmap_t set)
{
	hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(p->topology, device);

	return near && near->cpuset && hwloc_bitmap_isincluded(set, near->cpuset) &&
	       (picture_count(p, HWLOC_OBJ_PACKAGE) < 2 || near->type != HWLOC_OBJ_MACHINE);
}

/* Whether NIC number i of a known node belongs to one of the cores in set. */
static bool owns_nic(const struct picture *p, uint32_t i, hwloc_const_bitmap_t set)
{
	hwloc_obj_t core = NULL;

	while ((core = hwloc_get_next_obj_by_type(p->topology, HWLOC_OBJ_CORE, core)))
		if (hwloc_bitmap_intersects(core->cpuset, set) &&
		    pin_known_nic(p->known, core) == i)
			return true;
	return false;
}

static bool has_nic_table(const struct picture *p)
{
	return p->known && p->nics.count == p->known->packages * p->known->package_nics;
}

static void names_near(const struct picture *p, enum near_kind kind, hwloc_const_bitmap_t set,
		       char *text, size_t bytes)
{
	const struct devices *d = kind == NEAR_NIC ? &p->nics : &p->gpus;
	bool table = kind == NEAR_NIC && has_nic_table(p);
	char last[NAME_BYTES] = "";
	unsigned run = 0;
	uint32_t i;

	text[0] = '\0';
	for (i = 0; i < d->count; i++)
		if (table ? owns_nic(p, i, set) : is_near(p, d->objects[i], set))
			picture_add_name(text, bytes, last, &run, near_name(kind, d->objects[i]));
}

/* False for a second memory of the same cores (HBM in flat mode), whose row shows no cores. */
static bool cores_drawn(const struct picture *p, hwloc_obj_t numa)
{
	hwloc_obj_t before = NULL;

	while ((before = hwloc_get_next_obj_by_type(p->topology, HWLOC_OBJ_NUMANODE, before)) &&
	       before != numa)
		if (hwloc_bitmap_isequal(before->cpuset, numa->cpuset))
			return true;
	return false;
}

/* Draws the cores of a NUMA node, one sign each. */
static void draw_cores(const struct picture *p, hwloc_obj_t numa)
{
	hwloc_obj_type_t type = core_type(p->topology);
	hwloc_obj_t core = NULL;
	unsigned n = 0;

	if (cores_drawn(p, numa)) {
		fprintf(p->out, "the same cores\n");
		return;
	}
	while ((core = hwloc_get_next_obj_by_type(p->topology, type, core))) {
		if (!hwloc_bitmap_isincluded(core->cpuset, numa->cpuset))
			continue;
		if (n && n % ROW_CORES == 0)
			fprintf(p->out, "\n%33s", "");
		fputc(core_sign(p, core), p->out);
		n++;
	}
	fprintf(p->out, "%s\n", n ? "" : "no cores");
}

static void draw_devices(const struct picture *p, const char *label, enum near_kind kind,
			 hwloc_const_bitmap_t set)
{
	char text[256];

	names_near(p, kind, set, text, sizeof(text));
	if (text[0])
		fprintf(p->out, "%11s%-9s%.79s\n", "", label, text);
}

/* Draws the memories and devices of a package, or of the node where it has no packages (NULL). */
static void draw_package(const struct picture *p, hwloc_obj_t package)
{
	hwloc_const_bitmap_t set =
		package ? package->cpuset : hwloc_topology_get_topology_cpuset(p->topology);
	char memory[UNITS_TEXT_BYTES], label[32] = "";
	hwloc_obj_t numa = NULL;
	bool first = true;

	if (package)
		snprintf(label, sizeof(label), "package %u", package->os_index);
	while ((numa = hwloc_get_next_obj_by_type(p->topology, HWLOC_OBJ_NUMANODE, numa))) {
		/* A memory of several packages is drawn with the first of them. */
		if (!hwloc_bitmap_isincluded(numa->cpuset, set) &&
		    (package->prev_cousin || !hwloc_bitmap_intersects(numa->cpuset, set)))
			continue;
		units_bytes_binary(memory, (double)numa->attr->numanode.local_memory);
		fprintf(p->out, "%-11sNUMA %-3u %10s   ", first ? label : "", numa->os_index,
			memory);
		draw_cores(p, numa);
		first = false;
	}
	draw_devices(p, "NICs", NEAR_NIC, set);
	draw_devices(p, "GPUs", NEAR_TILE, set);
}

/* Lists devices that the node does not place, once and without their cores. */
static void draw_unplaced(const struct picture *p, const char *label, enum near_kind kind)
{
	const struct devices *d = kind == NEAR_NIC ? &p->nics : &p->gpus;
	char text[256] = "", last[NAME_BYTES] = "";
	unsigned run = 0;
	uint32_t i;

	for (i = 0; i < d->count; i++) {
		hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(p->topology, d->objects[i]);

		if (near && near->type == HWLOC_OBJ_MACHINE)
			picture_add_name(text, sizeof(text), last, &run,
					 near_name(kind, d->objects[i]));
	}
	if (text[0])
		fprintf(p->out, "%-11s%-9s%.79s\n", "unplaced", label, text);
}

/* Prints text in lines of at most `columns` columns, broken behind commas. All lines but the first
 * are indented. */
static void draw_broken(const struct picture *p, const char *text, int columns, int indent)
{
	while (strlen(text) > (size_t)columns) {
		int n = columns;

		while (n > 1 && text[n - 1] != ',')
			n--;
		fprintf(p->out, "%.*s\n%*s", n, text, indent, "");
		text += n;
	}
	fprintf(p->out, "%s\n", text);
}

/* The NUMA nodes whose cores the set has, "0-1". A second memory of the same cores is left out. */
static void picture_numa(const struct picture *p, hwloc_const_bitmap_t set, char *text,
			 size_t bytes)
{
	hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
	hwloc_obj_t numa = NULL;

	text[0] = '\0';
	while (nodes && (numa = hwloc_get_next_obj_by_type(p->topology, HWLOC_OBJ_NUMANODE, numa)))
		if (hwloc_bitmap_intersects(numa->cpuset, set) && !cores_drawn(p, numa))
			hwloc_bitmap_set(nodes, numa->os_index);
	if (nodes)
		hwloc_bitmap_list_snprintf(text, bytes, nodes);
	hwloc_bitmap_free(nodes);
}

static unsigned picture_cores(const struct picture *p, hwloc_const_bitmap_t set)
{
	hwloc_obj_type_t type = core_type(p->topology);
	hwloc_obj_t core = NULL;
	unsigned n = 0;

	while ((core = hwloc_get_next_obj_by_type(p->topology, type, core)))
		n += hwloc_bitmap_intersects(core->cpuset, set) ? 1 : 0;
	return n;
}

static void draw_ranks(const struct picture *p)
{
	char list[2048], numa[64], nics[256], gpus[256], near[sizeof(nics) + sizeof(gpus)];
	uint32_t r;

	fprintf(p->out, "\nrank  cores  %-*s  %-*s  threads, by the system's numbers\n",
		NUMA_COLUMNS, "NUMA", NEAR_COLUMNS, "near");
	for (r = 0; r < p->ranks; r++) {
		picture_numa(p, p->sets[r], numa, sizeof(numa));
		names_near(p, NEAR_NIC, p->sets[r], nics, sizeof(nics));
		names_near(p, NEAR_TILE, p->sets[r], gpus, sizeof(gpus));
		snprintf(near, sizeof(near), "%s%s%s", nics, nics[0] && gpus[0] ? " " : "", gpus);
		hwloc_bitmap_list_snprintf(list, sizeof(list), p->sets[r]);
		fprintf(p->out, "%4u  %5u  %-*.*s  %-*.*s  ", r, picture_cores(p, p->sets[r]),
			NUMA_COLUMNS, NUMA_COLUMNS, numa[0] ? numa : "-", NEAR_COLUMNS,
			NEAR_COLUMNS, near[0] ? near : "-");
		draw_broken(p, list, 98 - LIST_COLUMN, LIST_COLUMN);
	}
}

/* Finds what ranks may use: the mask of this process where the topology is this machine's, unless a
 * launcher would give them others. */
static int find_allowed(struct picture *p, struct err *err)
{
	p->allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(p->topology));
	if (!p->allowed)
		return err_set(err, -ENOMEM, "no memory for a core set");
	if (!p->bind && hwloc_topology_is_thissystem(p->topology)) {
		hwloc_bitmap_t bound = hwloc_bitmap_alloc();

		if (bound && hwloc_get_cpubind(p->topology, bound, HWLOC_CPUBIND_PROCESS) == 0)
			hwloc_bitmap_and(p->allowed, p->allowed, bound);
		hwloc_bitmap_free(bound);
	}
	return 0;
}

/* What the launcher gives each rank. */
static int picture_give(struct picture *p, struct err *err)
{
	char list[128];

	for (uint32_t r = 0; r < p->ranks; r++) {
		p->given[r] = hwloc_bitmap_dup(p->allowed);
		if (!p->given[r])
			return err_set(err, -ENOMEM, "no memory for a core set");
		if (!p->bind)
			continue;
		hwloc_bitmap_and(p->given[r], p->allowed, launch_bind_set(p->bind, r));
		if (hwloc_bitmap_iszero(p->given[r])) {
			hwloc_bitmap_list_snprintf(list, sizeof(list), launch_bind_set(p->bind, r));
			return err_set(err, -EINVAL,
				       "--bind: this node has none of rank %u's processors, %s", r,
				       list);
		}
	}
	return 0;
}

/* Ranks with the same mask share it. */
static struct pin_seat picture_seat(const struct picture *p, uint32_t rank)
{
	struct pin_seat seat = {.local_rank = rank, .local_ranks = p->ranks};

	for (uint32_t r = 0; r < p->ranks; r++) {
		if (!hwloc_bitmap_isequal(p->given[r], p->given[rank]))
			continue;
		seat.sharers++;
		seat.index += r < rank ? 1 : 0;
	}
	return seat;
}

static int picture_cut(struct picture *p, const struct job_cluster *cluster, struct err *err)
{
	int rc;

	p->given = calloc(p->ranks, sizeof(*p->given));
	p->sets = calloc(p->ranks, sizeof(*p->sets));
	if (!p->given || !p->sets)
		return err_set(err, -ENOMEM, "no memory for %u core sets", p->ranks);
	rc = picture_give(p, err);
	for (uint32_t r = 0; r < p->ranks && rc == 0; r++) {
		const struct pin_seat seat = picture_seat(p, r);

		rc = pin_cut(cluster, p->topology, p->given[r], &seat, &p->sets[r], &p->message,
			     err);
	}
	return rc;
}

static int find_reserved(struct picture *p, const struct job_cluster *cluster, struct err *err)
{
	p->reserved = hwloc_bitmap_alloc();
	if (!p->reserved)
		return err_set(err, -ENOMEM, "no memory for a core set");
	if (!p->bind && (cluster->pin == PIN_NONE || cluster->pin == PIN_LIST))
		return 0;
	return pin_reserved(cluster, p->topology, p->reserved, &p->reserved_said, err);
}

static void picture_draw(const struct picture *p, const struct job_cluster *cluster)
{
	hwloc_obj_t package = NULL;

	draw_head(p, cluster);
	fputc('\n', p->out);
	if (picture_count(p, HWLOC_OBJ_PACKAGE) == 0)
		draw_package(p, NULL);
	while ((package = hwloc_get_next_obj_by_type(p->topology, HWLOC_OBJ_PACKAGE, package)))
		draw_package(p, package);
	if (picture_count(p, HWLOC_OBJ_PACKAGE) > 1) {
		if (!has_nic_table(p))
			draw_unplaced(p, "NICs", NEAR_NIC);
		draw_unplaced(p, "GPUs", NEAR_TILE);
	}
	fprintf(p->out, "\none sign per core: 0-9 a-z A-Z rank, # higher rank, * several, . idle, "
			"= reserved, - not allowed\n");
	draw_ranks(p);
}

char *pin_picture(const struct job_cluster *cluster, hwloc_topology_t topology,
		  uint32_t local_ranks, const struct launch_bind *bind, struct err *err)
{
	struct picture p = {.topology = topology, .ranks = local_ranks, .bind = bind};
	char *text = NULL;
	size_t bytes;
	uint32_t r;

	p.known = pin_known_find(topology);
	p.nics.count = near_devices(topology, NEAR_NIC, p.nics.objects);
	p.gpus.count = near_devices(topology, NEAR_TILE, p.gpus.objects);
	if (find_allowed(&p, err) < 0 || find_reserved(&p, cluster, err) < 0 ||
	    picture_cut(&p, cluster, err) < 0)
		goto out_free;
	p.out = open_memstream(&text, &bytes);
	if (!p.out) {
		err_set(err, -ENOMEM, "no memory for the picture");
		goto out_free;
	}
	picture_draw(&p, cluster);
	if (fclose(p.out) != 0) {
		free(text);
		text = NULL;
		err_set(err, -ENOMEM, "no memory for the picture");
	}
out_free:
	for (r = 0; p.given && p.sets && r < local_ranks; r++) {
		hwloc_bitmap_free(p.given[r]);
		hwloc_bitmap_free(p.sets[r]);
	}
	free(p.given);
	free(p.sets);
	hwloc_bitmap_free(p.allowed);
	hwloc_bitmap_free(p.reserved);
	return text;
}
