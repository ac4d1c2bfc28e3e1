/* SPDX-License-Identifier: Apache-2.0 */
/* Policy of a key-value cache: see policy.h. */
#include "workloads/kvcache/tiers/policy.h"

#include <math.h>

struct kv_policy kv_policy_mlperf(void)
{
	return (struct kv_policy){.write = KV_WRITE_MOVE,
				  .order = KV_LRU,
				  .forced = true,
				  .depth = 10,
				  .evictions_min = 1000,
				  .evictions_max = 5000};
}

struct kv_tier_rules kv_tier_mlperf(uint64_t capacity, bool last)
{
	double full = last ? 1 : 0.8;

	return (struct kv_tier_rules){.capacity = capacity,
				      .high = full,
				      .low = full,
				      .largest = 0.95,
				      .trusted = 0.05,
				      .sparse = 0.2,
				      .sparse_entry = 0.5};
}

struct kv_limits kv_limits_of(const struct kv_tier_rules *rules)
{
	double capacity = (double)rules->capacity;

	if (rules->capacity == KV_UNLIMITED)
		return (struct kv_limits){.limited = false};
	return (struct kv_limits){
		.limited = true,
		.high = (uint64_t)floor(capacity * rules->high),
		.low = (uint64_t)floor(capacity * rules->low),
		.largest = (uint64_t)floor(capacity * rules->largest),
		.trusted = (uint64_t)ceil(capacity * rules->trusted),
		.sparse = (uint64_t)ceil(capacity * rules->sparse),
		.sparse_entry = (uint64_t)floor(capacity * rules->low * rules->sparse_entry),
	};
}

uint64_t kv_policy_victims(const struct kv_policy *policy, uint64_t entries)
{
	uint64_t most = entries + 100;

	most = most > policy->evictions_min ? most : policy->evictions_min;
	return most < policy->evictions_max ? most : policy->evictions_max;
}
