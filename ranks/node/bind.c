/* SPDX-License-Identifier: Apache-2.0 */
/* Core binding of this rank: see bind.h. */
#include "ranks/node/bind.h"

#include <errno.h>
#include <hwloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/content/fnv.h"
#include "plan/pin/accelerator.h"
#include "plan/pin/pin.h"

/* Nodes of devices that drivers of accelerators make, and where hwloc is told about another machine. */
static const char *const device_nodes[] = {"/dev/nvidiactl", "/dev/kfd", "/dev/dri/renderD128",
					   NULL};
static const char *const hwloc_variables[] = {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", NULL};

/* Whether anybody asks where cores and devices are: the job, which wants slices of cores, or the accelerators of the node,
 * of which each rank has one. hwloc reads some ten files for each processor and for each device, and may start drivers. Ranks
 * of a node may see different devices, so the first one decides. */
static bool topology_wanted(const struct nodes *n, const struct job_cluster *cluster)
{
	uint64_t wanted = cluster->pin != PIN_NONE;

	for (unsigned i = 0; device_nodes[i]; i++)
		wanted |= access(device_nodes[i], F_OK) == 0;
	for (unsigned i = 0; hwloc_variables[i]; i++)
		wanted |= getenv(hwloc_variables[i]) != NULL;
	return group_broadcast(n->node, &wanted, sizeof(wanted)) == 0 && wanted;
}

/* Rank 0 of the node loads and exports; the others import. IS_THISSYSTEM, or binding would be
 * without effect. */
static int topology_share(const struct nodes *n, hwloc_topology_t *out, struct err *err)
{
	const unsigned long flags = HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM |
				    HWLOC_TOPOLOGY_FLAG_THISSYSTEM_ALLOWED_RESOURCES;
	bool loader = n->node->rank == 0;
	hwloc_topology_t topology;
	uint64_t bytes = 0;
	char *xml = NULL, *copy = NULL;
	int length = 0, rc = 0;

	if (hwloc_topology_init(&topology) < 0)
		return err_set(err, -ENOMEM, "hwloc: no topology");
	if (loader) {
		hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
		if (hwloc_topology_load(topology) == 0 &&
		    hwloc_topology_export_xmlbuffer(topology, &xml, &length, 0) == 0)
			bytes = (uint64_t)length;
	}
	group_broadcast(n->node, &bytes, sizeof(bytes));
	if (!bytes)
		rc = err_set(err, -EIO, "hwloc: the node's topology cannot be read");
	copy = bytes ? malloc(bytes) : NULL;
	if (!rc && !copy)
		rc = err_set(err, -ENOMEM, "no memory for the topology");
	if (bytes && copy) {
		if (xml)
			memcpy(copy, xml, bytes);
		group_broadcast(n->node, copy, bytes);
	}
	if (!rc && !loader) {
		hwloc_topology_set_xmlbuffer(topology, copy, (int)bytes);
		hwloc_topology_set_flags(topology, flags);
		hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
		if (hwloc_topology_load(topology) < 0)
			rc = err_set(err, -EIO, "hwloc: the topology handed on cannot be read");
	}
	free(copy);
	if (xml)
		hwloc_free_xmlbuffer(topology, xml);
	if (rc < 0)
		hwloc_topology_destroy(topology);
	else
		*out = topology;
	return rc;
}

/* Ranks only have to see whether two masks are equal, so a hash of the text is enough. */
static uint64_t mask_hash(hwloc_const_bitmap_t mask)
{
	char *text = NULL;
	uint64_t hash;

	if (hwloc_bitmap_asprintf(&text, mask) < 0)
		return 0;
	hash = fnv_add(FNV_START, text, strlen(text));
	free(text);
	return hash;
}

static void seats_count(const uint64_t *masks, uint32_t ranks, struct pin_seat *seats)
{
	for (uint32_t r = 0; r < ranks; r++) {
		seats[r] = (struct pin_seat){.local_rank = r, .local_ranks = ranks};
		for (uint32_t other = 0; other < ranks; other++) {
			if (masks[other] != masks[r])
				continue;
			seats[r].sharers++;
			seats[r].index += other < r ? 1 : 0;
		}
	}
}

/* Finds which ranks of the node have the same mask; they divide it among themselves. Collective. */
static int seat_find(const struct nodes *n, hwloc_const_bitmap_t mask, struct pin_seat *seat,
		     struct err *err)
{
	struct group *node = n->node;
	uint64_t mine = mask_hash(mask), *masks = NULL;
	struct pin_seat *seats = NULL;
	int rc = 0;

	if (node->rank == 0) {
		masks = calloc(node->size, sizeof(*masks));
		seats = calloc(node->size, sizeof(*seats));
		if (!masks || !seats)
			rc = err_set(err, -ENOMEM, "no memory for the seats of %u ranks",
				     node->size);
	}
	rc = group_agree(node, rc, err);
	if (rc < 0)
		goto out_free;
	group_gather(node, &mine, sizeof(mine), masks);
	if (masks && seats)
		seats_count(masks, node->size, seats);
	rc = group_scatter(node, seats, sizeof(*seat), seat);
out_free:
	free(masks);
	free(seats);
	return rc;
}

/* Logs a sentence once per run: on the first rank of the first node. */
static void bind_log_once(const struct nodes *n, const struct log *log, enum log_level level,
			  const char *message)
{
	if (message && n->index == 0 && n->node->rank == 0)
		log_say(log, level, "%s", message);
}

static int cut_and_bind(const struct nodes *n, const struct job_cluster *cluster,
			const struct log *log, hwloc_topology_t topology,
			hwloc_const_bitmap_t allowed, const struct pin_seat *seat, struct err *err)
{
	hwloc_bitmap_t reserved = hwloc_bitmap_alloc(), wanted = NULL;
	const char *message = NULL;
	int rc = reserved ? 0 : err_set(err, -ENOMEM, "no memory for a core set");

	if (rc == 0 && cluster->pin != PIN_LIST)
		rc = pin_reserved(cluster, topology, reserved, &message, err);
	if (rc < 0)
		goto out_free;
	bind_log_once(n, log, LOG_INFO, message);
	rc = pin_cut(cluster, topology, allowed, seat, &wanted, &message, err);
	if (rc < 0)
		goto out_free;
	bind_log_once(n, log, LOG_WARNING, message);
	if (hwloc_set_cpubind(topology, wanted, HWLOC_CPUBIND_PROCESS) < 0)
		log_say(log, LOG_WARNING, "cannot bind: %s", strerror(errno));
out_free:
	hwloc_bitmap_free(reserved);
	hwloc_bitmap_free(wanted);
	return rc;
}

/* topology: NULL where it was not looked at, since the node has no accelerators. */
static void find_gpu(const struct job_cluster *cluster, hwloc_topology_t topology,
		     hwloc_const_bitmap_t allowed, const struct pin_seat *seat, uint32_t *gpu)
{
	for (unsigned i = 0; accelerator_variables[i]; i++)
		if (accelerator_told(getenv(accelerator_variables[i]), gpu))
			return;
	if (topology)
		accelerator_near(cluster, topology, allowed, seat, gpu);
}

/* The mask of the main thread is what the launcher gave. Threads of a library may have other masks. */
static int mask_of_launcher(hwloc_topology_t topology, hwloc_bitmap_t allowed, struct err *err)
{
	long most = sysconf(_SC_NPROCESSORS_CONF);
	size_t bytes;
	cpu_set_t *set;

	if (topology) {
		if (hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_THREAD) < 0)
			hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(topology));
		return 0;
	}
	/* The kernel wants room for all processors that it can have, which may be more than there are. */
	most = most < CPU_SETSIZE ? CPU_SETSIZE : most * 2;
	bytes = CPU_ALLOC_SIZE((size_t)most);
	set = CPU_ALLOC((size_t)most);
	if (!set)
		return err_set(err, -ENOMEM, "no memory for a core set");
	if (sched_getaffinity(0, bytes, set) < 0) {
		CPU_FREE(set);
		return err_set(err, -errno,
			       "the kernel does not tell on which cores this rank may run: %s",
			       strerror(errno));
	}
	for (long cpu = 0; cpu < most; cpu++)
		if (CPU_ISSET_S((size_t)cpu, bytes, set))
			hwloc_bitmap_set(allowed, (unsigned)cpu);
	CPU_FREE(set);
	return 0;
}

