#include "ranks/bind.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "plan/pin.h"

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

int bind_rank(const struct nodes *n, const struct job_cluster *cluster, const struct log *log,
	      char found[RESULTS_TEXT], bool *crowded, struct err *err)
{
	hwloc_bitmap_t allowed, wanted = NULL;
	hwloc_topology_t topology = NULL;
	const char *said = NULL;
	int rc;

	found[0] = '\0';
	rc = topology_share(n, &topology, err);
	if (rc < 0)
		return rc;
	allowed = hwloc_bitmap_alloc();
	if (hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS) < 0)
		hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(topology));
	*crowded = n->node->size >
		   (uint32_t)hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(topology));
	rc = pin_cut(cluster, topology, allowed, n->node->rank, n->node->size, &wanted, &said, err);
	if (rc < 0)
		goto out_free;
	if (said && n->index == 0 && n->node->rank == 0)
		log_say(log, LOG_WARNING, "%s", said);
	if (cluster->pin != PIN_NONE &&
	    hwloc_set_cpubind(topology, wanted, HWLOC_CPUBIND_PROCESS) < 0)
		log_say(log, LOG_WARNING, "cannot bind: %s", strerror(errno));
	if (hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS) == 0)
		hwloc_bitmap_list_snprintf(found, RESULTS_TEXT, allowed);
out_free:
	hwloc_bitmap_free(wanted);
	hwloc_bitmap_free(allowed);
	hwloc_topology_destroy(topology);
	return rc;
}
