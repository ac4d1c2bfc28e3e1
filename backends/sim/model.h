/* SPDX-License-Identifier: Apache-2.0 */
/* Model of a store: when a request is answered, as a function of the options, the seed, and what was
 * asked before. sim:// sleeps until then; `haul simulate` reckons with it.
 *
 * Each limit is a first-come-first-served server in virtual time, known by the moment from which it is
 * free. A read or write of `bytes` that arrives passes through them one after the other:
 *
 *	store_start = max(arrival, store.free)      store.free = store_start + bytes / (bandwidth / servers)
 *	node_start = max(store_start, node.free)    node.free  = node_start + bytes / node
 *	rank_start = max(node_start, rank.free)     rank.free  = rank_start + bytes / rank_bandwidth
 *	end = max(store.free, node.free, rank.free, store_start + bytes / stream)
 *	first byte = store_start + latency + first_byte,  done = end + latency + first_byte
 *
 * A server works on while a request is held up by what comes after it, so bandwidth is never lost
 * between ranks. A request of metadata goes through one more server, of `opens` per second.
 *
 * Latency, stragglers, cached reads, failures and the server of an object are drawn from seed, key,
 * offset and kind, so a request has the same fate whichever rank sends it, in a run and in its
 * simulation. */
#ifndef HAUL_BACKENDS_SIM_MODEL_H
#define HAUL_BACKENDS_SIM_MODEL_H

#include <stdatomic.h>

#include "backends/backend.h"
#include "backends/store.h"

enum { SIM_LATENCIES_MAX = 64, SIM_SERVERS_MAX = 65536 };

/* A step of a measured distribution: this share of all latencies is at most that long. */
struct sim_latency {
	double share;
	uint64_t within_ns;
};

struct sim_options {
	struct store_options common;
	uint64_t bandwidth, rank_bandwidth, node, stream; /* bytes per second; 0: unlimited */
	double opens;                                     /* per second; 0: unlimited */
	uint64_t servers, stripe;
	double imbalance;
	uint64_t latency_ns, latency_stdev_ns, p50_ns, p99_ns;
	struct sim_latency latencies[SIM_LATENCIES_MAX];
	uint32_t latency_count;
	uint64_t first_byte_ns, open_latency_ns, begin_latency_ns, commit_latency_ns,
		delete_latency_ns;
	double stragglers, straggler_speed, cached, failure_rate;
	struct factors slow_ranks;
};
extern const struct option sim_options[];

/* What an option table cannot express. path is the store's JSON path. */
int sim_check(const void *options, const char *path, struct err *err);

/* The options, made ready for draws. Read-only after sim_law_make; any thread may read. */
struct sim_law {
	const struct sim_options *options;
	uint64_t seed, shares; /* shares: as many stores divide the limits of the whole store */
	bool draws;            /* the key of an object counts */
	double normal_mean, log_sigma, median;
	double mean_wait_ns, wait_deviation_ns,
		stretch; /* of a read or write, on average: beside its bytes; by stragglers */
	uint64_t straggler_bound, cached_bound, failure_bound, fullest_bound;
};
void sim_law_make(struct sim_law *law, const struct sim_options *options, uint64_t seed,
		  uint64_t shares);

/* When each server is free. store: [servers]. */
struct sim_servers {
	_Atomic uint64_t *store, *metadata, *node, *rank;
};

/* A read or write, or a request that moves no bytes. */
struct sim_ask {
	enum request_op op;
	uint64_t arrival_ns, key, offset, length; /* key: sim_key */
	uint64_t rank_bandwidth;                  /* sim_rank_rate */
	bool in_place_written;                    /* of a close: see commit_latency */
	/* Above 1: it stands for so many requests, of which `rounds` wait one after the other. Its draws are of
	 * sums: of their waits, and of how many are slow, cached, or fail. */
	uint32_t pieces, rounds;
};
struct sim_answer {
	uint64_t first_byte_ns, done_ns;
	bool failed;
};
void sim_serve(const struct sim_law *law, const struct sim_servers *servers,
	       const struct sim_ask *ask, struct sim_answer *answer);

static inline uint64_t sim_key(const char *key)
{
	return text_hash(key) | 1;
}

/* bytes per second of a rank, with its slowness, where a store's whole limit is divided by shares;
 * 0: unlimited. */
uint64_t sim_rank_rate(const struct sim_options *o, uint32_t world_rank, uint64_t shares);

/* What is known of the store beforehand (ops->model). */
void sim_model(const void *options, uint32_t ranks, uint32_t ranks_per_node,
	       struct backend_model *out);

#endif
