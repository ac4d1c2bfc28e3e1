/* SPDX-License-Identifier: Apache-2.0 */
/* Client-side measurements: what a node that runs ranks did during a phase, one row per interval.
 * The columns are declared once, below. For a counter a row holds what was added in the interval,
 * for a level the extreme value.
 *
 * Plain data without clock or files (core/client/source.h has those). One thread at a time. */
#ifndef HAUL_CORE_CLIENT_CLIENT_H
#define HAUL_CORE_CLIENT_CLIENT_H

#include <stdint.h>

#include "core/measure/measure.h"

/* clang-format off */
#define CLIENT_LIST(X) \
	X(CLIENT_COVERED_NS, "covered_ns", "ns", SUM, \
	  "time between the two readings; 0: no reading") \
	X(CLIENT_CPU_USER_NS, "cpu_user_ns", "ns", SUM, \
	  "all cores: user code, low priorities included") \
	X(CLIENT_CPU_SYSTEM_NS, "cpu_system_ns", "ns", SUM, \
	  "all cores: the kernel for processes") \
	X(CLIENT_CPU_IOWAIT_NS, "cpu_iowait_ns", "ns", SUM, \
	  "all cores: idle while something waited for a disk") \
	X(CLIENT_CPU_IRQ_NS, "cpu_irq_ns", "ns", SUM, "all cores: interrupts") \
	X(CLIENT_CPU_SOFTIRQ_NS, "cpu_softirq_ns", "ns", SUM, \
	  "all cores: deferred interrupts, most of the network's") \
	X(CLIENT_CPU_STEAL_NS, "cpu_steal_ns", "ns", SUM, "all cores: taken by the hypervisor") \
	X(CLIENT_CPU_IDLE_NS, "cpu_idle_ns", "ns", SUM, "all cores: idle") \
	X(CLIENT_RANK_CORES_NS, "rank_cores_ns", "ns", SUM, \
	  "the cores that ranks are bound to: all their time") \
	X(CLIENT_RANK_CORES_BUSY_NS, "rank_cores_busy_ns", "ns", SUM, \
	  "the same cores: all but idle and iowait, whoever used them") \
	X(CLIENT_CPU_WAITED_NS, "cpu_waited_ns", "ns", SUM, \
	  "time in which something was ready and had no core") \
	X(CLIENT_CPU_THROTTLED_NS, "cpu_throttled_ns", "ns", SUM, \
	  "time the first rank's control group was held back by its quota, all cores together") \
	X(CLIENT_HAUL_CPU_NS, "haul_cpu_ns", "ns", SUM, \
	  "processor time of the ranks' processes on the node") \
	X(CLIENT_SAMPLER_CPU_NS, "sampler_cpu_ns", "ns", SUM, \
	  "the part of it that was spent on taking these rows") \
	X(CLIENT_MEMORY_AVAILABLE_BYTES, "memory_available_bytes", "bytes", MIN, \
	  "memory available without swapping") \
	X(CLIENT_MEMORY_FREE_BYTES, "memory_free_bytes", "bytes", MIN, \
	  "unused memory") \
	X(CLIENT_CACHED_BYTES, "cached_bytes", "bytes", MAX, "page cache, tmpfs included") \
	X(CLIENT_DIRTY_BYTES, "dirty_bytes", "bytes", MAX, \
	  "page cache that is still to be written") \
	X(CLIENT_WRITEBACK_BYTES, "writeback_bytes", "bytes", MAX, \
	  "page cache that is being written") \
	X(CLIENT_DIRTY_LIMIT_BYTES, "dirty_limit_bytes", "bytes", MIN, \
	  "the sum of dirty and written-back pages from which on the kernel slows writers down") \
	X(CLIENT_MEMORY_STALLED_NS, "memory_stalled_ns", "ns", SUM, \
	  "time in which something waited for memory") \
	X(CLIENT_NIC_IN_BYTES, "nic_in_bytes", "bytes", SUM, \
	  "received by the interfaces that /nodes names") \
	X(CLIENT_NIC_OUT_BYTES, "nic_out_bytes", "bytes", SUM, "sent by them") \
	X(CLIENT_DISK_READ_BYTES, "disk_read_bytes", "bytes", SUM, \
	  "read from the node's block devices") \
	X(CLIENT_DISK_WRITTEN_BYTES, "disk_written_bytes", "bytes", SUM, "written to them") \
	X(CLIENT_RDMA_IN_BYTES, "rdma_in_bytes", "bytes", SUM, \
	  "received by InfiniBand, RoCE and Slingshot ports") \
	X(CLIENT_RDMA_OUT_BYTES, "rdma_out_bytes", "bytes", SUM, "sent by them") \
	X(CLIENT_LOOPBACK_BYTES, "loopback_bytes", "bytes", SUM, \
	  "sent over the loopback interface, between processes of the node") \
	X(CLIENT_HAUL_WAITED_NS, "haul_waited_ns", "ns", SUM, \
	  "time in which threads of the ranks' processes were ready and had no core, all of them together")
/* clang-format on */

enum client_column { CLIENT_LIST(MEASURE_ENUM) CLIENT_COLUMNS };

/* Name, unit and meaning of each column. A MERGE_SUM column is a counter, added when rows are
 * folded. A MERGE_MIN or MERGE_MAX column is a level, of which the extreme is kept. */
extern const struct columns client_columns;

enum { CLIENT_ROWS = 1024 };

struct client_series {
	uint64_t interval_ns; /* 1 s, doubled (rows are folded) whenever the rows run out */
	uint32_t rows;        /* in use */
	uint64_t row[CLIENT_ROWS][CLIENT_COLUMNS];
};

void client_series_init(struct client_series *s);

/* Adds what lies between two readings to the row that holds the middle of [from_ns, to_ns). Both
 * times count from the start of the series. A counter that went back adds nothing. */
void client_series_add(struct client_series *s, uint64_t from_ns, uint64_t to_ns,
		       const uint64_t before[CLIENT_COLUMNS], const uint64_t after[CLIENT_COLUMNS]);

void client_series_fold(struct client_series *s,
			uint64_t interval_ns); /* coarsens to interval_ns */

#endif
