/* SPDX-License-Identifier: Apache-2.0 */
/* Store sim://: a store whose answers are known beforehand. It keeps nothing. It takes as long as a
 * first-come-first-served server in virtual time, one for the whole store and one for each rank:
 *
 *	arrival = max(the channel's previous done, now - lag)
 *	store_start = max(arrival, store.free)     store.free = store_start + bytes / bandwidth
 *	rank_start = max(store_start, rank.free)   rank.free = rank_start + bytes / rank_bandwidth
 *	first byte = store_start + latency + first_byte
 *	done = max(store.free, rank.free) + latency + first_byte
 *
 * The store works on while a rank is held up by its own limit, so bandwidth is never lost between
 * ranks. Each node has a share of bandwidth / nodes, in a block that its ranks share. Stamps are
 * the virtual times; reap sleeps until them. lag is how much the last sleep was too long: what
 * follows immediately counts as having arrived when the previous request was done, not when the
 * sleeper woke up.
 *
 * Reads and writes cost the same. Latency (normal, never negative) and failures are drawn from
 * seed, key, offset and kind, so a request has the same fate whichever rank sends it. A request
 * that fails costs its latency and moves nothing. open, stat, rename and a page of a listing (which
 * is empty) cost open_latency, begin costs begin_latency, and delete costs delete_latency. A commit,
 * and the close of an object that was written in place, cost commit_latency. All other requests are
 * free. */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "backends/store.h"
#include "backends/stores.h"
#include "core/heap.h"

enum { SIM_DRAW_LATENCY = 1, SIM_DRAW_FAILURE = 2 };
/* The hash of the key, once computed; end of the writes; whether they are in place. */
enum { STATE_KEY, STATE_WRITTEN, STATE_IN_PLACE };

struct sim_options {
	struct store_options common;
	uint64_t bandwidth, rank_bandwidth; /* bytes per second; 0: unlimited */
	uint64_t latency_ns, latency_stdev_ns, first_byte_ns, open_latency_ns;
	uint64_t begin_latency_ns, commit_latency_ns, delete_latency_ns;
	double failure_rate;
	struct factors slow_ranks;
};

static const struct option sim_options[] = {
	OPT_RATE(
		"bandwidth", struct sim_options, bandwidth, .def = 0,
		.help = "bandwidth of the whole store, divided equally among the nodes; 0: unlimited"),
	OPT_RATE("rank_bandwidth", struct sim_options, rank_bandwidth, .def = 0,
		 .help = "bandwidth of one rank; 0: unlimited"),
	OPT_TIME("latency", struct sim_options, latency_ns, .def = 0, .usual = 60000000000,
		 .help = "mean latency of a read or write"),
	OPT_TIME("latency_stdev", struct sim_options, latency_stdev_ns, .def = 0,
		 .usual = 60000000000, .help = "its standard deviation (normal, cut at 0)"),
	OPT_TIME("first_byte", struct sim_options, first_byte_ns, .def = 0, .usual = 60000000000,
		 .help = "time to the first byte, in addition to the latency"),
	OPT_TIME("open_latency", struct sim_options, open_latency_ns, .def = 0,
		 .usual = 60000000000,
		 .help = "latency of open, stat, rename and a page of a listing"),
	OPT_TIME("begin_latency", struct sim_options, begin_latency_ns, .def = 0,
		 .usual = 60000000000, .help = "latency of beginning a new object"),
	OPT_TIME("commit_latency", struct sim_options, commit_latency_ns, .def = 0,
		 .usual = 60000000000,
		 .help = "latency of a commit, and of closing an object that was written in place"),
	OPT_TIME("delete_latency", struct sim_options, delete_latency_ns, .def = 0,
		 .usual = 60000000000, .help = "latency of a delete"),
	OPT_REAL("failure_rate", struct sim_options, failure_rate, .def_real = 0, .min_real = 0,
		 .max_real = 1, .help = "chance that a read or write fails"),
	OPT_FACTORS("slow_ranks", struct sim_options, slow_ranks, .min_real = 1e-6, .max_real = 1e6,
		    .help = "a factor on the speed of each given rank: {\"3\": 0.25}"),
	OPT_END,
};

