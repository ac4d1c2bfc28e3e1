/* SPDX-License-Identifier: Apache-2.0 */
/* Capacity of a tier whose options name none: 95 % of what is free on its store at the start, as in
 * MLPerf's benchmark. There each process takes that for itself; here the ranks that write to the
 * same file system share it, and a tier that several of them fill together has all of their shares.
 * What other tiers of the phase may take there, whose capacities are in the options, is left for
 * them. Where the store does not tell what is free, there is no limit. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "core/units.h"
#include "workloads/kvcache/run.h"

enum { SPACE_PERCENT = 95 };

/* What a rank sees of the space of a store, for one of its tiers. All 0: it has no such tier. */
struct space_seen {
	uint64_t node; /* UINT64_MAX: it is not that of one node */
	uint64_t device;
	uint64_t asks;     /* 1: the tier has no capacity */
	uint64_t writers;  /* 1: this rank writes to it */
	uint64_t reserved; /* bytes of its capacity, if it has one */
	uint64_t rank;
};

/* What all ranks do there together. */
struct space_use {
	uint64_t writers;  /* ranks that write to a tier without a capacity */
	uint64_t reserved; /* bytes of other tiers */
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

/* Adds up what is done in each space, for all ranks that ask. use: by rank. */
static void space_count(struct space_seen *all, size_t count, struct space_use *use)
{
	qsort(all, count, sizeof(*all), space_compare);
	for (size_t first = 0, end; first < count; first = end) {
		struct space_use sum = {0, 0};

		for (end = first; end < count && space_compare(&all[first], &all[end]) == 0;
		     end++) {
			sum.writers += all[end].asks ? all[end].writers : 0;
			if (__builtin_add_overflow(sum.reserved, all[end].reserved, &sum.reserved))
				sum.reserved = UINT64_MAX;
		}
		for (size_t i = first; i < end; i++)
			if (all[i].asks)
				use[all[i].rank] = sum;
	}
}

/* What is done in the space of the tier of this rank that asks. mine: of each of its tiers.
 * Collective over the phase. */
static int space_uses(struct group *g, const struct space_seen mine[KV_TIERS_MAX],
		      struct space_use *mine_use, struct err *err)
{
	bool first = g->rank == 0;
	struct space_seen *all =
		first ? calloc((size_t)g->size * KV_TIERS_MAX, sizeof(*all)) : NULL;
	struct space_use *use = first ? calloc(g->size, sizeof(*use)) : NULL;
	int rc = 0;

	if (first && (!all || !use))
		rc = err_set(err, -ENOMEM, "no memory for %u ranks", g->size);
	rc = group_agree(g, rc, err);
	if (rc == 0)
		rc = group_gather(g, mine, KV_TIERS_MAX * sizeof(*mine), all);
	if (rc == 0 && all && use)
		space_count(all, (size_t)g->size * KV_TIERS_MAX, use);
	if (rc == 0)
		rc = group_scatter(g, use, sizeof(*use), mine_use);
	free(all);
	free(use);
	return rc;
}

uint64_t kv_space_share(uint64_t free_bytes, uint64_t reserved, uint64_t sharers)
{
	uint64_t part = free_bytes / 100 * SPACE_PERCENT + free_bytes % 100 * SPACE_PERCENT / 100;

	part = excess_u64(part, reserved);
	return sharers ? part / sharers : part;
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

/* Looks at the store of a tier. free_bytes: UINT64_MAX where it does not tell. */
static struct space_seen space_look(const struct kv_run *r, uint32_t tier, uint64_t *free_bytes)
{
	struct space_seen seen = {.rank = r->ctx->group->rank};
	uint64_t capacity = r->setup.rules[tier].capacity;
	struct store_space space;

	seen.asks = capacity == KV_UNLIMITED;
	*free_bytes = UINT64_MAX;
	if (store_space(&r->stores[r->setup.tiers[tier].store], &space) < 0)
		return seen;
	*free_bytes = space.free_bytes;
	seen.node = space.node ? r->ctx->place->node : UINT64_MAX;
	seen.device = space.device;
	seen.writers = r->part.writes;
	seen.reserved = seen.asks || !seen.writers ? 0 : capacity;
	return seen;
}

static int space_check(const struct kv_run *r, uint32_t tier, uint64_t share, uint64_t free_bytes,
		       const struct space_use *use, struct err *err)
{
	char is_free[UNITS_TEXT_BYTES], reserved[UNITS_TEXT_BYTES];

	if (share)
		return 0;
	return err_set(
		err, -ENOSPC,
		"%s/tiers/%" PRIu32
		"/capacity: nothing is left for it: %s are free, of which 95 %% count, and other tiers there have "
		"capacities of %s",
		r->ctx->phase->path, tier, units_bytes_decimal(is_free, (double)free_bytes),
		units_bytes_decimal(reserved, (double)use->reserved));
}

int kv_space(struct kv_run *r, struct err *err)
{
	uint32_t tier = r->setup.tier_count - 1; /* the only one that may have no limit */
	struct group *all = r->ctx->group;
	struct space_seen mine[KV_TIERS_MAX] = {{.rank = 0}};
	struct space_use use = {0, 0};
	uint64_t share = KV_UNLIMITED, free_bytes = UINT64_MAX;
	int rc;

	if (r->setup.rules[tier].capacity != KV_UNLIMITED)
		return 0;
	/* What is free for that tier is seen last. */
	for (uint32_t k = 0; k <= tier; k++)
		if (r->setup.tiers[k].kind == KV_TIER_STORE)
			mine[k] = space_look(r, k, &free_bytes);
	rc = space_uses(all, mine, &use, err);
	if (rc == 0 && free_bytes != UINT64_MAX) {
		share = kv_space_share(free_bytes, use.reserved, use.writers);
		rc = space_check(r, tier, share, free_bytes, &use, err);
	}
	rc = group_agree(all, rc, err);
	/* A tier has one capacity for all who fill it together. */
	if (rc == 0 && r->part.group)
		rc = group_allreduce(r->part.group, MERGE_MIN, &share, 1);
	if (rc == 0 && r->sharing.group)
		rc = group_allreduce(r->sharing.group, MERGE_MIN, &share, 1);
	if (rc == 0)
		space_set(r, tier, share);
	return rc;
}
