/* Repetition: work that the threads of all ranks begin together, and that a phase does again and again with pauses
 * between: a checkpoint that is written or read, a model that is loaded. Each time it takes as long as the slowest rank.
 * The time of a rank until its own last thread has ended is charged to what that thread did, and the rest is a wait for
 * other ranks.
 *
 * For the main thread of a rank. All functions but repeat_account are collective. */
#ifndef HAUL_WORKLOADS_COMMON_REPEAT_H
#define HAUL_WORKLOADS_COMMON_REPEAT_H

#include "core/measure/account.h"
#include "workloads/common/crew.h"

struct repeat {
	/* Set by the caller. */
	struct phase_context *ctx;
	struct crew *crew;
	/* The ranks have just met, and another phase waits for this: no start line, but a start at once. */
	bool at_once;

	bool begun;         /* the first time */
	uint64_t origin_ns; /* start of the first time */
	uint64_t start_ns;  /* start of this time, on the clock of the crew's store */
	struct accounts accounts;
};

/* How long it took this time. */
struct repeat_took {
	uint64_t own_ns, slowest_ns; /* by this rank, and by the slowest one */
	uint64_t end_ns;
	const struct crew_thread *last; /* the thread that ended last; NULL: none has begun */
};

/* Waits so long before the next time, or until somebody is to stop. This time is in no account. */
int repeat_pause(struct repeat *p, uint64_t pause_ns, enum stop_reason *stopped, struct err *err);

/* Sets start_ns. The body of each thread waits for that time (clock_sleep_until). */
int repeat_begin(struct repeat *p);

/* The work of all threads. Each body sets end_ns of its thread, at most to the time of its last answer; 0: it did
 * nothing. */
int repeat_run(struct repeat *p, int (*body)(struct crew_thread *w, uint64_t thread),
	       struct repeat_took *took, enum stop_reason *stopped, struct err *err);

/* The same for work that has been done already (crew_launch), or went on until least_end_ns. */
int repeat_took(struct repeat *p, uint64_t least_end_ns, struct repeat_took *took);

/* It took until end_ns: charges what its last thread waited for. */
void repeat_account(struct repeat *p, const uint64_t blamed[ACCOUNTS], uint64_t end_ns);

#endif