struct sim_block {
	_Atomic uint64_t store_free_ns;
};

/* State of one rank. Shared by its channels. */
struct sim {
	struct sim_block *block;
	uint64_t rank_bandwidth; /* including its slowness; 0: unlimited */
	uint64_t nodes;
	_Atomic uint64_t rank_free_ns;
};

struct sim_channel {
	uint64_t last_done_ns, lag_ns;
	struct heap flying; /* requests, the one that will be done first at the top */
	void *room[];       /* [depth] */
};

static int sim_check(const void *from, const char *path, struct err *err)
{
	const struct sim_options *o = from;

	if (o->slow_ranks.count && !o->rank_bandwidth && !o->bandwidth)
		return err_set(
			err, -EINVAL,
			"%s/slow_ranks: has no effect on an unlimited store; set rank_bandwidth or bandwidth",
			path);
	if (o->latency_stdev_ns && !o->latency_ns)
		return err_set(err, -EINVAL, "%s/latency_stdev: set latency, too", path);
	return 0;
}

/* A place without a number of nodes counts as one node. */
static uint32_t sim_nodes(const struct rank_place *place)
{
	return place->nodes ? place->nodes : 1;
}

/* A rank without a limit of its own has that of its node. */
static uint64_t sim_rank_rate(const struct sim_options *o, const struct rank_place *place)
{
	double whole = o->rank_bandwidth ? (double)o->rank_bandwidth
					 : (double)o->bandwidth / sim_nodes(place);

	for (uint32_t i = 0; i < o->slow_ranks.count; i++) {
		if (o->slow_ranks.index[i] != place->world_rank)
			continue;
		whole *= o->slow_ranks.factor[i];
		return whole < 1 ? 1 : (uint64_t)llround(whole);
	}
	return o->rank_bandwidth;
}

/* All ranks wait for the one whose own limit is the lowest, and for the node that has the most
 * ranks. */
static void sim_model(const void *options, uint32_t ranks, uint32_t ranks_per_node,
		      struct backend_model *out)
{
	const struct sim_options *o = options;
	struct rank_place place = {.nodes = (ranks + ranks_per_node - 1) / ranks_per_node};
	double fullest = ranks < ranks_per_node ? ranks : ranks_per_node;

	*out = (struct backend_model){
		.bandwidth = (double)o->bandwidth / place.nodes * ranks / fullest,
		.rank_bandwidth = (double)o->rank_bandwidth,
		.request_s = (double)(o->latency_ns + o->first_byte_ns) * 1e-9,
		.open_s = (double)o->open_latency_ns * 1e-9};
	for (uint32_t i = 0; i < o->slow_ranks.count; i++) {
		double own;

		place.world_rank = o->slow_ranks.index[i];
		own = place.world_rank < ranks ? (double)sim_rank_rate(o, &place) : 0;
		if (own > 0 && (out->rank_bandwidth <= 0 || own < out->rank_bandwidth))
			out->rank_bandwidth = own;
	}
}

static uint64_t sim_node_bytes(const void *options)
{
	(void)options;
	return sizeof(struct sim_block);
}

static int sim_open(struct store *store, struct err *err)
{
	struct sim *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "%s: no memory", store->uri);
	s->block = store->node_block;
	s->nodes = sim_nodes(&store->place);
	s->rank_bandwidth = sim_rank_rate(store->options, &store->place);
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

/* bytes / (rate / shares), to the nearest ns. */
static uint64_t span_ns(uint64_t bytes, uint64_t rate, uint64_t shares)
{
	if (!rate)
		return 0;
	return (uint64_t)(((unsigned __int128)bytes * shares * 1000000000u + rate / 2) / rate);
}

/* Reserves span of a server's time, from when it is free but not before from_ns. Returns the
 * start. */
