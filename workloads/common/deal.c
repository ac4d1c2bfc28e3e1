/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing out of files to ranks: see deal.h. */
#include "workloads/common/deal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEAL_SHIFT = 56 };
static const uint64_t deal_taken_mask = ((uint64_t)1 << DEAL_SHIFT) - 1;
/* No deal has this number: while files are given back, there is nothing to take. */
static const uint64_t deal_closed = (uint64_t)0xff << DEAL_SHIFT;

void deal_open(struct deal *d, uint64_t files, const struct group *group)
{
	memset(d, 0, sizeof(*d));
	d->files = files;
	d->rank = group->rank;
	d->ranks = group->size;
}

void deal_close(struct deal *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		free(d->before[i]);
	d->count = 0;
}

static uint64_t deal_place(const struct deal *d, uint64_t list, uint32_t rank)
{
	return list ? d->before[list - 1][d->ranks + 1 + rank] : rank;
}

/* The number of files of a rank's part of a list. */
static uint64_t deal_share(const struct deal *d, uint64_t list, uint32_t rank)
{
	uint64_t files = list ? d->before[list - 1][d->ranks] : d->files;

	return (files + d->ranks - 1 - deal_place(d, list, rank)) / d->ranks;
}

/* The rank that gave back the file at this place of the next list. */
static uint32_t deal_giver(const struct deal *d, uint64_t list, uint64_t at)
{
	const uint64_t *before = d->before[list];
	uint32_t low = 0, high = d->ranks - 1;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (before[middle] <= at)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* A rank gave back the end of its part, so a place in the next list leads to one in this list. */
static uint64_t deal_file(const struct deal *d, uint64_t list, uint64_t taken)
{
	uint64_t at = taken * d->ranks + deal_place(d, list, d->rank);

	while (list-- > 0) {
		uint32_t giver = deal_giver(d, list, at);
		const uint64_t *before = d->before[list];
		uint64_t begun = deal_share(d, list, giver) - (before[giver + 1] - before[giver]);

		at = (begun + at - before[giver]) * d->ranks + deal_place(d, list, giver);
	}
	return at;
}

bool deal_take(struct deal *d, uint64_t *file)
{
	uint64_t word = atomic_fetch_add_explicit(&d->next, 1, memory_order_acq_rel);
	uint64_t list = word >> DEAL_SHIFT, taken = word & deal_taken_mask;

	if ((word & deal_closed) == deal_closed || taken >= deal_share(d, list, d->rank))
		return false;
	*file = deal_file(d, list, taken);
	return true;
}

bool deal_left(struct deal *d)
{
	uint64_t word = atomic_load_explicit(&d->next, memory_order_relaxed);

	return (word & deal_taken_mask) < deal_share(d, d->count, d->rank);
}

/* What a rank gives back, and whether it waits. */
struct deal_back {
	uint64_t files, waits;
};

/* Rank 0: the table of the next deal. */
static void deal_set_table(const struct deal *d, const struct deal_back *all, uint64_t *before)
{
	uint64_t *place = before + d->ranks + 1, next = 0;

	for (uint32_t r = 0; r < d->ranks; r++)
		before[r + 1] = before[r] + all[r].files;
	for (int waits = 1; waits >= 0; waits--)
		for (uint32_t r = 0; r < d->ranks; r++)
			if ((all[r].waits != 0) == (waits != 0))
				place[r] = next++;
}

/* Nothing can be taken from here on, until the next deal is there. */
static void deal_give_back(struct deal *d, struct deal_back *back)
{
	uint64_t share = deal_share(d, d->count, d->rank);
	uint64_t word = atomic_exchange_explicit(&d->next, deal_closed, memory_order_acq_rel);
	uint64_t taken = word & deal_taken_mask;

	back->files = taken < share ? share - taken : 0;
}

int deal_again(struct deal *d, bool waits, struct group *group)
{
	size_t bytes = (2 * (size_t)d->ranks + 1) * sizeof(uint64_t);
	uint64_t *before = calloc(1, bytes);
	struct deal_back back = {.waits = waits}, *all = NULL;
	bool memory = before != NULL;
	int rc;

	if (group->rank == 0) {
		all = calloc(d->ranks, sizeof(*all));
		memory = memory && all;
	}
	rc = group_agree(group, memory ? 0 : -ENOMEM, NULL);
	if (rc < 0) {
		d->no_memory = rc == -ENOMEM;
		rc = d->no_memory ? 0 : rc;
		goto out_free;
	}
	deal_give_back(d, &back);
	rc = group_gather(group, &back, sizeof(back), all);
	if (rc == 0 && all)
		deal_set_table(d, all, before);
	if (rc == 0)
		rc = group_broadcast(group, before, bytes);
	if (rc < 0)
		goto out_free;
	d->before[d->count++] = before;
	atomic_store_explicit(&d->next, (uint64_t)d->count << DEAL_SHIFT, memory_order_release);
	before = NULL;
out_free:
	free(all);
	free(before);
	return rc;
}
