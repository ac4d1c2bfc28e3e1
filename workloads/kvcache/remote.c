/* Parts of a shared tier's directory that are on other nodes (tiers/divided.h): what this rank asks of them, and what it answers.
 *
 *	tiers ──► question ──► unsent ──► sent ─ ─ ─ ─ ─ ─► rank of the other node: asks its part
 *	tiers ◄── answer ◄─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─┘
 *
 * On each other node, a rank asks the one that has the same place there as it has on its own, so that all main threads
 * answer alike, and all that a rank says of an entry arrives in order. Nobody waits for an answer: the request's step waits as it does
 * for I/O. Nobody waits for room either: a question that cannot be posted stays where it is, and whoever cannot post an answer
 * takes no more questions until it can. Answers are always taken, so in the end each can be posted. */
#include <errno.h>
#include <stdlib.h>

#include "workloads/kvcache/run.h"

enum { REMOTE_ROOM = 64, REMOTE_SENT_MAX = 64, REMOTE_TAKEN_MAX = 128 };
enum { CHANNEL_QUESTIONS, CHANNEL_ANSWERS };

/* Letters ring no bell, so a main thread that sleeps looks that often: while letters come or it waits for one, and in the end. */
static const uint64_t remote_look_ns = 100000, remote_look_most_ns = 1600000;

struct remote_question {
	uint64_t number;
	struct kv_question what;
};
_Static_assert(sizeof(struct remote_question) <= GROUP_LETTER_BYTES, "it fits into a letter");
_Static_assert(sizeof(struct kv_reply) <= GROUP_LETTER_BYTES, "it fits into a letter");

/* Numbers the parts in the order of the first ranks of their nodes, and finds whom this rank asks. nodes: [group->size], the
 * node of each rank; parts: [place->nodes], zeroed. */
static void remote_partners(struct kv_run *r, const uint64_t *nodes, struct kv_remote_part *parts)
{
	uint32_t size = r->ctx->group->size, tensor = (uint32_t)r->setup.tensor, mine = 0;
	struct kv_remote *m = &r->remote;

	for (uint32_t rank = 0; rank < size; rank += tensor) {
		struct kv_remote_part *p = &parts[nodes[rank]];

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
		struct kv_remote_part *p = &parts[nodes[rank]];

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
	struct kv_remote_part *parts = calloc(r->ctx->place->nodes, sizeof(*parts));
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

	m->parts = 1;
	m->unsent = (struct kv_fifo){KV_NONE, KV_NONE};
	m->free = KV_NONE;
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
	if (r->remote.group)
		group_free(r->remote.group);
	free(r->remote.partners);
	free(r->remote.asked);
	r->remote = (struct kv_remote){.group = NULL};
}

void kv_remote_begin(struct kv_run *r)
{
	r->remote.count = 0;
	r->remote.settled = false;
}

/* A free number, or KV_NONE: no memory. */
static uint32_t remote_number(struct kv_remote *m)
{
	uint32_t number, room = m->room ? 2 * m->room : REMOTE_ROOM;
	struct kv_asked *asked;

	if (m->free == KV_NONE) {
		asked = room < 1u << 30 ? realloc(m->asked, room * sizeof(*asked)) : NULL;
		if (!asked)
			return KV_NONE;
		m->asked = asked;
		for (uint32_t i = room; i-- > m->room;) {
			asked[i].next = m->free;
			m->free = i;
		}
		m->room = room;
	}
	number = m->free;
	m->free = m->asked[number].next;
	return number;
}

static void remote_append(struct kv_remote *m, uint32_t number)
{
	m->asked[number].next = KV_NONE;
	if (m->unsent.last == KV_NONE)
		m->unsent.first = number;
	else
		m->asked[m->unsent.last].next = number;
	m->unsent.last = number;
}

/* Posts what can be posted. */
static void remote_send(struct kv_remote *m)
{
	uint32_t number;

	while ((number = m->unsent.first) != KV_NONE && m->sent < REMOTE_SENT_MAX) {
		const struct kv_asked *asked = &m->asked[number];
		struct remote_question q = {number, asked->what};
		uint32_t part = kv_divided_part(asked->what.id, m->parts);

		if (group_post(m->group, m->partners[part], CHANNEL_QUESTIONS, &q, sizeof(q)) < 0)
			return;
		m->sent++;
		m->unsent.first = asked->next;
		if (m->unsent.first == KV_NONE)
			m->unsent.last = KV_NONE;
	}
}

/* Whether the step of a request waits for the answer. One that asks for an operation waits for that. */
static bool remote_holds(const struct kv_asked *asked)
{
	return asked->owner != KV_NONE && asked->what.kind != KV_ASK_MOVE &&
	       asked->what.kind != KV_ASK_ENDED;
}

int kv_remote_ask(void *run, const struct kv_question *q)
{
	struct kv_run *r = run;
	struct kv_remote *m = &r->remote;
	uint32_t number = remote_number(m);
	struct kv_asked *asked;

	if (number == KV_NONE) {
		r->rc = r->rc ? r->rc : -ENOMEM;
		if (q->kind == KV_ASK_MOVE && r->chain != KV_NONE)
			kv_dispatch_admit(r, r->chain, false);
		return -ENOMEM;
	}
	asked = &m->asked[number];
	*asked = (struct kv_asked){.what = *q, .owner = r->asking, .operation = r->chain};
	/* There was no memory for the operation, so nothing makes the request wait. */
	if (q->kind == KV_ASK_MOVE && r->chain == KV_NONE)
		asked->owner = KV_NONE;
	if (remote_holds(asked))
		r->served[asked->owner].under_way++;
	m->open++;
	m->count++;
	m->look_ns = remote_look_ns;
	remote_append(m, number);
	remote_send(m);
	return 0;
}

static void remote_answered(struct kv_run *r, uint32_t number, const struct kv_answer *answer)
{
	struct kv_remote *m = &r->remote;
	struct kv_asked asked = m->asked[number]; /* others may be asked now, and move it */
	int rc;

	m->sent--;
	r->asking = asked.what.kind == KV_ASK_ENDED ? KV_NONE : asked.owner;
	r->chain = KV_NONE;
	rc = kv_tiers_answered(&r->tiers, &asked.what, answer);
	r->asking = KV_NONE;
	if (rc == -EAGAIN) {
		m->asked[number].what.victims += answer->count;
		remote_append(m, number);
		return;
	}
	m->asked[number].next = m->free;
	m->free = number;
	m->open--;
	if (asked.what.kind == KV_ASK_MOVE && asked.operation != KV_NONE)
		kv_dispatch_admit(r, asked.operation, rc == 0);
	if (remote_holds(&asked))
		kv_serve_answered(r, asked.owner, asked.what.kind == KV_ASK_READ, rc);
	else if (rc == -ENOMEM)
		r->rc = r->rc ? r->rc : rc;
}

/* Whether there is no answer that could not be posted. */
static bool remote_replied(struct kv_remote *m)
{
	if (m->replies)
		m->replies = group_post(m->group, m->reply_to, CHANNEL_ANSWERS, &m->reply,
					sizeof(m->reply)) < 0;
	return !m->replies;
}

void kv_remote_poll(struct kv_run *r)
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
		remote_answered(r, (uint32_t)reply.number, &reply.what);
		any = true;
	}
	taken = 0;
	while (taken++ < REMOTE_TAKEN_MAX && remote_replied(m) &&
	       group_take(m->group, CHANNEL_QUESTIONS, &m->reply_to, &question, sizeof(question)) >
		       0) {
		kv_tiers_answer(&r->tiers, &question.what, &m->reply.what);
		m->reply.number = question.number;
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
