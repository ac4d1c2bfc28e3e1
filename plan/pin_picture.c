/* `haul topo`: one character a core, a row (or more) a NUMA node. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "plan/cores.h"
#include "plan/pin.h"

enum { ROW_CORES = 64 };

/* Which rank a core belongs to; ranks beyond these share the last sign. */
static const char signs[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ#";

struct picture {
	FILE *out;
	hwloc_topology_t topology;
	hwloc_bitmap_t allowed;
	hwloc_bitmap_t *sets; /* [ranks] */
	uint32_t ranks;
	const char *said;
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
		return '.';
	if (users > 1)
		return '*';
	return signs[last < sizeof(signs) - 2 ? last : sizeof(signs) - 2];
}

static int count_of(const struct picture *p, hwloc_obj_type_t type)
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
	char memory[UNITS_TEXT_BYTES];

	units_bytes_binary(memory, (double)hwloc_get_root_obj(p->topology)->total_memory);
	draw_counts(p, "node       ", count_of(p, HWLOC_OBJ_PACKAGE), "package", "packages");
	draw_counts(p, " · ", count_of(p, HWLOC_OBJ_NUMANODE), "NUMA node", "NUMA nodes");
	draw_counts(p, " · ", count_of(p, core_type(p->topology)), "core", "cores");
	draw_counts(p, " · ", count_of(p, HWLOC_OBJ_PU), "thread", "threads");
	fprintf(p->out, " · %s\n", memory);
	fprintf(p->out, "pin        %s · ", pin_names[cluster->pin]);
	draw_counts(p, "", (int)p->ranks, "rank", "ranks");
	fprintf(p->out, "%s%s\n", p->said ? " · " : "", p->said ? p->said : "");
}

/* A second memory of the same cores (HBM in flat mode) is a row without them. */
static bool cores_drawn(const struct picture *p, hwloc_obj_t numa)
{
	hwloc_obj_t before = NULL;

	while ((before = hwloc_get_next_obj_by_type(p->topology, HWLOC_OBJ_NUMANODE, before)) &&
	       before != numa)
		if (hwloc_bitmap_isequal(before->cpuset, numa->cpuset))
			return true;
	return false;
}

static void draw_numa(const struct picture *p, hwloc_obj_t numa)
{
	hwloc_obj_type_t type = core_type(p->topology);
	char memory[UNITS_TEXT_BYTES];
	hwloc_obj_t core = NULL, package;
	unsigned n = 0;

	package = hwloc_get_ancestor_obj_by_type(p->topology, HWLOC_OBJ_PACKAGE, numa);
	units_bytes_binary(memory, (double)numa->attr->numanode.local_memory);
	if (package)
		fprintf(p->out, "package %-3u", package->os_index);
	else
		fprintf(p->out, "%-11s", "");
	fprintf(p->out, "NUMA %-3u %10s   ", numa->os_index, memory);
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

static void draw_ranks(const struct picture *p)
{
	hwloc_obj_type_t type = core_type(p->topology);
	char list[512];
	uint32_t r;

	fprintf(p->out, "\nrank  cores  threads, by the system's numbers\n");
	for (r = 0; r < p->ranks; r++) {
		hwloc_obj_t core = NULL;
		unsigned n = 0;

		while ((core = hwloc_get_next_obj_by_type(p->topology, type, core)))
			n += hwloc_bitmap_intersects(core->cpuset, p->sets[r]) ? 1 : 0;
		hwloc_bitmap_list_snprintf(list, sizeof(list), p->sets[r]);
		fprintf(p->out, "%4u  %5u  %s\n", r, n, list);
	}
}

static const char *device_kind(hwloc_obj_t device)
{
	switch (device->attr->osdev.type) {
	case HWLOC_OBJ_OSDEV_NETWORK:
	case HWLOC_OBJ_OSDEV_OPENFABRICS:
		return "network";
	case HWLOC_OBJ_OSDEV_GPU:
	case HWLOC_OBJ_OSDEV_COPROC:
		return "accelerator";
	default:
		return NULL;
	}
}

static void draw_devices(const struct picture *p)
{
	hwloc_obj_t device = NULL;
	const char *before = "\n";

	while ((device = hwloc_get_next_osdev(p->topology, device))) {
		hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(p->topology, device);
		const char *kind = device_kind(device);
		char list[64] = "?";

		if (!kind)
			continue;
		if (near && near->nodeset)
			hwloc_bitmap_list_snprintf(list, sizeof(list), near->nodeset);
		fprintf(p->out, "%s%-12s %-12s NUMA %s\n", before, kind,
			device->name ? device->name : "?", list);
		before = "";
	}
}

/* What this process may use: the launcher's mask where the topology is this machine's. */
static int find_allowed(struct picture *p, struct err *err)
{
	p->allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(p->topology));
	if (!p->allowed)
		return err_set(err, -ENOMEM, "no memory for a core set");
	if (hwloc_topology_is_thissystem(p->topology)) {
		hwloc_bitmap_t bound = hwloc_bitmap_alloc();

		if (bound && hwloc_get_cpubind(p->topology, bound, HWLOC_CPUBIND_PROCESS) == 0)
			hwloc_bitmap_and(p->allowed, p->allowed, bound);
		hwloc_bitmap_free(bound);
	}
	return 0;
}

static int cut_all(struct picture *p, const struct job_cluster *cluster, struct err *err)
{
	uint32_t r;
	int rc = 0;

	p->sets = calloc(p->ranks, sizeof(*p->sets));
	if (!p->sets)
		return err_set(err, -ENOMEM, "no memory for %u core sets", p->ranks);
	for (r = 0; r < p->ranks && rc == 0; r++)
		rc = pin_cut(cluster, p->topology, p->allowed, r, p->ranks, &p->sets[r], &p->said,
			     err);
	return rc;
}

char *pin_picture(const struct job_cluster *cluster, hwloc_topology_t topology,
		  uint32_t local_ranks, struct err *err)
{
	struct picture p = {.topology = topology, .ranks = local_ranks};
	hwloc_obj_t numa = NULL;
	char *text = NULL;
	size_t bytes;
	uint32_t r;

	if (find_allowed(&p, err) < 0 || cut_all(&p, cluster, err) < 0)
		goto out_free;
	p.out = open_memstream(&text, &bytes);
	if (!p.out) {
		err_set(err, -ENOMEM, "no memory for the picture");
		goto out_free;
	}
	draw_head(&p, cluster);
	fputc('\n', p.out);
	while ((numa = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, numa)))
		draw_numa(&p, numa);
	fprintf(p.out,
		"\na sign a core: 0-9 a-z its rank, * several ranks, . idle, - not allowed\n");
	draw_ranks(&p);
	draw_devices(&p);
	if (fclose(p.out) != 0) {
		free(text);
		text = NULL;
		err_set(err, -ENOMEM, "no memory for the picture");
	}
out_free:
	for (r = 0; p.sets && r < local_ranks; r++)
		hwloc_bitmap_free(p.sets[r]);
	free(p.sets);
	hwloc_bitmap_free(p.allowed);
	return text;
}
