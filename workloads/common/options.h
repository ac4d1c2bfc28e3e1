/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several kinds of phase have: each is declared here once, as a row for the tables of those phases.
 *
 *	static const struct option io_options_table[] = {
 *		OPTION_VERIFY(struct io_options, verify),
 *		OPTION_LIMITS(struct io_options, limits),
 *		OPT_END
 *	};
 *
 * A macro takes the struct that the table fills and the member for the option. */
#ifndef HAUL_WORKLOADS_COMMON_OPTIONS_H
#define HAUL_WORKLOADS_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"
#include "core/content/random.h"
#include "core/err.h"
#include "core/group/group.h"
#include "core/option/option.h"
#include "core/rank_place.h"
#include "workloads/common/cold.h"

/* Arrival process: when the operations of a thread start. They start at once, no faster than a
 * rate, or at fixed times (an open loop), evenly or as a Poisson process. Owned by one thread. */

enum pace_arrivals { ARRIVALS_PACED, ARRIVALS_CONSTANT, ARRIVALS_POISSON };
extern const char *const pace_arrivals_names[];

/* Of all ranks together. Without rate and bandwidth there is no limit. */
struct pace_options {
	double rate;        /* operations per second */
	uint64_t bandwidth; /* bytes per second */
	uint32_t arrivals;
};

/* Checks rules that an option table cannot express. moves: whether an operation moves bytes.
 * operation: its name; path: that of the phase; both for messages. */
int pace_check(const struct pace_options *o, bool moves, const char *operation, const char *path,
	       struct err *err);

/* The operations per second that o asks of all ranks, with operations of that many bytes; 0: no
 * limit. */
double pace_rate(const struct pace_options *o, double operation_bytes);

struct pace {
	bool limited, open_loop, poisson;
	uint64_t interval_q;     /* in units of 2^-24 ns */
	uint64_t base_ns, taken; /* the next operation is due at base + taken intervals */
	uint64_t next_ns;
	struct draw gap;
	struct random random;
};

/* The share of one of `threads` threads in the rate that o asks of all, from start_ns on. Threads
 * begin spread over the first interval. operation_bytes: of an operation on average, for a
 * bandwidth. */
void pace_init(struct pace *p, const struct pace_options *o, double operation_bytes, uint64_t seed,
	       uint64_t thread, uint64_t threads, uint64_t start_ns);

/* When the next operation may start; 0: at once. */
static inline uint64_t pace_next(const struct pace *p)
{
	return p->limited ? p->next_ns : 0;
}

/* The operation starts now. Returns when it was due, or 0 where operations have no due time. */
uint64_t pace_take(struct pace *p, uint64_t now_ns);

enum verify { VERIFY_NONE, VERIFY_SAMPLED, VERIFY_FULL };
enum on_error { ON_ERROR_STOP, ON_ERROR_COUNT };

/* What VERIFY_SAMPLED compares of each request. */
enum { VERIFY_SAMPLE_BYTES = 4096 };

extern const char *const options_verify[], *const options_on_error[];

/* What ends a phase early; 0: no limit. */
struct limit_options {
	uint64_t count, bytes; /* for each thread */
	uint64_t seconds_ns, warmup_ns;
};

/* Rank shift: whose objects a rank reads, so that no node finds in its own cache what it wrote. */
enum shift { SHIFT_NODE, SHIFT_RANK, SHIFT_NONE };
extern const char *const shift_names[];

/* The shift from a rank to the owner of the objects that it reads, for ranks of which rank i is on
 * nodes[i]: as many ranks as a node has, or one, whichever leaves fewer ranks with objects of their
 * own node. So the ranks of a node may be numbered consecutively or in turn. */
uint32_t shift_between(const uint32_t *nodes, uint32_t ranks, uint32_t node_count);

/* The rank whose objects this rank reads. Collective. */
int shift_rank(enum shift how, const struct rank_place *place, struct group *g, uint64_t *rank);

/* clang-format off */
#define OPTION_VERIFY(type, member) \
	OPT_CHOICE("verify", type, member, .def = VERIFY_SAMPLED, .choices = options_verify, \
		   .help = "bytes compared with what was written: 4 KiB of each request, or all")
#define OPTION_ON_ERROR(type, member) \
	OPT_CHOICE("on_error", type, member, .def = ON_ERROR_STOP, .choices = options_on_error, \
		   .help = "whether what fails, or brings wrong bytes, stops all ranks or is counted")
#define OPTION_COLD(type, member) \
	OPT_TABLE("cold", type, member, .table = cold_options, \
		  .help = "reads that come from the storage: caches dropped, memory taken, evidence")
#define OPTION_SECONDS(type, member) \
	OPT_TIME("seconds", type, member, .def = 0, \
		 .help = "nothing new is started after this time; 0: no limit")
#define OPTION_LIMITS(type, member) \
	OPT_U64("count", type, member.count, .def = 0, \
		.help = "the greatest number of operations per thread; 0: no limit"), \
	OPT_BYTES("bytes", type, member.bytes, .def = 0, \
		  .help = "the greatest number of bytes that a thread moves; 0: no limit"), \
	OPTION_SECONDS(type, member.seconds_ns), \
	OPT_TIME("warmup", type, member.warmup_ns, .def = 0, \
		 .help = "time at the start that is not counted, before \"seconds\"")
#define OPTION_THREADS(type, member, most, what) \
	OPT_U64("threads", type, member, .def = 1, .min = 1, .max = (most), .help = what)
#define OPTION_DEPTH(type, member) \
	OPT_U64("depth", type, member, .def = 1, .min = 1, .max = QUEUE_DEPTH_MAX, \
		.help = "operations in flight for each thread")
#define OPTION_CONTENT(type, what, distance) \
	OPT_REAL("compress", type, compress, .def_real = 1, .min_real = 1, .max_real = 512, \
		 .help = "factor by which compression can shrink each 4 KiB that is written"), \
	OPT_REAL("dedup", type, dedup, .def_real = 1, .min_real = 1, .max_real = 1000, \
		 .help = "factor by which deduplication can reduce the 4 KiB blocks " what), \
	OPT_BYTES("dedup_distance", type, dedup_distance, .def = (distance), .min = 4096, \
		  .max = 1ull << 50, .help = "distance of a repeat from its original")
#define OPTION_PACE(type, member) \
	OPT_REAL("rate", type, member.rate, .def_real = 0, .min_real = 0, .max_real = 1e12, \
		 .help = "operations per second of all ranks together; 0: no limit"), \
	OPT_RATE("bandwidth", type, member.bandwidth, .def = 0, \
		 .help = "bytes per second of all ranks together; 0: no limit"), \
	OPT_CHOICE("arrivals", type, member.arrivals, .choices = pace_arrivals_names, \
		   .help = "with a rate; paced: no faster than it; constant, poisson: operations are due at " \
			   "times that do not wait for the store, and response counts from then")
#define OPTION_SHIFT(type, member) \
	OPT_CHOICE("shift", type, member, .choices = shift_names, \
		   .help = "reads and stats: objects that a rank of another node wrote, the next rank, or the " \
			   "same rank")
/* clang-format on */

#endif
