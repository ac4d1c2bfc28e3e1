/* Directory of a shared tier that is divided among nodes: see divided.h. */
#include "workloads/kvcache/tiers/divided.h"

#include <errno.h>

/* The buckets of a part go by the other half of the hash. */
uint32_t kv_divided_part(struct kv_id id, uint32_t parts)
{
	return (uint32_t)((kv_id_hash(id) >> 32) * parts >> 32);
}

/* Puts an entry, for which room is made as the last tier makes it. What another server puts there meanwhile may take that room;
 * then more is made. */
static int divided_put(struct kv_shared *s, const struct kv_policy *policy,
		       const struct kv_limits *l, const struct kv_question *q, struct kv_answer *a)
{
	const struct kv_shared_room any = {UINT64_MAX, 0};
	struct kv_shared_room room = {UINT64_MAX, 0};
	uint64_t most;
	int rc;

	if (l->limited && q->bytes > l->largest && !policy->forced)
		return -ENOSPC;
	if (l->limited)
		room = (struct kv_shared_room){q->victims ? l->low : l->high, l->trusted};
	rc = kv_shared_put(s, q->id, q->bytes, q->server, &room);
	if (rc != -ENOSPC)
		return rc;
	most = kv_policy_victims(policy, kv_shared_state(s).entries + q->victims);
	room.full = l->limited ? l->low : UINT64_MAX;
	for (uint64_t i = q->victims; rc == -ENOSPC && i < most; i++) {
		struct kv_victim *victim = &a->victims[a->count];

		if (a->count == KV_VICTIMS)
			return -EAGAIN;
		if (kv_shared_evict(s, &victim->id, &victim->bytes) < 0)
			break;
		a->count++;
		rc = kv_shared_put(s, q->id, q->bytes, q->server, &room);
	}
	if (rc == -ENOSPC && policy->forced)
		rc = kv_shared_put(s, q->id, q->bytes, q->server, &any);
	return rc;
}

void kv_divided_answer(struct kv_shared *s, const struct kv_policy *policy,
		       const struct kv_limits *limits, const struct kv_question *q,
		       struct kv_answer *a)
{
	a->bytes = 0;
	a->rc = 0;
	a->count = 0;
	switch ((enum kv_ask)q->kind) {
	case KV_ASK_READ:
		a->rc = kv_shared_read(s, q->id, q->server, policy->order == KV_LRU, &a->bytes);
		return;
	case KV_ASK_HAS:
		a->rc = kv_shared_has(s, q->id) ? 0 : -ENOENT;
		return;
	case KV_ASK_WRITE:
	case KV_ASK_COPY:
	case KV_ASK_MOVE:
		a->rc = divided_put(s, policy, limits, q, a);
		return;
	case KV_ASK_DELETE:
		a->rc = kv_shared_delete(s, q->id, &a->bytes);
		return;
	case KV_ASK_ENDED:
		kv_shared_ended(s, q->id, (enum kv_shared_end)q->end);
		return;
	}
}
