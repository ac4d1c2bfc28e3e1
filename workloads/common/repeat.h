/* SPDX-License-Identifier: Apache-2.0 */
/* Repetition: work that the threads of all ranks begin together, and that a phase does again and
 * again with pauses between: a checkpoint that is written or read, a model that is loaded. Each
 * time it takes as long as the slowest rank. The time of a rank until its own last thread has ended
 * is charged to what that thread did, and the rest is a wait for other ranks.
 *
 * A phase that repeats may be published at any time while its threads work or pause (snapshot.h).
 * Then only what was done to the end counts as done, and the time of what is under way is in the
 * account of the transfer.
 *
 * For the main thread of a rank. All functions are collective, except repeat_open, repeat_close,
 * repeat_count, repeat_account and repeat_measure. */
#ifndef HAUL_WORKLOADS_COMMON_REPEAT_H
#define HAUL_WORKLOADS_COMMON_REPEAT_H

#include "core/arena.h"
#include "core/measure/account.h"
#include "core/measure/measure.h"
#include "workloads/common/crew.h"
#include "workloads/workload.h"

/* What a phase counts of its repetitions, in the row of a rank: a block of measures that begins
 * with ID_NS. n begins their names, and times says what is added up ("all loads"). Only what all
 * ranks have done to the end counts. */
/* clang-format off */
#define REPEAT_LIST(X, ID, n, times) \
	X(ID##_NS, n "_ns", "ns", SUM, "what each rank took for its own part, added over " times) \
	X(ID##_SLOWEST_NS, n "_slowest_ns", "ns", MAX, "what the slowest rank took, added over " times) \
	X(ID##_FIRST_NS, n "_first_ns", "ns", MAX, "what the first rank took to do its part, added over " times) \
	X(ID##_DONE_BYTES, n "_done_bytes", "bytes", SUM, "bytes of " times ", as far as all ranks did them to the end") \
	X(ID##_FIRST_BYTES, n "_first_bytes", "bytes", SUM, "of those, by when the first rank had done its part") \
	X(ID##_NS_PER_GB, n "_ns_per_gb", "ns", MAX, \
	  "what the slowest rank took for 10^9 bytes of its own part, over " times)
/* clang-format on */
enum repeat_measure { REPEAT_LIST(MEASURE_ENUM, REPEAT, "", "") REPEAT_MEASURES };

struct repeat {
	/* Set by the caller. */
	struct phase_context *ctx;
	struct crew *crew;
	unsigned accounts_at; /* index in the rank's row of the first account */
	/* The ranks have just met, and another phase waits for this: no start line, but a start at
	 * once. */
	bool at_once;

	bool begun;         /* the first time */
	bool working;       /* from its start to repeat_account */
	uint64_t origin_ns; /* start of the first time */
	uint64_t start_ns;  /* start of this time, on the clock of the crew's store */
	struct accounts accounts;
	struct snapshot snapshot;
	struct done_series *moved; /* [crew->threads]: bytes of each thread since start_ns */
};

/* How long it took this time. */
struct repeat_took {
	/* By this rank, by the slowest one, and by the first one; a rank that had nothing to do
	 * took 0, and is not the first. */
	uint64_t own_ns, slowest_ns, first_ns;
	uint64_t first_bytes; /* of this rank, by when the first one had done its part */
	uint64_t end_ns;
	const struct crew_thread *last; /* the thread that ended last; NULL: none has begun */
};

/* Opens the crew, whose threads count for the repetitions, and closes it. Call repeat_close also
 * after an error. */
int repeat_open(struct repeat *p, struct err *err);
void repeat_close(struct repeat *p);

/* Waits so long before the next time, or until somebody is to stop. This time is in no account. */
int repeat_pause(struct repeat *p, uint64_t pause_ns, enum stop_reason *stopped, struct err *err);

/* Sets start_ns. The body of each thread waits for that time (clock_sleep_until). */
int repeat_begin(struct repeat *p);

/* The work of all threads. Each body sets end_ns of its thread, at most to the time of its last
 * answer; 0: it did nothing. */
int repeat_run(struct repeat *p, int (*body)(struct crew_thread *w, uint64_t thread),
	       struct repeat_took *took, enum stop_reason *stopped, struct err *err);

/* The same for work that has been done already (crew_launch), or went on until least_end_ns. */
int repeat_took(struct repeat *p, uint64_t least_end_ns, struct repeat_took *took);

/* Adds what this rank has done to the end, with `bytes` of its own, to a block of measures. */
void repeat_count(const struct repeat_took *took, uint64_t bytes, uint64_t *block);

/* It took until end_ns: charges what its last thread waited for. */
void repeat_account(struct repeat *p, const uint64_t blamed[ACCOUNTS], uint64_t end_ns);

/* Sets the accounts and the wall time of this rank's row: as they are at the end, or until now. */
void repeat_measure(void *repeat, struct tally *t);

/* Null pass: the loop of a phase on null://, a store that takes no time and keeps no bytes, so that
 * haul's own share of every result is on the record. The phase runs its own loop in the context of
 * the pass, whose results go into a tally of its own, and counts from that what the results keep.
 * For the main thread of each rank. */

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
