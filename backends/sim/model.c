/* SPDX-License-Identifier: Apache-2.0 */
/* Model of a store: see model.h. */
#include "backends/sim/model.h"

#include <math.h>

enum { DRAW_LATENCY = 1, DRAW_FAILURE, DRAW_STRAGGLER, DRAW_CACHED, DRAW_SERVER };

/* Of the standard normal: the 99 % quantile. */
static const double normal_p99 = 2.3263478740408408;

/* The mean of a normal that is cut at 0: what is below counts as 0. */
static double cut_mean(double mean, double stdev)
{
	return draw_mean(&(struct draw){DRAW_NORMAL, mean, stdev});
}

/* The mean of the normal whose mean is `wanted` once it is cut. Newton's method: the slope of the
 * cut mean is the probability to be above 0. It is convex and starts on the right side, so it
 * converges from there. */
static double normal_before_cut(double wanted, double stdev)
{
	double mean = wanted;

	for (int i = 0; i < 60 && stdev > 0; i++) {
		double slope = 0.5 * erfc(-mean / stdev * M_SQRT1_2);

		mean -= (cut_mean(mean, stdev) - wanted) / slope;
	}
	return mean;
}

/* Mean of a measured distribution, and of its squares. */
static double measured_mean(const struct sim_options *o, double *squares)
{
	double mean = 0, from = 0, from_share = 0;

	*squares = 0;
	for (uint32_t i = 0; i < o->latency_count; i++) {
		const struct sim_latency *l = &o->latencies[i];
		double to = (double)l->within_ns, share = l->share - from_share;

		mean += share * (to + from) / 2;
		*squares += share * (to * to + to * from + from * from) / 3;
		from = to;
		from_share = l->share;
	}
	*squares += (1 - from_share) * from * from;
	return mean + (1 - from_share) * from;
}

/* Mean and standard deviation of a latency. */
static double mean_latency(const struct sim_law *law, double *deviation)
{
	const struct sim_options *o = law->options;
	double mean = (double)o->latency_ns, s = (double)o->latency_stdev_ns, squares = mean * mean;

	if (o->latency_count) {
		mean = measured_mean(o, &squares);
	} else if (o->p99_ns) {
		double v = law->log_sigma * law->log_sigma;

		mean = law->median * exp(v / 2);
		squares = mean * mean * exp(v);
	} else if (s > 0) {
		/* The squares of a normal that is cut at 0: s² of what lies above 0, and mean x its mean before the cut. */
		squares = s * s * 0.5 * erfc(-law->normal_mean / s * M_SQRT1_2) +
			  law->normal_mean * mean;
	}
	*deviation = sqrt(fmax(squares - mean * mean, 0));
	return mean;
}

void sim_law_make(struct sim_law *law, const struct sim_options *o, uint64_t seed, uint64_t shares)
{
	double most = o->servers ? (1 + o->imbalance) / (double)o->servers : 1;

	*law = (struct sim_law){
		.options = o,
		.seed = seed,
		.shares = shares ? shares : 1,
		.draws = o->latency_stdev_ns || o->p99_ns || o->latency_count ||
			 o->stragglers > 0 || o->cached > 0 || o->failure_rate > 0 ||
			 o->servers > 1,
		.normal_mean =
			normal_before_cut((double)o->latency_ns, (double)o->latency_stdev_ns),
		.median = (double)(o->p50_ns ? o->p50_ns : o->latency_ns),
		.straggler_bound = random_bound(o->stragglers),
		.cached_bound = random_bound(o->cached),
		.failure_bound = random_bound(o->failure_rate),
		.fullest_bound = random_bound(most),
	};
	if (o->p99_ns)
		law->log_sigma = log((double)o->p99_ns / law->median) / normal_p99;
	law->mean_wait_ns = mean_latency(law, &law->wait_deviation_ns) + (double)o->first_byte_ns;
	law->stretch = 1 + o->stragglers * (1 / o->straggler_speed - 1);
}

static uint64_t draw(const struct sim_law *law, const struct sim_ask *ask, uint64_t what)
{
	uint64_t key = mix64(law->seed ^ mix64(ask->key + what));

	return random_at(key, ask->offset, ask->op);
}

/* Between two steps of a measured distribution, all latencies are equally likely. */
static double measured_ns(const struct sim_options *o, double share)
{
	double from = 0, from_share = 0;

	for (uint32_t i = 0; i < o->latency_count; i++) {
		const struct sim_latency *l = &o->latencies[i];

		if (share < l->share)
			return from + ((double)l->within_ns - from) * (share - from_share) /
					      (l->share - from_share);
		from = (double)l->within_ns;
		from_share = l->share;
	}
	return from;
}

