/* Loads of I/O threads: see loads.h. */
#include "workloads/kvcache/loads.h"

#include <errno.h>
#include <stdlib.h>

#include "workloads/kvcache/tiers/entries.h"

static void loads_add(struct kv_loads *l, uint32_t thread)
{
	struct kv_load *t = &l->thread[thread];
	uint32_t *first = &l->first[t->operations];

	t->before = KV_NONE;
	t->after = *first;
	if (*first != KV_NONE)
		l->thread[*first].before = thread;
	*first = thread;
}

static void loads_remove(struct kv_loads *l, uint32_t thread)
{
	const struct kv_load *t = &l->thread[thread];

	if (t->before == KV_NONE)
		l->first[t->operations] = t->after;
	else
		l->thread[t->before].after = t->after;
	if (t->after != KV_NONE)
		l->thread[t->after].before = t->before;
}

int kv_loads_open(struct kv_loads *l, uint32_t threads, uint32_t most)
{
	*l = (struct kv_loads){.threads = threads, .most = most};
	l->thread = calloc(threads, sizeof(*l->thread));
	l->first = malloc(((size_t)most + 1) * sizeof(*l->first));
	if (!l->thread || !l->first)
		return -ENOMEM;
	for (uint32_t i = 0; i <= most; i++)
		l->first[i] = KV_NONE;
	for (uint32_t i = threads; i-- > 0;)
		loads_add(l, i);
	return 0;
}

void kv_loads_close(struct kv_loads *l)
{
	free(l->thread);
	free(l->first);
	*l = (struct kv_loads){.threads = 0};
}

uint32_t kv_loads_take(struct kv_loads *l)
{
	uint32_t thread = l->first[l->least];

	loads_remove(l, thread);
	l->thread[thread].operations++;
	loads_add(l, thread);
	while (l->least < l->most && l->first[l->least] == KV_NONE)
		l->least++;
	return thread;
}

bool kv_loads_done(struct kv_loads *l, uint32_t thread)
{
	struct kv_load *t = &l->thread[thread];

	loads_remove(l, thread);
	t->operations--;
	loads_add(l, thread);
	if (t->operations < l->least)
		l->least = t->operations;
	return t->operations == 0;
}
