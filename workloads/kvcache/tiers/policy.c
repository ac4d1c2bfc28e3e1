/* SPDX-License-Identifier: Apache-2.0 */
/* Policy of a key-value cache: see policy.h. */
#include "workloads/kvcache/tiers/policy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int kv_sketch_init(struct kv_sketch *s, uint64_t keys)
{
	*s = (struct kv_sketch){.width = 64};
	while (s->width < keys)
		s->width *= 2;
	s->counters = calloc(KV_SKETCH_ROWS, s->width);
	return s->counters ? 0 : -ENOMEM;
}

void kv_sketch_free(struct kv_sketch *s)
{
	free(s->counters);
	*s = (struct kv_sketch){0};
}

/* Rows take their counter by two halves of the hash (Kirsch, Mitzenmacher, ESA 2006). */
static uint8_t *sketch_counter(const struct kv_sketch *s, uint64_t hash, uint64_t row)
{
	uint64_t step = hash >> 32 | 1;

	return &s->counters[row * s->width + ((hash + row * step) & (s->width - 1))];
}

void kv_sketch_add(struct kv_sketch *s, uint64_t hash)
{
	for (uint64_t row = 0; row < KV_SKETCH_ROWS; row++) {
		uint8_t *counter = sketch_counter(s, hash, row);

		*counter = *counter == UINT8_MAX ? UINT8_MAX : (uint8_t)(*counter + 1);
	}
	if (++s->added < KV_SKETCH_PERIOD * s->width)
		return;
	s->added = 0;
	for (uint64_t i = 0; i < KV_SKETCH_ROWS * s->width; i++)
		s->counters[i] /= 2;
}

uint32_t kv_sketch_count(const struct kv_sketch *s, uint64_t hash)
{
	uint8_t least = UINT8_MAX;

	for (uint64_t row = 0; row < KV_SKETCH_ROWS; row++) {
		uint8_t count = *sketch_counter(s, hash, row);

		least = count < least ? count : least;
	}
	return least;
}

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
