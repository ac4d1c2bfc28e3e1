#include "workloads/train/sampler/shuffle_buffer.h"

#include "core/content/random.h"

void shuffle_buffer_begin(struct shuffle_buffer *w, struct arrival *in, uint64_t n, uint64_t key,
			  uint64_t all)
{
	*w = (struct shuffle_buffer){.in = in, .n = n, .key = key, .all = all};
	w->count = shuffle_buffer_ahead(n, all);
	w->came = w->count;
}

bool shuffle_buffer_more(const struct shuffle_buffer *w)
{
	return w->came < w->all;
}

struct arrival shuffle_buffer_take(struct shuffle_buffer *w, const struct arrival *next)
{
	uint64_t draw = random_at(w->key, w->came, w->count), i;
	struct arrival out;

	if (next) {
		w->in[w->count++] = *next;
		w->came++;
	}
	i = (uint64_t)((unsigned __int128)draw * w->count >> 64);
	out = w->in[i];
	w->in[i] = w->in[--w->count];
	return out;
}
