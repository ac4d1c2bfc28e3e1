/* This rank's part in its tensor group. The first rank of a group leads: it has the users, the tiers and the operations. The
 * others follow what it posts on the board (board.h). */
#include <errno.h>

#include "workloads/kvcache/run.h"

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

void kv_part_close(struct kv_run *r)
{
	if (r->part.group)
		group_free(r->part.group);
	r->part.group = NULL;
}

bool kv_part_puts(const struct kv_run *r, uint32_t tier)
{
	return r->part.writes || r->setup.tiers[tier].kind != KV_TIER_STORE;
}

/* Of the leader. */
static struct kv_tier_counts part_own_counts(const struct kv_run *r, uint32_t tier)
{
	struct kv_tier_counts c = r->tiers.tier[tier].counts;

	if (kv_tiers_shared(&r->tiers, tier))
		kv_sharing_counts(r, &c);
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

static void part_hear(const struct kv_run *r, uint32_t tier, struct kv_tier_counts *c)
{
	const struct kv_board_tier *t = &r->part.view.board->tiers[tier];

	c->entries = atomic_load_explicit(&t->entries, memory_order_relaxed);
	c->used = atomic_load_explicit(&t->used, memory_order_relaxed);
	c->used_most = atomic_load_explicit(&t->used_most, memory_order_relaxed);
}

struct kv_tier_counts kv_part_counts(const struct kv_run *r, uint32_t tier)
{
	struct kv_tier_counts c = part_own_counts(r, tier);
	const struct kv_part *p = &r->part;

	if (!p->view.board)
		return c;
	if (!p->leads)
		part_hear(r, tier, &c);
	if (!kv_part_puts(r, tier))
		c.entries = c.used = c.used_most = 0;
	c.used = kv_model_shard_of(&r->setup.model, c.used, c.entries, r->setup.tensor, p->rank);
	c.used_most = kv_model_shard_of(&r->setup.model, c.used_most, c.entries, r->setup.tensor,
					p->rank);
	return c;
}

/* Does a shard for which no I/O thread is needed. */
static void follow_at_once(struct kv_run *r, const struct kv_operation *what, bool counts)
{
	/* The leader's times on the bus of an accelerator are those of all ranks. */
	const struct kv_times times = {.begin_ns = what->begins_ns, .end_ns = what->ends_ns};

	if (counts)
		kv_measure_operation(r, what, what->ends_ns ? &times : NULL);
	kv_shard_done(r, what);
}

void kv_follow(struct kv_run *r)
{
	struct kv_view *view = &r->part.view;
	uint32_t slot;

	kv_shard_collect(r);
	while ((slot = kv_board_next(view)) != KV_NONE) {
		const struct kv_slot *s = kv_board_slot(view, slot);
		struct kv_task task = {.what = kv_shard_of(r, &s->operation),
				       .counts = s->counts,
				       .number = KV_NONE,
				       .slot = slot};
		bool thread = kv_shard_needs_thread(r, &task.what);

		if (thread && !kv_loads_room(&r->loads))
			return;
		kv_board_take(view);
		if (thread && kv_shard_give(r, &task))
			continue;
		if (thread)
			kv_board_fail(view, slot);
		follow_at_once(r, &task.what, task.counts && !thread);
		kv_board_answer(view, slot);
	}
}
