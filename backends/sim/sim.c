/* SPDX-License-Identifier: Apache-2.0 */
/* Store sim://: a store whose answers are known beforehand (model.h). It keeps nothing, and sleeps until
 * the model says that a request is done.
 *
 * Each node has a share of the whole store's limits, in a block that its ranks share. Stamps are the
 * virtual times; reap sleeps until them. A request arrives at the latest of the channel's previous done
 * and now - lag, where lag is how much the last sleep was too long: what follows immediately counts as
 * having arrived when the previous request was done, not when the sleeper woke up.
 *
 * A page of a listing is empty. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "backends/sim/model.h"
#include "backends/store.h"
#include "backends/stores.h"
#include "core/heap.h"

/* The hash of the key, once computed; end of the writes; whether they are in place. */
enum { STATE_KEY, STATE_WRITTEN, STATE_IN_PLACE };

/* When each server is free, as the ranks of a node share it. */
struct sim_block {
	_Atomic uint64_t metadata, node, store[];
};

/* State of one rank. Shared by its channels. */
struct sim {
	struct sim_law law;
	struct sim_servers servers;
	uint64_t rank_bandwidth; /* including its slowness; 0: unlimited */
	_Atomic uint64_t rank_free_ns;
};

struct sim_channel {
	uint64_t last_done_ns, lag_ns;
	struct heap flying; /* requests, the one that will be done first at the top */
	void *room[];       /* [depth] */
};

static uint64_t sim_node_bytes(const void *options)
{
	const struct sim_options *o = options;

	return sizeof(struct sim_block) + o->servers * sizeof(uint64_t);
}

/* A place without a number of nodes counts as one node. */
static int sim_open(struct store *store, struct err *err)
{
	const struct sim_options *o = store->options;
	uint64_t nodes = store->place.nodes ? store->place.nodes : 1;
	struct sim *s = calloc(1, sizeof(*s));
	struct sim_block *block = store->node_block;

	if (!s)
		return err_set(err, -ENOMEM, "%s: no memory", store->uri);
	sim_law_make(&s->law, o, store->seed, nodes);
	s->servers = (struct sim_servers){block->store, &block->metadata, &block->node,
					  &s->rank_free_ns};
	s->rank_bandwidth = sim_rank_rate(o, store->place.world_rank, nodes);
	store->state = s;
	return 0;
}

static void sim_close(struct store *store)
{
	free(store->state);
}

static int sim_channel_open(struct channel *c, struct err *err)
{
	struct sim_channel *ch = calloc(1, sizeof(*ch) + c->depth * sizeof(void *));

	if (!ch)
		return err_set(err, -ENOMEM, "no memory for a queue of depth %u", c->depth);
	ch->flying.items = ch->room;
	c->state = ch;
	return 0;
}

static void sim_channel_close(struct channel *c)
{
	free(c->state);
}

static bool sim_done_before(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	return x->answer.done_ns < y->answer.done_ns;
}

static uint64_t key_of(struct object *o)
{
	uint64_t key = __atomic_load_n(&o->state[STATE_KEY], __ATOMIC_RELAXED);

	if (!key) {
		key = sim_key(o->key);
		__atomic_store_n(&o->state[STATE_KEY], key, __ATOMIC_RELAXED);
	}
	return key;
}

static void sim_ask(const struct store *store, struct request *req)
{
	const struct sim *s = store->state;
	const uint64_t *state = req->object->state;
	const struct sim_ask ask = {
		.op = req->op,
		.arrival_ns = req->answer.submit_ns,
		.key = s->law.draws ? key_of(req->object) : 0,
		.offset = req->offset,
		.length = req->length,
		.rank_bandwidth = s->rank_bandwidth,
		.in_place_written = state[STATE_IN_PLACE] && state[STATE_WRITTEN],
	};
	struct sim_answer answer;

	sim_serve(&s->law, &s->servers, &ask, &answer);
	req->answer.done_ns = answer.done_ns;
	if (answer.failed)
		req->answer.status = -EIO;
	else if (req->op == REQ_READ)
		req->answer.first_byte_ns = answer.first_byte_ns;
}

