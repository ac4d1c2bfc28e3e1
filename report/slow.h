/* SPDX-License-Identifier: Apache-2.0 */
/* Slow ranks and nodes: those that stand out from the others by their wait for storage, the 99th
 * percentile of their requests, or their bytes per second. docs/client.md, "Who is slow", has
 * the rule and its reasons.
 *
 * A node whose ranks are slow is named once, as a node. A value of a node is that of its middle
 * rank, so one slow rank does not make its node slow. */
#ifndef HAUL_REPORT_SLOW_H
#define HAUL_REPORT_SLOW_H

#include <stdbool.h>

#include "results-schema/results_read.h"

/* What is compared: X(enum, key in JSON, unit of the value). */
/* clang-format off */
#define SLOW_LIST(X) \
	X(STORAGE, "storage_wait_s", "s") \
	X(P99, "p99_ns", "ns") \
	X(RATE, "bytes_per_second", "B/s")
/* clang-format on */

enum slow_measure {
#define SLOW_ENUM(id, name, unit) SLOW_##id,
	SLOW_LIST(SLOW_ENUM)
#undef SLOW_ENUM
		SLOW_MEASURES
};
extern const char *const slow_names[SLOW_MEASURES];

/* A rank or a node that is named. A node with one rank counts as that rank. */
struct slow_unit {
	uint64_t ranks;           /* 1: a rank; more: a node with that number of ranks */
	uint64_t rank, last_rank; /* of a node: its first and its last */
	uint64_t node;
	bool beyond[SLOW_MEASURES];
	/* Of the rank, or of the middle rank of the node; and of the middle one of all ranks or
	 * nodes. NaN: not compared. */
	double value[SLOW_MEASURES], median[SLOW_MEASURES];
	double limit[SLOW_MEASURES]; /* the fence: whoever is beyond it is slow */
	double distance; /* the largest logarithm of a ratio to a median, by which units are sorted */
};

struct slow {
	const char *latency; /* the histogram of SLOW_P99, "" where there is none */
	uint32_t count;
	struct slow_unit *units; /* the slowest first */
};

/* Returns false where nothing is named, or there is no memory. */
bool slow_of(const struct results_phase_read *p, struct slow *out);
void slow_free(struct slow *s);

/* The wait of a rank for storage: all its accounts of storage, in seconds. NaN where the phase has
 * none. */
double slow_wait_s(const struct results_table *ranks, uint64_t row);

/* Latencies of a rank or of a node, by its number. NULL where the file has none. */
const struct results_latency_row *slow_latency(const struct results_phase_read *p, bool of_node,
					       uint64_t number);

/* "rank 3 on nid0001", "node nid0007 (ranks 28 to 31)". Where several nodes have one host name, the
 * number of the node follows: "node 7 on nid0001 (…)". */
enum { SLOW_WHO_BYTES = 160 };
void slow_who(const struct results_file *f, const struct slow_unit *u, char who[SLOW_WHO_BYTES]);

#endif
