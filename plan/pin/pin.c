/* SPDX-License-Identifier: Apache-2.0 */
/* Core binding of ranks: see pin.h. */
#include "plan/pin/pin.h"

#include <errno.h>

#include "plan/pin/cores.h"
#include "plan/pin/known.h"
#include "plan/pin/list.h"
#include "plan/pin/near.h"

const char *const pin_names[] = {"none", "core", "numa", "tile", "nic", "list", NULL};

/* Consecutive usable cores. */
struct core_slice {
	uint32_t first, count;
};

/* The widest equal slice with which every rank stays inside one domain. 0: there are more ranks
 * than cores. */
static uint32_t pin_widest_slice(const struct cores *c, uint32_t ranks)
{
	uint32_t width, room, d;

	for (width = c->count / ranks; width; width--) {
		for (room = 0, d = 0; d < c->domain_count; d++)
			room += c->domains[d].count / width;
		if (room >= ranks)
			break;
	}
	return width;
}

/* Distributes the ranks over the domains in proportion to their cores, as far as slices of that
 * width fit. Then numbers them domain by domain, so that neighbours share a domain. */
static struct core_slice slice_in_domains(const struct cores *c, uint32_t rank, uint32_t ranks,
					  uint32_t width)
{
	uint32_t dealt[CORES_DOMAINS_MAX] = {0};
	uint32_t d, i, best;

	for (i = 0; i < ranks; i++) {
		for (best = UINT32_MAX, d = 0; d < c->domain_count; d++) {
			if (dealt[d] >= c->domains[d].count / width)
				continue;
			if (best == UINT32_MAX ||
			    (uint64_t)dealt[d] * c->domains[best].count <
				    (uint64_t)dealt[best] * c->domains[d].count)
				best = d;
		}
		dealt[best]++;
	}
	for (d = 0; rank >= dealt[d]; d++)
		rank -= dealt[d];
	return (struct core_slice){c->domains[d].first + rank * width, width};
}

/* For fewer ranks than domains: each rank gets whole domains, and as many cores as the rank with
 * the fewest. */
static struct core_slice slice_of_domains(const struct cores *c, uint32_t rank, uint32_t ranks)
{
	uint32_t each = c->domain_count / ranks, width = UINT32_MAX, r, d, n;

	for (r = 0; r < ranks; r++) {
		for (n = 0, d = r * each; d < (r + 1) * each; d++)
			n += c->domains[d].count;
		width = n < width ? n : width;
	}
	return (struct core_slice){c->domains[rank * each].first, width};
}

static struct core_slice pin_cut_equal(const struct cores *c, enum pin pin, uint32_t rank,
				       uint32_t ranks)
{
	uint32_t width;

	if (pin == PIN_CORE) {
		width = c->count / ranks;
		return (struct core_slice){rank * width, width};
	}
	if (ranks < c->domain_count)
		return slice_of_domains(c, rank, ranks);
	width = pin_widest_slice(c, ranks);
	if (!width)
		return (struct core_slice){0, 0};
	return slice_in_domains(c, rank, ranks, width);
}

static int pin_cut_list(const struct job_cluster *cluster, hwloc_const_bitmap_t allowed,
			const struct pin_seat *seat, hwloc_bitmap_t out, const char **message,
			struct err *err)
{
	int rc = pin_list_set(cluster->cores, seat->local_rank, seat->local_ranks, out, err);

	if (rc < 0)
		return rc;
	if (!hwloc_bitmap_intersects(out, allowed))
		return err_set(err, -EINVAL,
			       "/cluster/cores: none of the cores named for local rank %u may "
			       "be used here",
			       seat->local_rank);
	if (!hwloc_bitmap_isincluded(out, allowed)) {
		hwloc_bitmap_and(out, out, allowed);
		*message = "cluster.cores names cores that the launcher did not give: left out";
	}
	return 0;
}