static void sim_moved(struct request *req)
{
	if (req->answer.status < 0)
		return;
	if (req->op == REQ_WRITE)
		word_raise(&req->object->state[STATE_WRITTEN], req->offset + req->length);
	req->answer.done_bytes = req->length;
}

static void sim_other(struct request *req)
{
	struct object *o = req->object;

	if (req->op == REQ_OPEN || req->op == REQ_STAT || req->op == REQ_UPDATE)
		o->size = 0;
	if (req->op == REQ_LIST)
		req->listing->more = false;
	if (req->op == REQ_COMMIT)
		req->answer.done_bytes = o->state[STATE_WRITTEN];
	if (req->op != REQ_STAT && req->op != REQ_DELETE && req->op != REQ_RENAME)
		memset(o->state, 0, sizeof(o->state));
	if (req->op == REQ_UPDATE)
		o->state[STATE_IN_PLACE] = 1;
}

static void sim_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	struct sim_channel *ch = c->state;

	for (uint32_t i = 0; i < n; i++) {
		struct request *req = reqs[i];

		req->answer.submit_ns =
			req->answer.submit_ns > ch->lag_ns ? req->answer.submit_ns - ch->lag_ns : 0;
		if (req->answer.submit_ns < ch->last_done_ns)
			req->answer.submit_ns = ch->last_done_ns;
		sim_ask(c->store, req);
		if (req->op == REQ_READ || req->op == REQ_WRITE)
			sim_moved(req);
		else
			sim_other(req);
		heap_add(&ch->flying, req, sim_done_before);
	}
}

/* The kernel wakes a sleeper late; lag_ns is by how much. When the request was done before any
 * sleep, the caller came late for reasons of its own, which are not taken back; an earlier
 * oversleep that is not yet made up for is. */
static void sim_note_lag(struct sim_channel *ch, uint64_t now_ns, bool slept)
{
	uint64_t late_ns = now_ns - ch->last_done_ns;

	if (slept || late_ns < ch->lag_ns)
		ch->lag_ns = late_ns;
}

/* When the request that will be done first is; UINT64_MAX: none is under way. */
static uint64_t sim_next_ns(const struct sim_channel *ch)
{
	const struct request *first = ch->flying.count ? ch->flying.items[0] : NULL;

	return first ? first->answer.done_ns : UINT64_MAX;
}

static uint32_t sim_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
			 uint64_t deadline_ns)
{
	struct sim_channel *ch = c->state;
	uint64_t now_ns = clock_now(c->store->clock), next_ns;
	bool slept = false;
	uint32_t n = 0;

	for (;;) {
		while (n < max && ch->flying.count && sim_next_ns(ch) <= now_ns) {
			done[n] = heap_take(&ch->flying, sim_done_before);
			ch->last_done_ns = done[n++]->answer.done_ns;
		}
		if (n >= min || !ch->flying.count || now_ns >= deadline_ns)
			break;
		next_ns = sim_next_ns(ch);
		clock_sleep_until(c->store->clock, next_ns < deadline_ns ? next_ns : deadline_ns);
		now_ns = clock_now(c->store->clock);
		slept = true;
	}
	if (n)
		sim_note_lag(ch, now_ns, slept);
	return n;
}

const struct backend_ops sim_backend = {
	.scheme = "sim",
	.help = "a model of a store in virtual time: known answers",
	.section =
		{
			.name = "sim",
			.help = "a model of a store in virtual time: known answers",
			.tables = {store_common_options, sim_options},
			.size = sizeof(struct sim_options),
			.owner = &sim_backend,
		},
	.capabilities = BACKEND_RANGES | BACKEND_FIRST_BYTE | BACKEND_ATOMIC_COMMIT |
			BACKEND_MANY_NODES | BACKEND_DEPTH | BACKEND_RENAME | BACKEND_LIST |
			BACKEND_UPDATE | BACKEND_SHARED | BACKEND_LIST_PARTS | BACKEND_WRITES |
			BACKEND_MAPS,
	.depth_max = QUEUE_DEPTH_MAX,
	.check = sim_check,
	.model = sim_model,
	.node_bytes = sim_node_bytes,
	.open = sim_open,
	.close = sim_close,
	.channel_open = sim_channel_open,
	.channel_close = sim_channel_close,
	.submit = sim_submit,
	.reap = sim_reap,
};
