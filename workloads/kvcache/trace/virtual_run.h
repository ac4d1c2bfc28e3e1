/* SPDX-License-Identifier: Apache-2.0 */
/* Run without I/O: the requests of a source go through tiers when they are due, on a virtual clock.
 * Each takes no time, so they are done in the order of their due times, whatever their class, and
 * what a trace of them says depends on the options and the seed alone. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_VIRTUAL_RUN_H
#define HAUL_WORKLOADS_KVCACHE_VIRTUAL_RUN_H

#include "workloads/kvcache/requests/source.h"
#include "workloads/kvcache/requests/steps.h"
#include "workloads/kvcache/tiers/tiers.h"
#include "workloads/kvcache/trace/events.h"

struct virtual_run {
	struct kv_source *source;
	struct kv_tiers *tiers;
	const struct model *model;
	uint64_t
		tensor; /* ranks that share an entry: the tiers see the part of one, as MLPerf counts it */
	bool shards; /* that part is the largest real shard, not an even part of everything */
	uint64_t requests_most;      /* no request is begun after so many; 0: no limit */
	struct trace_events *events; /* its time is set; NULL: nobody writes rows */
	uint64_t epoch_ns;           /* of the rows: when the virtual clock is 0 */
	/* What has come of the reads so far, by what they were for; and of the requests. */
	uint64_t hits[KV_CAUSES], misses[KV_CAUSES];
	uint64_t requests, tokens;
};

/* Writes what is there before the first request: entries of `fill_tokens` tokens until they have
 * `fill_bytes` bytes (preconditioning; 0: none), and with the mode "decode" the entries that are
 * read. Returns 0 or -ENOMEM. */
int virtual_run_fill(struct virtual_run *r, uint64_t fill_bytes, uint64_t fill_tokens);

/* Whether no request will follow: the limit is reached, or none will fall due. */
bool virtual_run_over(const struct virtual_run *r);

/* Does the requests that are due before end_ns. Returns 0 or -ENOMEM. */
int virtual_run_until(struct virtual_run *r, uint64_t end_ns);

#endif
