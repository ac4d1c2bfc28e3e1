/* SPDX-License-Identifier: Apache-2.0 */
/* A rank among others: see run.h. */
#include <errno.h>
#include <stdlib.h>

#include "workloads/kvcache/run.h"
#include "workloads/kvcache/tiers/entries.h"

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
	case KV_KEY_BLOCK:
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

enum { REMOTE_SENT_MAX = 64, REMOTE_TAKEN_MAX = 128 };
enum { CHANNEL_QUESTIONS, CHANNEL_ANSWERS };

/* Letters ring no bell, so a main thread that sleeps looks that often: while letters come or it
 * waits for one, and in the end. */
static const uint64_t remote_look_ns = 100000, remote_look_most_ns = 1600000;

struct remote_question {
	uint64_t
		asked; /* comes back with the answer: the address of the struct kv_asked of the rank that asks */
	struct kv_question what;
};
_Static_assert(sizeof(struct remote_question) <= GROUP_LETTER_BYTES, "it fits into a letter");
_Static_assert(sizeof(struct kv_reply) <= GROUP_LETTER_BYTES, "it fits into a letter");

/* A node, while parts are counted. */
struct remote_part {
	uint32_t number, leaders, passed;
};

/* Numbers the parts in the order of the first ranks of their nodes, and finds whom this rank asks.
 * nodes: [group->size], the node of each rank; parts: [place->nodes], zeroed. */
static void remote_partners(struct kv_run *r, const uint64_t *nodes, struct remote_part *parts)
{
	uint32_t size = r->ctx->group->size, tensor = (uint32_t)r->setup.tensor, mine = 0;
	struct kv_remote *m = &r->remote;

	for (uint32_t rank = 0; rank < size; rank += tensor) {
		struct remote_part *p = &parts[nodes[rank]];

		if (!p->leaders)
			p->number = m->parts++;
		if (rank < r->ctx->group->rank && nodes[rank] == r->ctx->place->node)
			mine = p->leaders + 1;
		p->leaders++;
	}
	m->part = parts[r->ctx->place->node].number;
	/* A rank that follows another one asks nobody. */
	if (!r->part.leads)
		mine = 0;
	for (uint32_t rank = 0; rank < size; rank += tensor) {
		struct remote_part *p = &parts[nodes[rank]];

		if (p->passed++ == mine % p->leaders)
			m->partners[p->number] = rank;
	}
}

/* Each part has its part of the capacity. */
static void remote_capacity(const struct kv_remote *m, uint64_t *capacity)
{
	if (*capacity != KV_UNLIMITED)
		*capacity = *capacity / m->parts + (m->part < *capacity % m->parts);
}

static int remote_find(struct kv_run *r, struct err *err)
{
	struct group *all = r->ctx->group;
	uint64_t node = r->ctx->place->node, *nodes = calloc(all->size, sizeof(*nodes));
	struct remote_part *parts = calloc(r->ctx->place->nodes, sizeof(*parts));
	struct kv_remote *m = &r->remote;
	int rc = 0;

	m->partners = calloc(r->ctx->place->nodes, sizeof(*m->partners));
	if (!nodes || !parts || !m->partners)
		rc = err_set(err, -ENOMEM, "no memory for %u ranks", all->size);
	rc = group_agree(all, rc, err);
	if (rc == 0)
		rc = group_gather(all, &node, sizeof(node), all->rank == 0 ? nodes : NULL);
	if (rc == 0)
		rc = group_broadcast(all, nodes, all->size * sizeof(*nodes));
	if (rc == 0 && nodes && parts) {
		m->parts = 0;
		remote_partners(r, nodes, parts);
	}
	free(nodes);
	free(parts);
	return rc;
}

int kv_remote_open(struct kv_run *r, struct err *err)
{
	uint32_t last = r->setup.tier_count - 1;
	struct kv_remote *m = &r->remote;
	int rc;

	if (!r->setup.servers_share)
		return 0;
	m->parts = 1;
	m->look_ns = remote_look_most_ns;
	if (r->setup.tiers[last].shared != KV_SHARED_ALL)
		return 0;
	rc = remote_find(r, err);
	if (rc < 0 || m->parts == 1)
		return rc;
	rc = group_duplicate(r->ctx->group, &m->group, err);
	if (rc < 0)
		m->group = NULL;
	rc = group_agree(r->ctx->group, rc, err);
	if (rc < 0)
		return rc;
	remote_capacity(m, &r->setup.rules[last].capacity);
	remote_capacity(m, &r->setup.tiers[last].capacity);
	r->sharing.first = 0;
	return 0;
}

