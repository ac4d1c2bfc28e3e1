#include "workloads/train/sampler/shuffle_buffer.h"

#include "core/content/random.h"

void window_begin(struct window *w, struct arrival *in, uint64_t n, uint64_t key, uint64_t all)
{
	*w = (struct window){.in = in, .n = n, .key = key, .all = all};
	w->count = window_ahead(n, all);
	w->came = w->count;
}

bool window_more(const struct window *w)
{
	return w->came < w->all;
}

struct arrival window_take(struct window *w, const struct arrival *next)
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
