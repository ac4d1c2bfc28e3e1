/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts: where the time of a rank goes. Each nanosecond is in exactly one account, because one
 * stamp closes an interval and opens the next. The sum of the accounts is exactly the wall time.
 *
 * The list below is the only place that names the accounts: measures, figures, columns of reports
 * and their words all follow from it. Only the plan's time does not: workloads/train/size.c adds it
 * up, and test_train_size has a row for each account. Stamps belong to the rank's main thread. */
#ifndef HAUL_CORE_MEASURE_ACCOUNT_H
#define HAUL_CORE_MEASURE_ACCOUNT_H

#include <stdint.h>

#include "core/measure/measure.h"

/* X(enum, name, words of the report behind a percentage, sort, help). The measure of an account is
 * called name_ns. Sorts: COMPUTE; STORAGE, of which the report also tells the sum; OTHER. */
/* clang-format off */
#define ACCOUNT_COMPUTE_LIST(X) \
	X(COMPUTE, compute, "compute", COMPUTE, "emulated compute, the time asked for")
#define ACCOUNT_STORAGE_LIST(X) \
	X(OPEN, open, "open", STORAGE, "waiting for storage: open, close, metadata") \
	X(FIRST_BYTE, first_byte, "first byte", STORAGE, \
	  "waiting for storage: the first byte of a read, where the store can tell") \
	X(TRANSFER, transfer, "transfer", STORAGE, "waiting for storage: the bytes") \
	X(QUEUE, queue, "queue", STORAGE, \
	  "waiting for storage: a request that was due and not yet taken up")
#define ACCOUNT_OTHER_LIST(X) \
	X(RANKS, ranks, "for the slowest rank", OTHER, "waiting for other ranks") \
	X(COLLECTIVES, collectives, "in collectives", OTHER, \
	  "plans of a checkpoint gathered and scattered, and its results gathered") \
	X(DECODE, decode, "decode", OTHER, "waiting for emulated preprocessing") \
	X(GENERATE, generate, "making bytes", OTHER, "making the bytes of a checkpoint") \
	X(COPY, copy, "copying to the accelerator", OTHER, \
	  "batches on their way to the accelerator: pinning, host to device") \
	X(CHECKPOINT, checkpoint, "for checkpoints", OTHER, \
	  "blocked by checkpoints; utilisation leaves this time out") \
	X(HAUL, haul, "haul", OTHER, "haul itself: all other time")
#define ACCOUNT_LIST(X) ACCOUNT_COMPUTE_LIST(X) ACCOUNT_STORAGE_LIST(X) ACCOUNT_OTHER_LIST(X)
/* clang-format on */

enum account {
#define ACCOUNT_ENUM(id, name, words, sort, help) ACCOUNT_##id,
	ACCOUNT_LIST(ACCOUNT_ENUM)
#undef ACCOUNT_ENUM
		ACCOUNTS
};

/* Measures of the accounts, in the order of enum account, for a workload's table (see
 * MEASURE_BLOCK_ROWS). */
#define ACCOUNT_MEASURE(id, n, words, sort, h) \
	{.name = #n "_ns", \
	 .unit = "ns", \
	 .merge = MERGE_SUM, \
	 .help = (h), \
	 .role = ROLE_ACCOUNT_##sort},
#define ACCOUNT_MEASURES ACCOUNT_LIST(ACCOUNT_MEASURE)

struct account_kind {
	const char *name;  /* "first_byte" */
	const char *words; /* "first byte" */
	const char *help;
	enum role role; /* ROLE_ACCOUNT_COMPUTE, _STORAGE or _OTHER */
};
extern const struct account_kind account_kinds[ACCOUNTS];

struct accounts {
	uint64_t ns[ACCOUNTS];
	uint64_t start_ns, since_ns; /* the open interval began at since_ns */
	enum account state;
};

void account_start(struct accounts *a, enum account state, uint64_t now_ns);

/* Closes the open interval at now_ns and opens the next. A stamp before the last one counts as the
 * last one: stamps of different origin may disagree by a few ns, but the sum must be right. */
void account_switch(struct accounts *a, enum account state, uint64_t now_ns);

/* Leaves the time since the last stamp out of all accounts, because the phase stood still. */
void account_skip(struct accounts *a, uint64_t now_ns);

/* Moves a wait of wait_ns, charged to haul until now, to the accounts that a reader named as its
 * causes: each gets at most what the reader measured, and together never more than the wait. The
 * rest stays with haul. */
void account_blame(struct accounts *a, uint64_t wait_ns, const uint64_t blamed[ACCOUNTS]);

/* The time from the start to the last stamp without what was skipped: the sum of all accounts. */
uint64_t account_wall(const struct accounts *a);

#endif
