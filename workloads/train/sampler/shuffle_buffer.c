/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/train/sampler/shuffle_buffer.h"

#include "core/content/random.h"

void shuffle_buffer_begin(struct shuffle_buffer *b, struct arrival *in, uint64_t n, uint64_t key,
			  uint64_t all)
{
	*b = (struct shuffle_buffer){.in = in, .n = n, .key = key, .all = all};
	b->count = shuffle_buffer_ahead(n, all);
	b->came = b->count;
}

bool shuffle_buffer_more(const struct shuffle_buffer *b)
{
	return b->came < b->all;
}

struct arrival shuffle_buffer_take(struct shuffle_buffer *b, const struct arrival *next)
{
	uint64_t draw = random_at(b->key, b->came, b->count), i;
	struct arrival out;

	if (next) {
		b->in[b->count++] = *next;
		b->came++;
	}
	i = (uint64_t)((unsigned __int128)draw * b->count >> 64);
	out = b->in[i];
	b->in[i] = b->in[--b->count];
	return out;
}
