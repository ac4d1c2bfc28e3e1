/* SPDX-License-Identifier: Apache-2.0 */
/* What tiers do, as rows of a trace. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_EVENTS_H
#define HAUL_WORKLOADS_KVCACHE_EVENTS_H

#include "workloads/kvcache/tiers/tiers.h"
#include "workloads/trace/names.h"
#include "workloads/trace/trace.h"

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

#endif