static uint64_t latency_ns(const struct sim_law *law, const struct sim_ask *ask)
{
	const struct sim_options *o = law->options;
	double ns;

	if (o->latency_count)
		ns = measured_ns(o, random_unit(draw(law, ask, DRAW_LATENCY)));
	else if (o->p99_ns)
		ns = law->median *
		     exp(law->log_sigma * random_normal(draw(law, ask, DRAW_LATENCY)));
	else if (o->latency_stdev_ns)
		ns = law->normal_mean +
		     (double)o->latency_stdev_ns * random_normal(draw(law, ask, DRAW_LATENCY));
	else
		return o->latency_ns;
	return ns > 0 ? (uint64_t)llround(ns) : 0;
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
static uint64_t reserve(_Atomic uint64_t *free_ns, uint64_t from_ns, uint64_t span)
{
	uint64_t old, start;

	if (!span)
		return from_ns;
	old = atomic_load_explicit(free_ns, memory_order_relaxed);
	do {
		start = old > from_ns ? old : from_ns;
	} while (!atomic_compare_exchange_weak_explicit(
		free_ns, &old, start + span, memory_order_relaxed, memory_order_relaxed));
	return start;
}

/* The server on which the bytes lie: the fullest is the first one, and all others have the rest in
 * equal parts. */
static uint64_t server_of(const struct sim_law *law, const struct sim_ask *ask)
{
	const struct sim_options *o = law->options;
	uint64_t stripe = o->stripe ? ask->offset / o->stripe : 0, bits;

	if (o->servers <= 1)
		return 0;
	bits = random_at(mix64(law->seed ^ mix64(ask->key + DRAW_SERVER)), stripe, 0);
	if (bits < law->fullest_bound)
		return 0;
	return random_between(mix64(bits), 1, o->servers - 1);
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* How the bytes pass through the servers: from *start to the returned end. */
static uint64_t move(const struct sim_law *law, const struct sim_servers *s,
		     const struct sim_ask *ask, uint64_t *start)
{
	const struct sim_options *o = law->options;
	uint64_t servers = o->servers ? o->servers : 1, end;
	uint64_t store = span_ns(ask->length, o->bandwidth, law->shares * servers);
	uint64_t node = span_ns(ask->length, o->node, 1);
	uint64_t rank = span_ns(ask->length, ask->rank_bandwidth, 1), at;

	*start = store ? reserve(&s->store[server_of(law, ask)], ask->arrival_ns, store)
		       : ask->arrival_ns;
	end = most(*start + store, *start + span_ns(ask->length, o->stream, 1));
	at = reserve(s->node, *start, node);
	end = most(end, at + node);
	at = reserve(s->rank, at, rank);
	return most(end, at + rank);
}

static bool drawn(const struct sim_law *law, const struct sim_ask *ask, uint64_t bound,
		  uint64_t what)
{
	return bound && draw(law, ask, what) < bound;
}

/* How many of n have what each has with probability p, as a share of n. */
static double drawn_share(const struct sim_law *law, const struct sim_ask *ask, double p,
			  uint64_t what)
{
	double n = ask->pieces, chance = pow(1 - p, n), below = 0, u;
	uint64_t bits, k = 0;

	if (p <= 0 || p >= 1)
		return p;
	bits = draw(law, ask, what);
	if (n * fmin(p, 1 - p) > 30)
		return fmin(fmax(p + random_normal(bits) * sqrt(p * (1 - p) / n), 0), 1);
	if (p > 0.5)
		chance = pow(p, n);
	u = random_unit(bits);
	/* From none on, or of a likely one from all on. */
	for (double odds = p > 0.5 ? (1 - p) / p : p / (1 - p);
	     u >= below + chance && k < ask->pieces; k++) {
		below += chance;
		chance *= odds * (n - (double)k) / ((double)k + 1);
	}
	return p > 0.5 ? 1 - (double)k / n : (double)k / n;
}

/* Pieces of which `rounds` wait one after the other: the sum of their waits is near to a normal. */
static void serve_many(const struct sim_law *law, const struct sim_servers *servers,
		       const struct sim_ask *ask, struct sim_answer *answer)
{
	const struct sim_options *o = law->options;
	double pieces = ask->pieces, rounds = ask->rounds, waits = rounds * law->mean_wait_ns;
	double missed = 1, slow = drawn_share(law, ask, o->stragglers, DRAW_STRAGGLER), stretch;
	struct sim_ask left = *ask;
	uint64_t start, end;

	answer->failed = o->failure_rate > 0 && random_unit(draw(law, ask, DRAW_FAILURE)) <
							1 - pow(1 - o->failure_rate, pieces);
	if (answer->failed) {
		answer->done_ns = ask->arrival_ns + (uint64_t)law->mean_wait_ns;
		return;
	}
	if (ask->op == REQ_READ && o->cached > 0)
		missed = 1 - drawn_share(law, ask, o->cached, DRAW_CACHED);
	if (law->wait_deviation_ns > 0)
		waits += random_normal(draw(law, ask, DRAW_LATENCY)) * law->wait_deviation_ns *
			 rounds / sqrt(pieces);
	stretch = 1 + slow * (1 / o->straggler_speed - 1);
	left.length = (uint64_t)((double)ask->length * missed);
	end = move(law, servers, &left, &start);
	answer->first_byte_ns = start + (uint64_t)(fmax(waits, 0) * missed * stretch);
	answer->done_ns = answer->first_byte_ns + (uint64_t)((double)(end - start) * stretch);
}

/* A request that fails costs its latency and moves nothing; what a node has in memory costs
 * nothing; a straggler takes longer from when the store begins to work on it, by itself. */
static void serve_bytes(const struct sim_law *law, const struct sim_servers *servers,
			const struct sim_ask *ask, struct sim_answer *answer)
{
	uint64_t wait = latency_ns(law, ask) + law->options->first_byte_ns, start, end;

	answer->failed = drawn(law, ask, law->failure_bound, DRAW_FAILURE);
	if (answer->failed) {
		answer->done_ns = ask->arrival_ns + wait;
		return;
	}
	if (ask->op == REQ_READ && drawn(law, ask, law->cached_bound, DRAW_CACHED)) {
		answer->first_byte_ns = answer->done_ns = ask->arrival_ns;
		return;
	}
	end = move(law, servers, ask, &start) + wait;
	if (drawn(law, ask, law->straggler_bound, DRAW_STRAGGLER)) {
		double speed = law->options->straggler_speed;

		wait = (uint64_t)llround((double)wait / speed);
		end = start + (uint64_t)llround((double)(end - start) / speed);
	}
	answer->first_byte_ns = start + wait;
	answer->done_ns = end;
}

/* The latency of a request that moves no bytes; *asks: it is one of those that `opens` limits. */
static uint64_t other_ns(const struct sim_options *o, const struct sim_ask *ask, bool *asks)
{
	*asks = true;
	switch (ask->op) {
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
	case REQ_DELETE:
		return o->delete_latency_ns;
	case REQ_CLOSE:
		*asks = ask->in_place_written;
		return *asks ? o->commit_latency_ns : 0;
	default:
		*asks = false;
		return 0;
	}
}

void sim_serve(const struct sim_law *law, const struct sim_servers *servers,
	       const struct sim_ask *ask, struct sim_answer *answer)
{
	uint64_t wait, span = 0;
	bool asks;

	*answer = (struct sim_answer){0};
	if (ask->pieces > 1) {
		serve_many(law, servers, ask, answer);
		return;
	}
	if (ask->op == REQ_READ || ask->op == REQ_WRITE) {
		serve_bytes(law, servers, ask, answer);
		return;
	}
	wait = other_ns(law->options, ask, &asks);
	if (asks && law->options->opens > 0)
		span = (uint64_t)llround(1e9 * (double)law->shares / law->options->opens);
	answer->done_ns = reserve(servers->metadata, ask->arrival_ns, span) + span + wait;
}

/* A rank without a limit of its own has that of its node. */
uint64_t sim_rank_rate(const struct sim_options *o, uint32_t world_rank, uint64_t shares)
{
	double whole = o->rank_bandwidth ? (double)o->rank_bandwidth
					 : (double)o->bandwidth / (double)shares;

	for (uint32_t i = 0; i < o->slow_ranks.count; i++) {
		if (o->slow_ranks.index[i] != world_rank)
			continue;
		whole *= o->slow_ranks.factor[i];
		return whole < 1 ? 1 : (uint64_t)llround(whole);
	}
	return o->rank_bandwidth;
}

/* The lower of two limits, of which 0 is none. */
static double lower(double a, double b)
{
	return a > 0 && (b <= 0 || a < b) ? a : b;
}

/* All ranks wait for the one whose own limit is the lowest, and for the node that has the most
 * ranks. */
void sim_model(const void *options, uint32_t ranks, uint32_t ranks_per_node,
	       struct backend_model *out)
{
	const struct sim_options *o = options;
	uint32_t nodes = (ranks + ranks_per_node - 1) / ranks_per_node;
	double fullest = ranks < ranks_per_node ? ranks : ranks_per_node;
	double whole = lower((double)o->bandwidth, (double)o->node * nodes);
	double missed = 1 - o->cached;
	struct sim_law law;

	sim_law_make(&law, o, 0, 1);
	*out = (struct backend_model){.bandwidth = whole / nodes * ranks / fullest,
				      .rank_bandwidth = (double)o->rank_bandwidth,
				      .request_s = law.mean_wait_ns * law.stretch * missed * 1e-9,
				      .open_s = (double)o->open_latency_ns * 1e-9};
	for (uint32_t i = 0; i < o->slow_ranks.count; i++) {
		uint32_t rank = o->slow_ranks.index[i];

		if (rank < ranks)
			out->rank_bandwidth =
				lower((double)sim_rank_rate(o, rank, nodes), out->rank_bandwidth);
	}
}