void kv_remote_close(struct kv_run *r)
{
	group_free(r->remote.group);
	free(r->remote.partners);
	kv_pool_free(&r->remote.pool);
}

/* Posts what can be posted. */
static void remote_send(struct kv_remote *m)
{
	while (!list_empty(&m->unsent) && m->sent < REMOTE_SENT_MAX) {
		struct kv_asked *asked = list_member(m->unsent.first, struct kv_asked, link);
		struct remote_question q = {(uintptr_t)asked, asked->what};
		uint32_t part = kv_divided_part(asked->what.id, m->parts);

		if (group_post(m->group, m->partners[part], CHANNEL_QUESTIONS, &q, sizeof(q)) < 0)
			return;
		m->sent++;
		list_take(&m->unsent);
	}
}

int kv_remote_ask(struct kv_remote *m, const struct kv_asked *what)
{
	struct kv_asked *asked = kv_pool_take(&m->pool, sizeof(*asked));

	if (!asked)
		return -ENOMEM;
	*asked = *what;
	m->open++;
	m->count++;
	m->look_ns = remote_look_ns;
	list_append(&m->unsent, &asked->link);
	remote_send(m);
	return 0;
}

void kv_remote_ask_again(struct kv_remote *m, struct kv_asked *asked)
{
	list_append(&m->unsent, &asked->link);
}

void kv_remote_done(struct kv_remote *m, struct kv_asked *asked)
{
	kv_pool_give(&m->pool, asked);
	m->open--;
}

/* Whether there is no answer that could not be posted. */
static bool remote_replied(struct kv_remote *m)
{
	if (m->replies)
		m->replies = group_post(m->group, m->reply_to, CHANNEL_ANSWERS, &m->reply,
					sizeof(m->reply)) < 0;
	return !m->replies;
}

void kv_remote_poll(struct kv_run *r, kv_remote_answered *answered)
{
	struct kv_remote *m = &r->remote;
	struct remote_question question;
	struct kv_reply reply;
	bool any = false;
	uint32_t from, taken = 0;

	if (!m->group || !r->part.leads)
		return;
	/* The rest is taken in the next turn: this rank has operations of its own. */
	while (taken++ < REMOTE_TAKEN_MAX &&
	       group_take(m->group, CHANNEL_ANSWERS, &from, &reply, sizeof(reply)) > 0) {
		m->sent--;
		answered(r, (void *)(uintptr_t)reply.asked, &reply.what);
		any = true;
	}
	taken = 0;
	while (taken++ < REMOTE_TAKEN_MAX && remote_replied(m) &&
	       group_take(m->group, CHANNEL_QUESTIONS, &m->reply_to, &question, sizeof(question)) >
		       0) {
		kv_tiers_answer(&r->tiers, &question.what, &m->reply.what);
		m->reply.asked = question.asked;
		m->replies = any = true;
	}
	remote_send(m);
	if (any || m->open || m->replies)
		m->look_ns = remote_look_ns;
	else if (m->look_ns < remote_look_most_ns)
		m->look_ns *= 2;
}

uint64_t kv_remote_due(const struct kv_run *r)
{
	const struct kv_remote *m = &r->remote;

	return m->group && (r->part.leads || m->settling) ? r->now_ns + m->look_ns : UINT64_MAX;
}

bool kv_remote_settled(struct kv_run *r, bool drained)
{
	struct kv_remote *m = &r->remote;
	struct status mine = {.unfinished = !drained || m->open}, merged;

	if (!m->group || m->settled)
		return true;
	if (m->settling) {
		if (!group_status_test(m->group, &merged))
			return false;
		m->settling = false;
		m->settled = !merged.unfinished;
	}
	if (m->settled)
		return true;
	group_status_post(m->group, &mine);
	m->settling = true;
	return false;
}
