#include "plan/pin.h"

#include <errno.h>

#include "plan/cores.h"
#include "plan/pin_list.h"

const char *const pin_names[] = {"none", "core", "numa", "list", NULL};

/* A run of consecutive usable cores. */
struct slice {
	uint32_t first, count;
};

/* The widest equal slice that lets every rank stay inside one domain. 0: more ranks than cores. */
static uint32_t widest(const struct cores *c, uint32_t ranks)
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

/* Ranks are dealt to the domains in proportion to their cores, as far as slices of that width fit;
 * then numbered domain by domain, so that neighbours share a domain. */
static struct slice slice_in_domains(const struct cores *c, uint32_t rank, uint32_t ranks,
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
	return (struct slice){c->domains[d].first + rank * width, width};
}

/* Fewer ranks than domains: whole domains each, as many cores as the poorest rank has. */
static struct slice slice_of_domains(const struct cores *c, uint32_t rank, uint32_t ranks)
{
	uint32_t each = c->domain_count / ranks, width = UINT32_MAX, r, d, n;

	for (r = 0; r < ranks; r++) {
		for (n = 0, d = r * each; d < (r + 1) * each; d++)
			n += c->domains[d].count;
		width = n < width ? n : width;
	}
	return (struct slice){c->domains[rank * each].first, width};
}

static struct slice cut(const struct cores *c, enum pin pin, uint32_t rank, uint32_t ranks)
{
	uint32_t width;

	if (pin == PIN_CORE) {
		width = c->count / ranks;
		return (struct slice){rank * width, width};
	}
	if (ranks < c->domain_count)
		return slice_of_domains(c, rank, ranks);
	width = widest(c, ranks);
	if (!width)
		return (struct slice){0, 0};
	return slice_in_domains(c, rank, ranks, width);
}

static int cut_list(const struct job_cluster *cluster, hwloc_const_bitmap_t allowed, uint32_t rank,
		    uint32_t ranks, hwloc_bitmap_t out, const char **said, struct err *err)
{
	int rc = pin_list_set(cluster->cores, rank, ranks, out, err);

	if (rc < 0)
		return rc;
	if (!hwloc_bitmap_intersects(out, allowed))
		return err_set(err, -EINVAL,
			       "/cluster/cores: none of the cores named for local rank %u may "
			       "be used here",
			       rank);
	if (!hwloc_bitmap_isincluded(out, allowed)) {
		hwloc_bitmap_and(out, out, allowed);
		if (said)
			*said = "cluster.cores names cores that the launcher did not give: left out";
	}
	return 0;
}

static int cut_slices(const struct job_cluster *cluster, hwloc_topology_t topology,
		      hwloc_const_bitmap_t allowed, uint32_t rank, uint32_t ranks,
		      hwloc_bitmap_t out, const char **said, struct err *err)
{
	struct cores cores;
	struct slice slice;
	uint32_t i;
	int rc;

	rc = cores_init(&cores, topology, allowed, err);
	if (rc < 0)
		return rc;
	hwloc_bitmap_copy(out, allowed);
	/* Already at most an equal share of the node: the launcher has cut, its choice stands. A mask
	 * that only leaves out a few cores (those of the system's services) is shared out. */
	if ((uint64_t)cores.count * ranks <= cores.node_count)
		goto out_free;
	slice = cut(&cores, (enum pin)cluster->pin, rank, ranks);
	if (!slice.count) {
		if (said)
			*said = "more ranks than cores: not pinned";
		goto out_free;
	}
	hwloc_bitmap_zero(out);
	for (i = 0; i < slice.count; i++)
		hwloc_bitmap_or(out, out, cores.objects[slice.first + i]->cpuset);
	hwloc_bitmap_and(out, out, allowed);
out_free:
	cores_free(&cores);
	return 0;
}

int pin_cut(const struct job_cluster *cluster, hwloc_topology_t topology,
	    hwloc_const_bitmap_t allowed, uint32_t local_rank, uint32_t local_ranks,
	    hwloc_bitmap_t *out, const char **said, struct err *err)
{
	hwloc_bitmap_t set;
	int rc = 0;

	*out = NULL;
	if (said)
		*said = NULL;
	if (local_rank >= local_ranks)
		return err_set(err, -EINVAL, "local rank %u of %u", local_rank, local_ranks);
	set = hwloc_bitmap_dup(allowed);
	if (!set)
		return err_set(err, -ENOMEM, "no memory for a core set");
	if (cluster->pin == PIN_LIST)
		rc = cut_list(cluster, allowed, local_rank, local_ranks, set, said, err);
	else if (cluster->pin != PIN_NONE)
		rc = cut_slices(cluster, topology, allowed, local_rank, local_ranks, set, said,
				err);
	if (rc < 0) {
		hwloc_bitmap_free(set);
		return rc;
	}
	*out = set;
	return 0;
}
