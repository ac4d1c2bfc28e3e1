/* SPDX-License-Identifier: Apache-2.0 */
/* Group of ranks: what all implementations share. See group.h. */
#include "core/group/group.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/clock_wait.h"
#include "core/content/random.h"
#include "core/numbers.h"

enum { GROUP_LABEL_BYTES = 96 };

/* What the rank with the error sends to the others: the sentence as struct err keeps it. */
struct group_error {
	int64_t rc;
	char label[GROUP_LABEL_BYTES];
	char text[ERR_TEXT_BYTES];
};

int group_allreduce(struct group *g, enum merge merge, uint64_t *words, size_t n)
{
	return g->ops->allreduce(g, merge, words, n);
}

int group_reduce(struct group *g, enum merge merge, uint64_t *words, size_t n)
{
	return g->ops->reduce(g, merge, words, n);
}

int group_barrier(struct group *g)
{
	uint64_t word = 0;

	return g->ops->allreduce(g, MERGE_MAX, &word, 1);
}

int group_same(struct group *g, uint64_t word, bool *same)
{
	uint64_t words[2] = {word, ~word};
	int rc = g->ops->allreduce(g, MERGE_MAX, words, 2);

	*same = rc == 0 && words[0] == ~words[1];
	return rc;
}

int group_broadcast(struct group *g, void *data, size_t bytes)
{
	return g->ops->broadcast(g, data, bytes);
}

int group_gather(struct group *g, const void *record, size_t bytes, void *all)
{
	return g->ops->gather(g, record, bytes, all);
}

int group_scatter(struct group *g, const void *all, size_t bytes, void *record)
{
	return g->ops->scatter(g, all, bytes, record);
}

int group_send(struct group *g, uint32_t to, const void *data, size_t bytes)
{
	return g->ops->send(g, to, data, bytes);
}

int group_receive(struct group *g, uint32_t from, void *data, size_t bytes)
{
	return g->ops->receive(g, from, data, bytes);
}

bool group_arrived(struct group *g, uint32_t from)
{
	return g->ops->arrived(g, from);
}

int group_post(struct group *g, uint32_t to, uint32_t channel, const void *data, size_t bytes)
{
	return g->ops->post(g, to, channel, data, bytes);
}

int group_take(struct group *g, uint32_t channel, uint32_t *from, void *data, size_t bytes)
{
	return g->ops->take(g, channel, from, data, bytes);
}

int group_split(struct group *g, uint32_t color, struct group **out, struct err *err)
{
	int rc = g->ops->split(g, color, out, err);

	if (rc == 0)
		(*out)->node_blocks = g->node_blocks;
	return rc;
}

int group_duplicate(struct group *g, struct group **out, struct err *err)
{
	return group_split(g, 0, out, err);
}

int group_shared(struct group *g, size_t bytes, void **block, struct err *err)
{
	return g->ops->shared(g, bytes, block, err);
}

static uint64_t status_merge_words(enum merge how, uint64_t a, uint64_t b)
{
	if (how == MERGE_SUM)
		return a + b;
	if (how == MERGE_MAX)
		return max_u64(a, b);
	return min_u64(a, b);
}

void status_merge(struct status *into, const struct status *from)
{
	into->stop = max_u64(into->stop, from->stop);
	into->unfinished = max_u64(into->unfinished, from->unfinished);
	into->step = max_u64(into->step, from->step);
	into->waiting += from->waiting;
	into->arrived_ns = max_u64(into->arrived_ns, from->arrived_ns);
	into->snapshot = status_merge_words(MERGE_MIN, into->snapshot, from->snapshot);
	for (unsigned i = 0; i < STATUS_OWN_WORDS; i++)
		into->word[i] = status_merge_words((enum merge)(into->merge >> 2 * i & 3),
						   into->word[i], from->word[i]);
}

void group_stop_tell(struct group *g, uint64_t reason)
{
	g->ops->stop_tell(g, reason);
}

