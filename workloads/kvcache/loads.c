/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of I/O threads: see loads.h. */
#include "workloads/kvcache/loads.h"

#include <errno.h>
#include <stdlib.h>

int kv_loads_open(struct kv_loads *l, uint32_t threads, uint32_t most)
{
	*l = (struct kv_loads){.most = most};
	l->thread = calloc(threads, sizeof(*l->thread));
	l->with = calloc((size_t)most + 1, sizeof(*l->with));
	if (!l->thread || !l->with)
		return -ENOMEM;
	for (uint32_t i = 0; i < threads; i++)
		list_append(&l->with[0], &l->thread[i].link);
	return 0;
}

void kv_loads_close(struct kv_loads *l)
{
	free(l->thread);
	free(l->with);
	*l = (struct kv_loads){.most = 0};
}

/* The thread that became so last is the first of its list, so its memory is still in the caches. */
static void loads_move(struct kv_loads *l, struct kv_load *t, uint32_t operations)
{
	list_remove(&l->with[t->operations], &t->link);
	t->operations = operations;
	list_prepend(&l->with[operations], &t->link);
}

uint32_t kv_loads_take(struct kv_loads *l)
{
	struct kv_load *t = list_member(l->with[l->least].first, struct kv_load, link);

	loads_move(l, t, t->operations + 1);
	while (l->least < l->most && list_empty(&l->with[l->least]))
		l->least++;
	return (uint32_t)(t - l->thread);
}

bool kv_loads_done(struct kv_loads *l, uint32_t thread)
{
	struct kv_load *t = &l->thread[thread];

	loads_move(l, t, t->operations - 1);
	l->least = t->operations < l->least ? t->operations : l->least;
	return t->operations == 0;
}
