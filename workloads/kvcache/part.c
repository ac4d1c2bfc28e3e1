/* SPDX-License-Identifier: Apache-2.0 */
/* A rank among others: see part.h. */
#include "workloads/kvcache/part.h"

#include <errno.h>

#include "workloads/kvcache/tiers/key.h"

/* Memory that ranks share is that of a node. */
static int part_check_node(const struct kv_run *r, struct err *err)
{
	bool one_node;
	int rc = group_same(r->part.group, r->ctx->place->node, &one_node);

	if (rc < 0 || one_node)
		return rc;
	return err_set(err, -EINVAL,
		       "%s: a tensor group shares the memory of a node, and this one has ranks on "
		       "several; place the ranks so that those of a group follow each other on one "
		       "node",
		       r->ctx->phase->path);
}

static uint32_t part_slots(const struct kv_run *r)
{
	uint64_t wanted = 2 * r->setup.options->threads * r->setup.options->depth;
	uint32_t slots = 2;

	while (slots < wanted && slots < KV_SLOTS_MAX)
		slots *= 2;
	return slots;
}

int kv_part_open(struct kv_run *r, struct err *err)
{
	struct group *all = r->ctx->group;
	uint32_t tensor = (uint32_t)r->setup.tensor;
	struct kv_part *p = &r->part;
	void *block = NULL;
	int rc;

	p->number = all->rank / tensor;
	p->count = all->size / tensor;
	p->rank = all->rank % tensor;
	p->writer = (uint32_t)kv_model_shard_writer(&r->setup.model, tensor, p->rank);
	p->writes = p->writer == p->rank;
	p->leads = p->rank == 0;
	/* Nobody follows a trace, which the leader makes alone. */
	if (tensor == 1 || r->setup.options->trace[0])
		return 0;
	rc = group_split(all, p->number, &p->group, err);
	if (rc < 0) {
		p->group = NULL;
		return rc;
	}
	rc = group_agree(all, part_check_node(r, err), err);
	if (rc == 0)
		rc = group_shared(p->group, kv_board_bytes(tensor), &block, err);
	if (rc == 0 && p->leads)
		kv_board_init(block, tensor, part_slots(r));
	rc = group_agree(all, rc, err);
	if (rc < 0)
		return rc;
	kv_view_open(&p->view, block, p->rank);
	r->work.arrived = &p->view.board->seats[p->rank].arrived;
	return 0;
}

int kv_part_open_servers(struct kv_run *r, struct err *err)
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

struct kv_id kv_part_id(const struct kv_run *r, struct kv_id id)
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

bool kv_part_puts(const struct kv_run *r, uint32_t tier)
{
	return r->part.writes || r->setup.tiers[tier].kind != KV_TIER_STORE;
}

/* Of the leader. One server of a node reports what the directory of a shared tier has, all of
 * it. */
static struct kv_tier_counts part_own_counts(const struct kv_run *r, uint32_t tier)
{
	struct kv_tier_counts c = r->tiers.tier[tier].counts;
	struct kv_shared_state state = {0, 0, 0};

	if (!kv_tiers_shared(&r->tiers, tier))
		return c;
	if (r->sharing.owns)
		state = kv_shared_state(r->sharing.shared);
	c.entries = state.entries;
	c.used = state.used;
	c.used_most = state.used_most;
	return c;
}

void kv_part_tell(struct kv_run *r)
{
	struct kv_board *b = r->part.view.board;

	for (uint32_t k = 0; b && k < r->tiers.count; k++) {
		struct kv_tier_counts c = part_own_counts(r, k);

		atomic_store_explicit(&b->tiers[k].entries, c.entries, memory_order_relaxed);
		atomic_store_explicit(&b->tiers[k].used, c.used, memory_order_relaxed);
		atomic_store_explicit(&b->tiers[k].used_most, c.used_most, memory_order_relaxed);
	}
}

struct kv_tier_counts kv_part_counts(const struct kv_run *r, uint32_t tier)
{
	struct kv_tier_counts c = part_own_counts(r, tier);
	const struct kv_part *p = &r->part;

	if (!p->view.board)
		return c;
	if (!p->leads) {
		const struct kv_board_tier *t = &p->view.board->tiers[tier];

		c.entries = atomic_load_explicit(&t->entries, memory_order_relaxed);
		c.used = atomic_load_explicit(&t->used, memory_order_relaxed);
		c.used_most = atomic_load_explicit(&t->used_most, memory_order_relaxed);
	}
	if (!kv_part_puts(r, tier))
		c.entries = c.used = c.used_most = 0;
	c.used = kv_model_shard_of(&r->setup.model, c.used, c.entries, r->setup.tensor, p->rank);
	c.used_most = kv_model_shard_of(&r->setup.model, c.used_most, c.entries, r->setup.tensor,
					p->rank);
	return c;
}
