/* SPDX-License-Identifier: Apache-2.0 */
/* Null pass: the loop of a phase on null://, a store that takes no time and keeps no bytes, so that
 * haul's own share of every result is on the record. The phase runs its own loop in the context of
 * the pass, whose results go into a tally of its own, and counts from that what the results keep.
 * For the main thread of each rank. */
#ifndef HAUL_WORKLOADS_COMMON_NULL_PASS_H
#define HAUL_WORKLOADS_COMMON_NULL_PASS_H

#include "core/arena.h"
#include "workloads/workload.h"

/* What a phase that moves bytes keeps of it: enumerators that begin with prefix, and the figure of
 * both. */
/* clang-format off */
#define NULL_PASS_LIST(X, prefix) \
	X(prefix##NULL_NS, "null_ns", "ns", MAX, \
	  "what the slowest rank took in the same loop on a store that takes no time") \
	X(prefix##NULL_BYTES, "null_bytes", "bytes", SUM, "bytes asked for in that loop")
#define NULL_PASS_FIGURE(prefix) \
	FIGURE_PER("null_bytes_rate", "B/s", 1e9, OF(prefix##NULL_BYTES), OF(prefix##NULL_NS), \
		   "bytes per second of the same loop on a store that takes no time, which are neither made nor compared", \
		   .role = ROLE_BYTE_RATE_NULL)
/* clang-format on */
enum { NULL_PASSES = 3, NULL_PASSES_MAX = 1000 };
#define OPTION_NULL_PASSES(type, member) \
	OPT_U64("null_passes", type, member, .def = NULL_PASSES, .max = NULL_PASSES_MAX, \
		.help = "times that the same loop runs on a store that takes no time, to measure what haul itself costs; 0: never")

struct null_pass {
	struct phase_context
		ctx; /* of the phase, but quiet: nobody watches, logs or publishes the pass */
	struct job_store store; /* null:// */
	struct tally tally;
	struct arena arena;
	uint64_t began_ns;
};

/* schema, rows_max: of the tally (tally_init). Collective. Call null_pass_close also after an
 * error. */
int null_pass_open(struct null_pass *n, const struct phase_context *ctx,
		   const struct tally_schema *schema, const uint32_t *rows_max, struct err *err);
void null_pass_close(struct null_pass *n);

#endif
