/* A tier that several servers share: see sharing.h. */
#include "workloads/kvcache/sharing.h"

#include "workloads/kvcache/tiers/key.h"

int kv_sharing_open(struct kv_run *r, struct err *err)
{
	struct group *all = r->ctx->group;
	struct kv_sharing *s = &r->sharing;
	uint64_t first = all->rank;
	void *block = NULL;
	int rc;

	if (!r->setup.servers_share)
		return 0;
	rc = group_split(all, r->ctx->place->node, &s->group, err);
	if (rc < 0)
		s->group = NULL;
	rc = group_agree(all, rc, err);
	if (rc < 0)
		return rc;
	rc = group_allreduce(s->group, MERGE_MIN, &first, 1);
	if (rc == 0)
		rc = group_shared(s->group, kv_shared_bytes(r->setup.shared_entries), &block, err);
	if (rc == 0 && s->group->rank == 0)
		kv_shared_init(block, r->setup.shared_entries);
	rc = group_agree(all, rc, err);
	if (rc < 0)
		return rc;
	s->shared = block;
	s->first = (uint32_t)first;
	s->owns = first / r->setup.tensor == r->part.number;
	return 0;
}

struct kv_id kv_sharing_id(const struct kv_run *r, struct kv_id id)
{
	uint64_t server = r->part.number;

	if (!r->sharing.shared)
		return id;
	switch (kv_id_kind(id)) {
	case KV_KEY_TURN:
	case KV_KEY_REQUEST:
		id.high += server * r->setup.source.users_most << 24;
		break;
	case KV_KEY_FILL:
	case KV_KEY_STORED:
		id.low = id.low * r->part.count + server;
		break;
	case KV_KEY_PROMPT:
	case KV_KEY_CHUNK:
	case KV_KEY_DOCUMENT:
	case KV_KEY_NAMED:
	case KV_KEY_KINDS:
		break;
	}
	return id;
}

void kv_sharing_ended(struct kv_run *r, const struct kv_operation *op)
{
	bool from = kv_tiers_shared(&r->tiers, op->from), to = kv_tiers_shared(&r->tiers, op->to);
	static const enum kv_shared_end written[] = {[KV_OUTCOME_DONE] = KV_SHARED_WRITTEN,
						     [KV_OUTCOME_FAILED] = KV_SHARED_FAILED,
						     [KV_OUTCOME_DROPPED] = KV_SHARED_DROPPED};
	struct kv_tiers *t = &r->tiers;

	switch (op->kind) {
	case KV_OPERATION_READ:
		if (from)
			kv_tiers_ended(t, op->id, KV_SHARED_READ);
		return;
	case KV_OPERATION_WRITE:
	case KV_OPERATION_MOVE:
		if (to)
			kv_tiers_ended(t, op->id, written[op->outcome]);
		return;
	case KV_OPERATION_DELETE:
		if (from)
			kv_tiers_ended(t, op->id, KV_SHARED_DELETED);
		return;
	}
}

void kv_sharing_counts(const struct kv_run *r, struct kv_tier_counts *c)
{
	struct kv_shared_state state = {0, 0, 0};

	if (r->sharing.owns)
		state = kv_shared_state(r->sharing.shared);
	c->entries = state.entries;
	c->used = state.used;
	c->used_most = state.used_most;
}

uint64_t kv_sharing_capacity(const struct kv_run *r, uint32_t tier)
{
	const struct kv_tier_place *p = &r->setup.tiers[tier];
	bool reports = p->shared == KV_SHARED_NO || r->part.leads;

	if (p->shared >= KV_SHARED_NODE && !r->sharing.owns)
		reports = false;
	return reports && p->capacity != KV_UNLIMITED ? p->capacity : 0;
}

uint32_t kv_sharing_folder(const struct kv_run *r, uint32_t tier)
{
	uint32_t own = r->ctx->group->rank - r->part.rank;

	return (r->setup.tiers[tier].shared >= KV_SHARED_NODE ? r->sharing.first : own) +
	       r->part.writer;
}