static uint64_t sim_reserve(_Atomic uint64_t *free_ns, uint64_t from_ns, uint64_t span)
{
	uint64_t old = atomic_load_explicit(free_ns, memory_order_relaxed);
	uint64_t start;

	do {
		start = old > from_ns ? old : from_ns;
	} while (!atomic_compare_exchange_weak_explicit(
		free_ns, &old, start + span, memory_order_relaxed, memory_order_relaxed));
	return start;
}

static uint64_t key_of(struct object *o)
{
	uint64_t key = __atomic_load_n(&o->state[STATE_KEY], __ATOMIC_RELAXED);

	if (!key) {
		key = text_hash(o->key) | 1;
		__atomic_store_n(&o->state[STATE_KEY], key, __ATOMIC_RELAXED);
	}
	return key;
}

static uint64_t sim_draw(const struct store *store, struct request *req, uint64_t what)
{
	uint64_t key = mix64(store->seed ^ mix64(key_of(req->object) + what));

	return random_at(key, req->offset, req->op);
}

static uint64_t latency_ns(const struct store *store, struct request *req)
{
	const struct sim_options *o = store->options;
	double ns;

	if (!o->latency_stdev_ns)
		return o->latency_ns;
	ns = (double)o->latency_ns +
	     (double)o->latency_stdev_ns * random_normal(sim_draw(store, req, SIM_DRAW_LATENCY));
	return ns > 0 ? (uint64_t)llround(ns) : 0;
}

/* Sets when the first byte of a read or write comes, and when the request is done. */
static void sim_serve(const struct store *store, struct request *req)
{
	const struct sim_options *o = store->options;
	struct sim *s = store->state;
	uint64_t wait = latency_ns(store, req) + o->first_byte_ns;
	uint64_t store_span, rank_span, store_start, rank_start, store_end, rank_end;

	if (o->failure_rate > 0 &&
	    random_unit(sim_draw(store, req, SIM_DRAW_FAILURE)) < o->failure_rate) {
		req->answer.status = -EIO;
		req->answer.done_ns = req->answer.submit_ns + wait;
		return;
	}
	store_span = span_ns(req->length, o->bandwidth, s->nodes);
	rank_span = span_ns(req->length, s->rank_bandwidth, 1);
	store_start = o->bandwidth ? sim_reserve(&s->block->store_free_ns, req->answer.submit_ns,
						 store_span)
				   : req->answer.submit_ns;
	rank_start = s->rank_bandwidth ? sim_reserve(&s->rank_free_ns, store_start, rank_span)
				       : store_start;
	store_end = store_start + store_span;
	rank_end = rank_start + rank_span;
	if (req->op == REQ_READ)
		req->answer.first_byte_ns = store_start + wait;
	else
		word_raise(&req->object->state[STATE_WRITTEN], req->offset + req->length);
	req->answer.done_ns = (store_end > rank_end ? store_end : rank_end) + wait;
	req->answer.done_bytes = req->length;
}

/* The latency of a request that moves no bytes. */
static uint64_t sim_other_ns(const struct sim_options *o, const struct request *req)
{
	const uint64_t *state = req->object->state;

	switch (req->op) {
	case REQ_OPEN:
	case REQ_STAT:
	case REQ_UPDATE:
	case REQ_RENAME:
	case REQ_LIST:
		return o->open_latency_ns;
	case REQ_BEGIN:
		return o->begin_latency_ns;
	case REQ_COMMIT:
		return o->commit_latency_ns;
	case REQ_CLOSE:
		return state[STATE_IN_PLACE] && state[STATE_WRITTEN] ? o->commit_latency_ns : 0;
	case REQ_DELETE:
		return o->delete_latency_ns;
	default:
		return 0;
	}
}

static void sim_serve_other(const struct store *store, struct request *req)
{
	struct object *o = req->object;

	req->answer.done_ns = req->answer.submit_ns + sim_other_ns(store->options, req);
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
		if (req->op == REQ_READ || req->op == REQ_WRITE)
			sim_serve(c->store, req);
		else
			sim_serve_other(c->store, req);
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
			BACKEND_UPDATE | BACKEND_SHARED | BACKEND_LIST_PARTS | BACKEND_WRITES,
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
