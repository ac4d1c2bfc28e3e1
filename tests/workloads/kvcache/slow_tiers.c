/* SPDX-License-Identifier: Apache-2.0 */
/* A slow model of a waterfall: see slow_tiers.h. */
#include "tests/workloads/kvcache/slow_tiers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static void slow_event(struct slow_tiers *s, char kind, const struct slow_entry *e, int from,
		       int to)
{
	assert(s->event_count < SLOW_EVENTS);
	s->events[s->event_count++] = (struct slow_event){kind, from, to, e->key, e->size};
}

static struct slow_entry *slow_find(struct slow_tiers *s, uint64_t key)
{
	for (int i = 0; i < s->count; i++)
		if (s->entries[i].location >= 0 && s->entries[i].key == key)
			return &s->entries[i];
	return NULL;
}

uint64_t slow_tier_bytes(const struct slow_tiers *s, int tier)
{
	uint64_t sum = 0;

	for (int i = 0; i < s->count; i++)
		if (s->entries[i].location == tier)
			sum += s->entries[i].size;
	return sum;
}

static int slow_older(const void *a, const void *b)
{
	const struct slow_entry *x = *(struct slow_entry *const *)a,
				*y = *(struct slow_entry *const *)b;

	if (x->last_access != y->last_access)
		return x->last_access < y->last_access ? -1 : 1;
	return x->access_count < y->access_count ? -1 : x->access_count > y->access_count;
}

/* Entries of a tier, oldest first. The caller frees them. */
static struct slow_entry **slow_snapshot(struct slow_tiers *s, int tier, int *count)
{
	struct slow_entry **list = malloc(SLOW_ENTRIES * sizeof(*list));

	assert(list);
	*count = 0;
	for (int i = 0; i < s->count; i++)
		if (s->entries[i].location == tier)
			list[(*count)++] = &s->entries[i];
	qsort(list, (size_t)*count, sizeof(*list), slow_older);
	return list;
}

static bool slow_ensure(struct slow_tiers *s, int tier, uint64_t need, int depth)
{
	bool terminal = tier == SLOW_TIERS - 1, enough = false;
	double limit = s->limit[tier], target = terminal ? limit : limit * 0.8;
	struct slow_entry **list;
	int count, next = 0, budget;

	if (terminal && isinf(limit)) {
		s->used[tier] += (double)need;
		return true;
	}
	if (depth > 10)
		return false;
	if (!terminal && (double)need > limit * 0.95)
		return false;
	list = slow_snapshot(s, tier, &count);
	budget = count + 100 > 1000 ? count + 100 : 1000;
	budget = budget < 5000 ? budget : 5000;
	for (int evictions = 0; evictions < budget; evictions++) {
		if (s->used[tier] + (double)need <= target || s->used[tier] < limit * 0.05) {
			enough = true;
			goto out;
		}
		if (next >= count) {
			enough = terminal;
			goto out;
		}
		if (next == 0 && !terminal && (double)slow_tier_bytes(s, tier) < limit * 0.2 &&
		    (double)need > limit * 0.8 * 0.5)
			goto out;
		if (terminal) {
			slow_event(s, 'E', list[next], tier, tier);
			list[next]->location = -1;
		} else {
			if (!slow_ensure(s, tier + 1, list[next]->size, depth + 1))
				goto out;
			slow_event(s, 'D', list[next], tier, tier + 1);
			list[next]->location = tier + 1;
		}
		s->used[tier] -= (double)list[next]->size;
		next++;
	}
	enough = terminal;
out:
	if (enough)
		s->used[tier] += (double)need;
	free(list);
	return enough;
}

/* Places of entries that are gone are used again, so that the array stays small. */
static struct slow_entry *slow_place(struct slow_tiers *s)
{
	for (int i = 0; i < s->count; i++)
		if (s->entries[i].location < 0)
			return &s->entries[i];
	assert(s->count < SLOW_ENTRIES);
	return &s->entries[s->count++];
}

void slow_write(struct slow_tiers *s, uint64_t key, uint64_t size)
{
	struct slow_entry *e;
	int tier = 0;

	if (slow_find(s, key))
		return;
	while (tier < SLOW_TIERS && !slow_ensure(s, tier, size, 0))
		tier++;
	if (tier == SLOW_TIERS) {
		tier--;
		s->used[tier] += (double)size;
	}
	e = slow_place(s);
	*e = (struct slow_entry){key, size, ++s->clock, 1, tier};
	slow_event(s, 'W', e, tier, tier);
}

void slow_read(struct slow_tiers *s, uint64_t key)
{
	struct slow_entry *e = slow_find(s, key);

	if (!e)
		return;
	e->last_access = ++s->clock;
	e->access_count++;
	slow_event(s, 'R', e, e->location, e->location);
}
