/* State of phases that run at the same time, on one rank. Private to together.c and
 * together_progress.c. */
#ifndef HAUL_RANKS_RUN_TOGETHER_H
#define HAUL_RANKS_RUN_TOGETHER_H

#include "ranks/node/team.h"
#include "ranks/run/phase_run.h"

struct together {
	struct run *run;
	const struct run_options *options;
	const struct phase_set *set;
	bool alone;                       /* its only phase runs by itself, to compare */
	uint32_t mine;                    /* of the set: this rank's phase; set->count: none */
	uint32_t heads[JOB_TOGETHER_MAX]; /* the first rank of each phase, in the team of all */
	struct team all, own;
	struct rank_place place; /* in its phase */
	struct phase_run p;
	uint64_t utc_ns; /* add the aligned clock to get UTC as rank 0 has it */
	bool met;        /* its phase has begun, or has ended without that */
	/* The progress line, which rank 0 writes: what it has heard of the other phases. */
	uint64_t note_ns; /* the first rank of a phase: when the next note is due */
	char notes[JOB_TOGETHER_MAX][PROGRESS_BYTES];
	bool notes_over[JOB_TOGETHER_MAX];
};

/* The progress line of all phases. The first rank of each sends notes to rank 0, which shows them
 * beside its own. begin: when the phases are prepared. wait: often, while this rank waits for
 * others. last: when this rank's phase is over. end: when all are; clears the line. */
void together_progress_begin(struct together *t);
void together_progress_wait(struct together *t);
void together_progress_last(struct together *t);
void together_progress_end(struct together *t);

#endif
