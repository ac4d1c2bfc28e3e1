/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line of all phases of a set. The first rank of each phase sends notes to rank 0,
 * which shows them beside its own. Main thread only. */
#ifndef HAUL_RANKS_RUN_SET_PROGRESS_H
#define HAUL_RANKS_RUN_SET_PROGRESS_H

#include "ranks/run/phase_run.h"

struct set_progress {
	/* Set by the caller. */
	struct run *run;
	struct phase_run *p;   /* this rank's phase; where it has none, only its line is used */
	struct group *all;     /* the ranks of all phases */
	const uint32_t *heads; /* [count]: the first rank of each phase, in that group */
	uint32_t count;
	bool takes_part, head; /* this rank has a phase; and is the first one of it */

	bool seen;        /* somebody looks on */
	uint64_t note_ns; /* the first rank of a phase: when its next note is due */
	/* Rank 0: what it has heard of the other phases. */
	char notes[JOB_TOGETHER_MAX][PROGRESS_BYTES];
	bool notes_over[JOB_TOGETHER_MAX];
};

/* begin: when the phases are prepared; sets the hook of the phase's context. wait: often, while
 * this rank waits for others. last: when this rank's phase is over. end: when all are; clears the
 * line. done: the phase is in the results file, or cannot get there. */
void set_progress_begin(struct set_progress *s, const struct run_options *options);
void set_progress_wait(struct set_progress *s);
void set_progress_last(struct set_progress *s);
void set_progress_end(struct set_progress *s);
void set_progress_done(struct set_progress *s, const char *status);

#endif
