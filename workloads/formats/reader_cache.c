/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/reader_cache.h"

#include <string.h>

void reader_cache_init(struct reader_cache *k, uint32_t groups)
{
	k->group_most = groups;
	reader_cache_clear(k);
}

void reader_cache_clear(struct reader_cache *k)
{
	k->file = k->whole = false;
	k->group_count = 0;
}

/* Puts group before all others and drops the least recently used one. Returns whether group was
 * there. */
static bool reader_cache_use(struct reader_cache *k, uint64_t group)
{
	uint32_t i = 0;
	bool had;

	if (!k->group_most)
		return false;
	while (i < k->group_count && k->groups[i] != group)
		i++;
	had = i < k->group_count;
	if (!had)
		i = k->group_count < k->group_most ? k->group_count++ : k->group_most - 1;
	memmove(k->groups + 1, k->groups, i * sizeof(k->groups[0]));
	k->groups[0] = group;
	return had;
}

uint32_t reader_cache_extents(struct reader_cache *k, const struct layout *l, uint64_t sample,
			      struct extent out[FORMAT_EXTENTS_MAX])
{
	uint64_t of = l->group_samples ? sample / l->group_samples : 0;
	uint32_t n, left = 0, i;
	bool group;

	/* As most rows of Parquet are: the group is that of the sample before, of which nothing
	 * was left. */
	if (k->whole && l->group_samples && k->groups[0] == of)
		return 0;
	group = l->group_samples && reader_cache_use(k, of);
	n = l->format->extents(l, sample, out);
	for (i = 0; i < n; i++) {
		if ((out[i].cache == CACHE_FOR_FILE && k->file) ||
		    (out[i].cache == CACHE_FOR_GROUP && group))
			continue;
		if (left != i)
			out[left] = out[i];
		left++;
	}
	k->file = true;
	k->whole = group && !left;
	return left;
}
