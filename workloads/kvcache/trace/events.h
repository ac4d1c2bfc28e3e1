/* What tiers do, as rows of a trace. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_EVENTS_H
#define HAUL_WORKLOADS_KVCACHE_EVENTS_H

#include "workloads/trace/trace.h"

struct kv_event;
struct trace_names;

/* For kv_tiers: writes the rows of each event, or hands them to `row`. A read is a row, and so is a write; what moves is a
 * read and a write. Deleting is a row only where `deletes` is set; its phase is Evict. A copy that moves up has the phase of one
 * that moves down. */
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

#endif
