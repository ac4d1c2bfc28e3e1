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

#include "core/measure/account.h"
#include "core/measure/measure.h"
#include "workloads/common/crew.h"

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

#endif