int pin_reserved(const struct job_cluster *cluster, hwloc_topology_t topology, hwloc_bitmap_t out,
		 const char **message, struct err *err)
{
	const struct pin_known *known = NULL;
	const char *list = cluster->reserved_cores;
	hwloc_obj_t core = NULL;
	int rc;

	*message = NULL;
	hwloc_bitmap_zero(out);
	if (!list[0]) {
		known = pin_known_find(topology);
		if (!known)
			return 0;
		list = known->reserved;
	}
	rc = pin_list_reserved(list, out, err);
	if (rc < 0)
		return rc;
	while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)))
		if (hwloc_bitmap_intersects(core->cpuset, out))
			hwloc_bitmap_or(out, out, core->cpuset);
	if (known && hwloc_bitmap_intersects(out, hwloc_topology_get_topology_cpuset(topology)))
		*message = known->reserved_said;
	return 0;
}

static void slice_set(const struct cores *c, struct core_slice slice, hwloc_const_bitmap_t allowed,
		      hwloc_bitmap_t out)
{
	uint32_t i;

	hwloc_bitmap_zero(out);
	for (i = 0; i < slice.count; i++)
		hwloc_bitmap_or(out, out, c->objects[slice.first + i]->cpuset);
	hwloc_bitmap_and(out, out, allowed);
}

static void near_set(const struct cores *c, struct near_slice slice, hwloc_const_bitmap_t allowed,
		     hwloc_bitmap_t out)
{
	uint32_t i, seen = 0;

	hwloc_bitmap_zero(out);
	for (i = 0; i < c->count; i++) {
		if (!hwloc_bitmap_isincluded(c->objects[i]->cpuset, slice.set))
			continue;
		if (seen >= slice.first && seen < slice.first + slice.count)
			hwloc_bitmap_or(out, out, c->objects[i]->cpuset);
		seen++;
	}
	hwloc_bitmap_and(out, out, allowed);
}

static void pin_cut_domains(const struct cores *c, enum pin pin, hwloc_const_bitmap_t allowed,
			    const struct pin_seat *seat, hwloc_bitmap_t out, const char **message)
{
	struct core_slice slice = pin_cut_equal(c, pin, seat->index, seat->sharers);

	if (slice.count)
		slice_set(c, slice, allowed, out);
	else
		*message = "more ranks than cores: not pinned";
}

static void pin_cut_near(const struct near *n, const struct cores *c, hwloc_const_bitmap_t allowed,
			 const struct pin_seat *seat, hwloc_bitmap_t out, const char **message)
{
	struct near_slice slice = near_cut(n, c, seat->index, seat->sharers);

	if (slice.count)
		near_set(c, slice, allowed, out);
	else
		*message = "too few cores for equal slices: not pinned";
}

static void pin_cut_tile(const struct job_cluster *cluster, hwloc_topology_t topology,
			 const struct cores *c, hwloc_const_bitmap_t allowed,
			 const struct pin_seat *seat, hwloc_bitmap_t out, const char **message)
{
	const struct pin_known *known = pin_known_find(topology);
	struct near near;

	if (known)
		near_known(&near, topology, c, known);
	else if (!near_find(&near, topology, c, NEAR_TILE, (uint32_t)cluster->gpus)) {
		pin_cut_domains(c, PIN_NUMA, allowed, seat, out, message);
		if (!*message)
			*message =
				"this node does not tell where its accelerators are: pinned as with "
				"pin numa";
		return;
	}
	pin_cut_near(&near, c, allowed, seat, out, message);
}

