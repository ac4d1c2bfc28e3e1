/* SPDX-License-Identifier: Apache-2.0 */
/* Run without I/O: the requests of a source go through tiers when they are due, on a virtual clock.
 * Each takes no time, so they are done in the order of their due times, whatever their class, and
 * what a trace of them says depends on the options and the seed alone. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_VIRTUAL_RUN_H
#define HAUL_WORKLOADS_KVCACHE_VIRTUAL_RUN_H

#include "workloads/kvcache/requests/source.h"
#include "workloads/kvcache/requests/steps.h"
#include "workloads/kvcache/tiers/tiers.h"
#include "workloads/trace/trace.h"

/* What tiers do, as rows of a trace. One thread. */

/* For kv_tiers: writes the rows of each event, or hands them to `row`. A read is a row, and so is a
 * write; what moves is a read and a write. Deleting is a row only where `deletes` is set; its phase
 * is Evict. A copy that moves up has the phase of one that moves down. */
struct trace_events {
	struct trace_writer *to; /* NULL: row takes them */
	void (*row)(void *argument, const struct trace_row *row);
	void *argument;
	const struct trace_names *names; /* of KV_KEY_NAMED; NULL: there are none */
	uint64_t now_ns;                 /* time of the rows */
	bool deletes;
	bool promotes_whole;        /* what is promoted leaves no copy: KV_WRITE_MOVE */
	struct trace_origin origin; /* of the rows */
};
void trace_event(void *events, const struct kv_event *e);

/* A trace as requests: its rows of Prefill and Decode are written to and read from tiers of one's
 * own, which decide anew what moves. Its rows of Evict are left out. No I/O is done. */
struct through {
	struct trace_reader *from;
	struct kv_tiers *tiers;
	struct trace_names *names;
	struct trace_events
		*events; /* its time is set to that of each row; NULL: nobody writes rows */
};

/* Passes the next row on, or leaves it out. Returns 1, 0 at the end, or a negative errno with a
 * sentence. */
int through_next(struct through *t, struct err *err);

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
