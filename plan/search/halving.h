/* SPDX-License-Identifier: Apache-2.0 */
/* Search for the best of many settings by successive halving (Jamieson and Talwalkar, "Non-stochastic
 * best arm identification and hyperparameter optimization", AISTATS 2016). The caller measures what
 * the search asks for, one run at a time, and the search says what to run next:
 *
 *	halving_init(&h, &ask);
 *	while (halving_next(&h, &look))
 *		halving_add(&h, found in that run);
 *
 * In each round every candidate that is left has one run, all in turn, and the better half goes on.
 * The runs of early rounds may be shorter: 1/8 of the time, then 1/4, 1/2, and all of it in the last
 * round. At most HALVING_FINALISTS go on to the final, together with the base: the job as it is.
 * There each has several repeats of full length, in turn, and only these are judged, since what made a
 * candidate win its rounds may have been chance.
 *
 * All pairs of the final are compared as haul compare does (core/ratio.h), at a level by which all of
 * them together are wrong by chance in at most 5 of 100 searches. A candidate without a figure is the
 * last of its round; if none has one, the round is repeated with runs of twice the length.
 *
 * Plain data, no allocation of its own; any one thread. Every rank runs the same search on the same
 * values. */
#ifndef HAUL_PLAN_SEARCH_HALVING_H
#define HAUL_PLAN_SEARCH_HALVING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/answer.h"
#include "core/ratio.h"

enum {
	HALVING_MOST = 512, /* candidates */
	HALVING_FINALISTS = 3,
	HALVING_REPEATS_MAX = 16,
	HALVING_PART = 8 /* the shortest run is this part of a whole one */
};

struct halving_ask {
	uint32_t count;          /* candidates, from 0 */
	const uint8_t *left_out; /* [count]: 1: it cannot run; NULL: all can */
	uint32_t base;           /* one of them, or count: none of them is the job as it is */
	uint32_t repeats;        /* in the final, 2 … HALVING_REPEATS_MAX */
	uint32_t warmup;         /* runs of each before these */
	bool less;               /* the smaller figure is the better one */
	bool parts;              /* runs can be shorter */
};

/* A run that is asked for. */
struct halving_look {
	uint32_t candidate;
	uint32_t round;  /* from 1; 0: the final */
	uint32_t part;   /* its length is 1/part of a whole run */
	uint32_t repeat; /* of the final, or of its warm-ups, from 1 */
	bool warmup;     /* what it finds does not count */
};

struct halving_candidate {
	uint32_t rounds; /* in which it was measured */
	double found;    /* in the last of them; NaN: no figure */
	bool racing;     /* it has not lost, and can run */
	uint32_t repeats;
	double values[HALVING_REPEATS_MAX], when[HALVING_REPEATS_MAX]; /* of the final */
};

enum halving_end {
	HALVING_GOES_ON, /* or it was stopped */
	HALVING_DONE,
	HALVING_UNKNOWN, /* no candidate has a figure */
	HALVING_ENDS
};
extern const char *const halving_ends[HALVING_ENDS]; /* "stopped", "found", "unknown" */

struct halving {
	struct halving_ask ask;
	enum halving_end end;
	uint32_t round;     /* 0: the final has begun */
	uint32_t part_most; /* the shortest part in which a figure can be told */
	uint32_t racing;    /* in the order of the last round, the best first */
	uint32_t order[HALVING_MOST + 1];
	uint32_t at;   /* runs of this round, or of the final */
	uint32_t runs; /* all, by which repeats are told earlier from later */
	struct halving_candidate candidates[HALVING_MOST + 1];
};

void halving_init(struct halving *h, const struct halving_ask *ask);
bool halving_next(struct halving *h, struct halving_look *look);
void halving_add(struct halving *h, double found);

/* What is known of a candidate, also of a search that has not ended. */
enum halving_state {
	HALVING_BEST,    /* the best mean of the final */
	HALVING_TIED,    /* not shown to differ from the best */
	HALVING_WORSE,   /* shown to be worse than the best */
	HALVING_DROPPED, /* lost in its last round */
	HALVING_OPEN,    /* has not lost, but was not judged either */
	HALVING_LEFT_OUT,
	HALVING_STATES
};
extern const char *const halving_states[HALVING_STATES]; /* "best", "tied", … */

/* All of the head but the texts of the question, the file and the combinations that are left out; and
 * the rows, the best first, but for their sets: halving_rows of them, of which combination - 1 is the
 * candidate. */
uint32_t halving_rows(const struct halving *h);
void halving_answer(const struct halving *h, struct tune_head *head, struct tune_row *rows);

/* What a search takes at most: runs, and their sum in whole runs. */
struct halving_cost {
	uint32_t rounds, runs;
	double whole;
};
struct halving_cost halving_cost(const struct halving_ask *ask);

#endif
