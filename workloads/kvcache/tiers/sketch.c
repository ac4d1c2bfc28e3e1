/* SPDX-License-Identifier: Apache-2.0 */
/* Count-min sketch: see sketch.h. */
#include "workloads/kvcache/tiers/sketch.h"

#include <errno.h>
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
