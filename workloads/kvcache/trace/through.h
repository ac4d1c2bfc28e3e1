/* A trace as requests: its rows of Prefill and Decode are written to and read from tiers of one's own, which decide anew what
 * moves. Its rows of Evict are left out. No I/O is done. */
#ifndef HAUL_WORKLOADS_KVCACHE_THROUGH_H
#define HAUL_WORKLOADS_KVCACHE_THROUGH_H

#include "workloads/kvcache/tiers/tiers.h"
#include "workloads/kvcache/trace/events.h"
#include "workloads/trace/names.h"

struct through {
	struct trace_reader *from;
	struct kv_tiers *tiers;
	struct trace_names *names;
	struct trace_events
		*events; /* its time is set to that of each row; NULL: nobody writes rows */
};

/* Passes the next row on, or leaves it out. Returns 1, 0 at the end, or a negative errno with a sentence. */
int through_next(struct through *t, struct err *err);

#endif
