/* The client's side of the story: what the node that runs ranks was doing meanwhile. A row an interval,
 * columns declared once; counters become what was added in the interval, levels what they came to.
 *
 * Plain data, no clock, no files (core/client/source.h has those). One thread at a time. */
#ifndef HAUL_CORE_CLIENT_CLIENT_H
#define HAUL_CORE_CLIENT_CLIENT_H

#include <stdint.h>

#include "core/measure/tally.h"

enum client_column {
	CLIENT_COVERED_NS, /* 0: nothing was read in this interval */
	CLIENT_CPU_USER_NS,
	CLIENT_CPU_SYSTEM_NS,
	CLIENT_CPU_IOWAIT_NS,
	CLIENT_CPU_IRQ_NS,
	CLIENT_CPU_SOFTIRQ_NS,
	CLIENT_CPU_STEAL_NS,
	CLIENT_CPU_IDLE_NS,
	CLIENT_RANK_CORES_NS,
	CLIENT_RANK_CORES_BUSY_NS,
	CLIENT_CPU_WAITED_NS,
	CLIENT_CPU_THROTTLED_NS,
	CLIENT_HAUL_CPU_NS,
	CLIENT_SAMPLER_CPU_NS,
	CLIENT_MEMORY_AVAILABLE_BYTES,
	CLIENT_MEMORY_FREE_BYTES,
	CLIENT_CACHED_BYTES,
	CLIENT_DIRTY_BYTES,
	CLIENT_WRITEBACK_BYTES,
	CLIENT_DIRTY_LIMIT_BYTES,
	CLIENT_MEMORY_STALLED_NS,
	CLIENT_NIC_IN_BYTES,
	CLIENT_NIC_OUT_BYTES,
	CLIENT_DISK_READ_BYTES,
	CLIENT_DISK_WRITTEN_BYTES,
	CLIENT_RDMA_IN_BYTES,
	CLIENT_RDMA_OUT_BYTES,
	CLIENT_COLUMNS
};

/* Name, unit and meaning of each. MERGE_SUM: a counter, added when rows are folded; MERGE_MIN,
 * MERGE_MAX: a level, whose extreme stays. */
extern const struct columns client_columns;

enum { CLIENT_ROWS = 1024 };

struct client_series {
	uint64_t interval_ns; /* 1 s, doubled (rows folded) whenever the rows run out */
	uint32_t rows;        /* in use */
	uint64_t row[CLIENT_ROWS][CLIENT_COLUMNS];
};

void client_series_init(struct client_series *s);

/* What lies between two readings, into the row in which the middle of [from_ns, to_ns) lies; both count
 * from the start of the series. A counter that went back adds nothing. */
void client_series_add(struct client_series *s, uint64_t from_ns, uint64_t to_ns,
		       const uint64_t before[CLIENT_COLUMNS], const uint64_t after[CLIENT_COLUMNS]);

void client_series_fold(struct client_series *s,
			uint64_t interval_ns); /* coarsens to interval_ns */

#endif