uint64_t group_stop_heard(struct group *g)
{
	return g->ops->stop_heard(g);
}

void group_wait_tell(struct group *g, const struct group_wait *wait)
{
	if (g->ops->wait_tell)
		g->ops->wait_tell(g, wait);
}

void group_status_post(struct group *g, const struct status *mine)
{
	g->ops->status_post(g, mine);
}

bool group_status_test(struct group *g, struct status *merged)
{
	return g->ops->status_test(g, merged);
}

/* Yields for a while, because most rounds are over soon. Then it sleeps longer and longer, so that
 * the I/O threads have the cores while this rank waits for a slow one. */
int group_status(struct group *g, const struct status *mine, struct status *merged)
{
	enum { YIELDS = 20, SLEEP_MIN_NS = 20000, SLEEP_MAX_NS = 500000 };
	uint64_t nap_ns = SLEEP_MIN_NS;

	g->ops->status_post(g, mine);
	if (g->ops->status_wait) {
		g->ops->status_wait(g, merged);
		return 0;
	}
	for (unsigned tries = 0; !g->ops->status_test(g, merged); tries++) {
		if (tries < YIELDS) {
			sched_yield();
			continue;
		}
		clock_nap(nap_ns);
		if (nap_ns < SLEEP_MAX_NS)
			nap_ns += nap_ns / 2;
	}
	return 0;
}

/* Sets every byte of the record, so that ranks can compare and send it. */
static void verdict_of(struct group_error *v, int rc, const struct err *err)
{
	memset(v, 0, sizeof(*v));
	if (rc >= 0)
		return;
	v->rc = rc;
	snprintf(v->text, sizeof(v->text), "%s",
		 err && err->code && err->text[0] ? err->text : strerror(-rc));
}

static void verdict_label(struct group_error *v, const struct group *g)
{
	if (g->label)
		snprintf(v->label, sizeof(v->label), "%s", g->label);
	else
		snprintf(v->label, sizeof(v->label), "rank %u", g->rank);
}

static uint64_t verdict_hash(const struct group_error *v)
{
	uint64_t hash = mix64((uint64_t)v->rc + 1);

	for (const char *c = v->text; *c; c++)
		hash = mix64(hash + (unsigned char)*c + 1);
	return hash;
}

/* One reduction finds the lowest rank with an error and whether all ranks say the same (least hash
 * and greatest hash agree). That rank sends its verdict to rank 0, which broadcasts it. */
int(group_agree)(struct group *g, int rc, struct err *err)
{
	struct group_error v;
	uint64_t words[3];
	uint32_t from;
	bool same;
	int failed;

	verdict_of(&v, rc, err);
	verdict_label(&v, g);
	words[0] = rc < 0 ? g->rank : UINT64_MAX;
	words[1] = verdict_hash(&v);
	words[2] = ~words[1];
	failed = g->ops->allreduce(g, MERGE_MIN, words, 3);
	if (failed < 0)
		return err_set(err, failed, "the ranks could not agree: %s", strerror(-failed));
	if (words[0] == UINT64_MAX)
		return 0;

	from = (uint32_t)words[0];
	same = words[1] == ~words[2];
	if (from != 0 && g->rank == from)
		failed = g->ops->send(g, 0, &v, sizeof(v));
	else if (from != 0 && g->rank == 0)
		failed = g->ops->receive(g, from, &v, sizeof(v));
	if (failed == 0)
		failed = g->ops->broadcast(g, &v, sizeof(v));
	if (failed < 0)
		return err_set(err, failed, "rank %u failed and could not report why: %s", from,
			       strerror(-failed));
	if (g->rank == from || same)
		return err_set(err, (int)v.rc, "%s", v.text);
	return err_set(err, (int)v.rc, "%s: %s", v.label, v.text);
}

void group_free(struct group *g)
{
	if (g)
		g->ops->free(g);
}
