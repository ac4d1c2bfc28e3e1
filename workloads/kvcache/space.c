/* Capacity of a tier whose options name none: 95 % of what is free on its store at the start, as in MLPerf's benchmark. There each
 * process takes that for itself; here the ranks that write to the same file system share it, and a tier that
 * several of them fill together has all of their shares. Where the store does not tell what
 * is free, there is no limit. */
#include <errno.h>
#include <stdlib.h>

#include "workloads/kvcache/run.h"

enum { SPACE_PERCENT = 95 };

/* What a rank sees of the space of a store. */
struct space_seen {
	uint64_t node; /* UINT64_MAX: it is not that of one node */
	uint64_t device;
	uint64_t writers; /* 1: this rank writes there */
	uint64_t rank;
};

static int space_compare(const void *a, const void *b)
{
	const struct space_seen *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return 0;
}

/* Counts the writers of each space for all ranks that see it. writers: [count], by rank. */
static void space_count(struct space_seen *all, uint64_t *writers, uint32_t count)
{
	qsort(all, count, sizeof(*all), space_compare);
	for (uint32_t first = 0, end; first < count; first = end) {
		uint64_t sum = 0;

		for (end = first; end < count && space_compare(&all[first], &all[end]) == 0; end++)
			sum += all[end].writers;
		for (uint32_t i = first; i < end; i++)
			writers[all[i].rank] = sum;
	}
}

/* How many ranks write to the space that this rank sees. Collective over the phase. */
static int space_sharers(struct group *g, const struct space_seen *mine, uint64_t *sharers,
			 struct err *err)
{
	bool first = g->rank == 0;
	struct space_seen *all = first ? calloc(g->size, sizeof(*all)) : NULL;
	uint64_t *writers = first ? calloc(g->size, sizeof(*writers)) : NULL;
	int rc = 0;

	if (first && (!all || !writers))
		rc = err_set(err, -ENOMEM, "no memory for %u ranks", g->size);
	rc = group_agree(g, rc, err);
	if (rc == 0)
		rc = group_gather(g, mine, sizeof(*mine), all);
	if (rc == 0 && all && writers)
		space_count(all, writers, g->size);
	if (rc == 0)
		rc = group_scatter(g, writers, sizeof(*writers), sharers);
	free(all);
	free(writers);
	return rc;
}

uint64_t kv_space_share(uint64_t free_bytes, uint64_t sharers)
{
	uint64_t part = free_bytes / 100 * SPACE_PERCENT + free_bytes % 100 * SPACE_PERCENT / 100;

	return sharers ? part / sharers : part;
}

/* The last tier is the only one that may have no limit. */
static uint32_t space_tier(const struct kv_run *r)
{
	uint32_t last = r->setup.tier_count - 1;

	return r->setup.rules[last].capacity == KV_UNLIMITED ? last : KV_NONE;
}

/* Sets the capacity of a tier from the share of a rank that writes there. */
static void space_set(struct kv_run *r, uint32_t tier, uint64_t share)
{
	struct kv_tier_place *place = &r->setup.tiers[tier];
	uint64_t servers = 1, holders = kv_setup_holders(&r->setup, place->kind);

	if (share == KV_UNLIMITED)
		return;
	if (r->sharing.group)
		servers = r->sharing.group->size / r->setup.tensor;
	r->setup.rules[tier].capacity = share * servers;
	place->capacity = share * servers * (place->shared == KV_SHARED_NO ? 1 : holders);
}

int kv_space(struct kv_run *r, struct err *err)
{
	uint32_t tier = space_tier(r);
	struct group *all = r->ctx->group;
	struct store_space space = {.free_bytes = UINT64_MAX};
	struct space_seen mine = {.rank = all->rank, .writers = r->part.writes};
	uint64_t share = KV_UNLIMITED, sharers = 1;
	int rc;

	if (tier == KV_NONE)
		return 0;
	if (store_space(&r->stores[r->setup.tiers[tier].store], &space) < 0)
		space.free_bytes = UINT64_MAX;
	mine.node = space.node ? r->ctx->place->node : UINT64_MAX;
	mine.device = space.device;
	rc = space_sharers(all, &mine, &sharers, err);
	if (rc == 0 && space.free_bytes != UINT64_MAX)
		share = kv_space_share(space.free_bytes, sharers);
	/* A tier has one capacity for all who fill it together. */
	if (rc == 0 && r->part.group)
		rc = group_allreduce(r->part.group, MERGE_MIN, &share, 1);
	if (rc == 0 && r->sharing.group)
		rc = group_allreduce(r->sharing.group, MERGE_MIN, &share, 1);
	if (rc == 0)
		space_set(r, tier, share);
	return rc;
}