static int pin_cut_nic(hwloc_topology_t topology, const struct cores *c,
		       hwloc_const_bitmap_t allowed, const struct pin_seat *seat,
		       hwloc_bitmap_t out, const char **message, struct err *err)
{
	const struct pin_known *known = pin_known_find(topology);
	hwloc_obj_t core;
	struct near near;

	if (known && seat->sharers <= c->count) {
		core = pin_known_nic_core(known, c, seat->index, seat->sharers);
		if (!core)
			return err_set(err, -ENOMEM, "no memory for the cores of this node");
		hwloc_bitmap_and(out, core->cpuset, allowed);
	} else if (known || near_find(&near, topology, c, NEAR_NIC, 0)) {
		if (known)
			*message = "more ranks than cores: not pinned";
		else
			pin_cut_near(&near, c, allowed, seat, out, message);
	} else {
		pin_cut_domains(c, PIN_NUMA, allowed, seat, out, message);
		if (!*message)
			*message =
				"this node does not tell where its NICs are: pinned as with pin numa";
	}
	return 0;
}

/* usable is what is allowed but not reserved. A rank whose whole mask is reserved keeps its mask,
 * because the launcher has decided so. */
static int find_usable(const struct job_cluster *cluster, hwloc_topology_t topology,
		       hwloc_const_bitmap_t allowed, hwloc_bitmap_t usable, struct err *err)
{
	hwloc_bitmap_t reserved = hwloc_bitmap_alloc();
	const char *message;
	int rc;

	if (!reserved)
		return err_set(err, -ENOMEM, "no memory for a core set");
	rc = pin_reserved(cluster, topology, reserved, &message, err);
	if (rc == 0 && !hwloc_bitmap_isincluded(allowed, reserved))
		hwloc_bitmap_andnot(usable, allowed, reserved);
	hwloc_bitmap_free(reserved);
	return rc;
}

/* out starts as allowed, and stays so where no better set is found. */
static int pin_cut_slices(const struct job_cluster *cluster, hwloc_topology_t topology,
			  hwloc_const_bitmap_t allowed, const struct pin_seat *seat,
			  hwloc_bitmap_t out, const char **message, struct err *err)
{
	hwloc_bitmap_t usable = hwloc_bitmap_dup(allowed);
	struct cores cores;
	int rc;

	if (!usable)
		return err_set(err, -ENOMEM, "no memory for a core set");
	rc = find_usable(cluster, topology, allowed, usable, err);
	if (rc < 0)
		goto out_free;
	rc = cores_init(&cores, topology, usable, err);
	if (rc < 0)
		goto out_free;
	hwloc_bitmap_copy(out, usable);
	if (seat->sharers == 1) {
		if (seat->local_ranks > 1)
			*message = "the launcher has bound each rank by itself: its choice is kept";
	} else if (cluster->pin == PIN_TILE) {
		pin_cut_tile(cluster, topology, &cores, usable, seat, out, message);
	} else if (cluster->pin == PIN_NIC) {
		rc = pin_cut_nic(topology, &cores, usable, seat, out, message, err);
	} else {
		pin_cut_domains(&cores, (enum pin)cluster->pin, usable, seat, out, message);
	}
	cores_free(&cores);
out_free:
	hwloc_bitmap_free(usable);
	return rc;
}

int pin_cut(const struct job_cluster *cluster, hwloc_topology_t topology,
	    hwloc_const_bitmap_t allowed, const struct pin_seat *seat, hwloc_bitmap_t *out,
	    const char **message, struct err *err)
{
	const char *unheard;
	hwloc_bitmap_t set;
	int rc = 0;

	*out = NULL;
	message = message ? message : &unheard;
	*message = NULL;
	if (seat->local_rank >= seat->local_ranks || seat->index >= seat->sharers)
		return err_set(err, -EINVAL, "local rank %u of %u, %u of %u with its mask",
			       seat->local_rank, seat->local_ranks, seat->index, seat->sharers);
	set = hwloc_bitmap_dup(allowed);
	if (!set)
		return err_set(err, -ENOMEM, "no memory for a core set");
	if (cluster->pin == PIN_LIST)
		rc = pin_cut_list(cluster, allowed, seat, set, message, err);
	else if (cluster->pin != PIN_NONE)
		rc = pin_cut_slices(cluster, topology, allowed, seat, set, message, err);
	if (rc < 0) {
		hwloc_bitmap_free(set);
		return rc;
	}
	*out = set;
	return 0;
}
