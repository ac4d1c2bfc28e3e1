#include "core/client/client.h"

#include <string.h>

static const uint64_t second_ns = 1000000000;

static const struct measure measures[] = {
	{"covered_ns", "ns", MERGE_SUM, "time between the two readings; 0: there was none"},
	{"cpu_user_ns", "ns", MERGE_SUM, "all cores: user code, low priorities included"},
	{"cpu_system_ns", "ns", MERGE_SUM, "all cores: the kernel for processes"},
	{"cpu_iowait_ns", "ns", MERGE_SUM, "all cores: idle while something waited for a disk"},
	{"cpu_irq_ns", "ns", MERGE_SUM, "all cores: interrupts"},
	{"cpu_softirq_ns", "ns", MERGE_SUM,
	 "all cores: deferred interrupts, most of the network's"},
	{"cpu_steal_ns", "ns", MERGE_SUM, "all cores: taken by the hypervisor"},
	{"cpu_idle_ns", "ns", MERGE_SUM, "all cores: idle"},
	{"rank_cores_ns", "ns", MERGE_SUM, "the cores that ranks are bound to: all their time"},
	{"rank_cores_busy_ns", "ns", MERGE_SUM,
	 "the same cores: all but idle and iowait, whoever used them"},
	{"cpu_waited_ns", "ns", MERGE_SUM, "time in which something was ready and had no core"},
	{"cpu_throttled_ns", "ns", MERGE_SUM,
	 "time the first rank's control group was held back by its quota, all cores together"},
	{"haul_cpu_ns", "ns", MERGE_SUM, "processor time of the ranks' processes on the node"},
	{"sampler_cpu_ns", "ns", MERGE_SUM, "of it, what taking these rows cost"},
	{"memory_available_bytes", "bytes", MERGE_MIN, "memory to be had without swapping"},
	{"memory_free_bytes", "bytes", MERGE_MIN, "memory used for nothing"},
	{"cached_bytes", "bytes", MERGE_MAX, "page cache, tmpfs included"},
	{"dirty_bytes", "bytes", MERGE_MAX, "page cache that is still to be written"},
	{"writeback_bytes", "bytes", MERGE_MAX, "page cache that is being written"},
	{"dirty_limit_bytes", "bytes", MERGE_MIN,
	 "dirty and being written together: from here on the kernel slows writers down"},
	{"memory_stalled_ns", "ns", MERGE_SUM, "time in which something waited for memory"},
	{"nic_in_bytes", "bytes", MERGE_SUM, "received by the interfaces that /nodes names"},
	{"nic_out_bytes", "bytes", MERGE_SUM, "sent by them"},
	{"disk_read_bytes", "bytes", MERGE_SUM, "read from the node's block devices"},
	{"disk_written_bytes", "bytes", MERGE_SUM, "written to them"},
	{"rdma_in_bytes", "bytes", MERGE_SUM, "received by InfiniBand, RoCE and Slingshot ports"},
	{"rdma_out_bytes", "bytes", MERGE_SUM, "sent by them"},
};
_Static_assert(sizeof(measures) / sizeof(*measures) == CLIENT_COLUMNS,
	       "a row for each of enum client_column");

const struct columns client_columns = {.measures = measures, .measure_count = CLIENT_COLUMNS};

void client_series_init(struct client_series *s)
{
	memset(s, 0, sizeof(*s));
	s->interval_ns = second_ns;
}

/* An interval without a reading has no levels: it must not count as one of nought. */
static void row_merge(uint64_t into[CLIENT_COLUMNS], const uint64_t from[CLIENT_COLUMNS])
{
	if (!from[CLIENT_COVERED_NS])
		return;
	if (into[CLIENT_COVERED_NS])
		tally_merge_row(&client_columns, into, from);
	else
		memcpy(into, from, CLIENT_COLUMNS * sizeof(*into));
}

void client_series_add(struct client_series *s, uint64_t from_ns, uint64_t to_ns,
		       const uint64_t before[CLIENT_COLUMNS], const uint64_t after[CLIENT_COLUMNS])
{
	uint64_t middle = from_ns + (to_ns - from_ns) / 2, row[CLIENT_COLUMNS];
	uint32_t at;

	if (to_ns <= from_ns)
		return;
	for (unsigned c = 0; c < CLIENT_COLUMNS; c++) {
		row[c] = after[c];
		if (measures[c].merge == MERGE_SUM)
			row[c] = after[c] > before[c] ? after[c] - before[c] : 0;
	}
	row[CLIENT_COVERED_NS] = to_ns - from_ns;
	while (middle / s->interval_ns >= CLIENT_ROWS)
		client_series_fold(s, 2 * s->interval_ns);
	at = (uint32_t)(middle / s->interval_ns);
	row_merge(s->row[at], row);
	if (at >= s->rows)
		s->rows = at + 1;
}

void client_series_fold(struct client_series *s, uint64_t interval_ns)
{
	while (s->interval_ns < interval_ns) {
		uint32_t rows = (s->rows + 1) / 2;

		for (uint32_t i = 0; i < rows; i++) {
			if (i)
				memcpy(s->row[i], s->row[2 * i], sizeof(s->row[i]));
			if (2 * i + 1 < s->rows)
				row_merge(s->row[i], s->row[2 * i + 1]);
		}
		memset(s->row[rows], 0, (s->rows - rows) * sizeof(s->row[0]));
		s->rows = rows;
		s->interval_ns *= 2;
	}
}
