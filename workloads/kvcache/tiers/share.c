/* The shared tier of tiers.h: what needs no decision of the other tiers. */
#include "workloads/kvcache/tiers/tiers.h"

void kv_tiers_share(struct kv_tiers *t, struct kv_shared *shared, uint32_t server)
{
	kv_tiers_divide(t, shared, server, 1, 0);
}

void kv_tiers_divide(struct kv_tiers *t, struct kv_shared *shared, uint32_t server, uint32_t parts,
		     uint32_t part)
{
	t->own = t->count - 1;
	t->shared = shared;
	t->server = server;
	t->parts = parts;
	t->part = part;
}

void kv_tiers_answer(struct kv_tiers *t, const struct kv_question *q, struct kv_answer *a)
{
	kv_divided_answer(t->shared, &t->policy, &t->tier[t->own].limits, q, a);
}

int kv_tiers_ended(struct kv_tiers *t, struct kv_id id, enum kv_shared_end end)
{
	struct kv_question q = {.kind = KV_ASK_ENDED, .id = id, .server = t->server, .end = end};

	if (!kv_tiers_here(t, id))
		return t->ask(t->argument, &q);
	kv_shared_ended(t->shared, id, end);
	return 0;
}
