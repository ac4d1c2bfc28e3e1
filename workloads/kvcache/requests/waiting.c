/* Waiting requests: see waiting.h. */
#include "workloads/kvcache/requests/waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RING_LEAST = 64, RING_MOST = 1 << 28 };

void kv_waiting_free(struct kv_waiting *w)
{
	for (uint32_t i = 0; i < KV_CLASSES_MAX; i++)
		free(w->ring[i].requests);
	*w = (struct kv_waiting){.count = 0};
}

/* The old requests come first in the new memory. */
static int ring_grow(struct kv_waiting_ring *r)
{
	uint32_t room = r->room ? 2 * r->room : RING_LEAST, head = r->room - r->first;
	struct kv_request *requests;

	if (r->room >= RING_MOST)
		return -ENOMEM;
	requests = malloc(room * sizeof(*requests));
	if (!requests)
		return -ENOMEM;
	if (r->count) {
		memcpy(requests, r->requests + r->first, head * sizeof(*requests));
		memcpy(requests + head, r->requests, r->first * sizeof(*requests));
	}
	free(r->requests);
	r->requests = requests;
	r->room = room;
	r->first = 0;
	return 0;
}

int kv_waiting_add(struct kv_waiting *w, uint32_t rank, const struct kv_request *request)
{
	struct kv_waiting_ring *r = &w->ring[rank];

	if (r->count == r->room && ring_grow(r) < 0)
		return -ENOMEM;
	r->requests[(r->first + r->count++) & (r->room - 1)] = *request;
	w->count++;
	w->most = w->count > w->most ? w->count : w->most;
	return 0;
}

bool kv_waiting_take(struct kv_waiting *w, struct kv_request *out)
{
	for (uint32_t i = 0; w->count && i < KV_CLASSES_MAX; i++) {
		struct kv_waiting_ring *r = &w->ring[i];

		if (!r->count)
			continue;
		*out = r->requests[r->first];
		r->first = (r->first + 1) & (r->room - 1);
		r->count--;
		w->count--;
		return true;
	}
	return false;
}