/* The threads of the node that may be used. */
static uint32_t node_threads(hwloc_topology_t topology)
{
	if (!topology)
		return (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	return (uint32_t)hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(topology));
}

int bind_rank(const struct nodes *n, const struct job_cluster *cluster, const struct log *log,
	      char found[RESULTS_TEXT], uint32_t *gpu, bool *crowded, struct err *err)
{
	hwloc_topology_t topology = NULL;
	hwloc_bitmap_t allowed;
	struct pin_seat seat;
	int rc;

	found[0] = '\0';
	allowed = hwloc_bitmap_alloc();
	rc = allowed ? 0 : err_set(err, -ENOMEM, "no memory for a core set");
	rc = group_agree(n->node, rc, err);
	if (rc == 0 && topology_wanted(n, cluster))
		rc = group_agree(n->node, topology_share(n, &topology, err), err);
	if (rc < 0)
		goto out_free;
	rc = group_agree(n->node, mask_of_launcher(topology, allowed, err), err);
	if (rc == 0)
		rc = seat_find(n, allowed, &seat, err);
	if (rc < 0)
		goto out_free;
	*crowded = n->node->size > node_threads(topology) ||
		   seat.sharers > (uint32_t)hwloc_bitmap_weight(allowed);
	find_gpu(cluster, topology, allowed, &seat, gpu);
	if (cluster->pin != PIN_NONE)
		rc = cut_and_bind(n, cluster, log, topology, allowed, &seat, err);
	if (rc == 0 &&
	    (!topology || hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS) == 0))
		hwloc_bitmap_list_snprintf(found, RESULTS_TEXT, allowed);
out_free:
	hwloc_bitmap_free(allowed);
	if (topology)
		hwloc_topology_destroy(topology);
	return rc;
}
