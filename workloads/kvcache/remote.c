/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a directory on other nodes: see remote.h. */
#include "workloads/kvcache/remote.h"

#include <errno.h>
#include <stdlib.h>

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
