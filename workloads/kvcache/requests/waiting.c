/* Waiting requests: see waiting.h. */
#include "workloads/kvcache/requests/waiting.h"

#include <errno.h>

struct waiting_request {
	struct list_link link;
	struct kv_request request;
};

int kv_waiting_add(struct kv_waiting *w, uint32_t rank, const struct kv_request *request)
{
	struct waiting_request *waits = kv_pool_take(&w->pool, sizeof(*waits));

	if (!waits)
		return -ENOMEM;
	waits->request = *request;
	list_append(&w->line[rank], &waits->link);
	w->most = max_u32(++w->count, w->most);
	return 0;
}

bool kv_waiting_take(struct kv_waiting *w, struct kv_request *out)
{
	struct list_link *link = NULL;
	struct waiting_request *waits;

	for (uint32_t i = 0; w->count && !link && i < KV_CLASSES_MAX; i++)
		link = list_take(&w->line[i]);
	if (!link)
		return false;
	waits = list_member(link, struct waiting_request, link);
	*out = waits->request;
	kv_pool_give(&w->pool, waits);
	w->count--;
	return true;
}
