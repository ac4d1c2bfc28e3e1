/* SPDX-License-Identifier: Apache-2.0 */
/* Search for the greatest load that still meets a target, such as the number of users with whom the
 * 95th percentile of requests stays below 200 ms. The caller measures what the search asks for, one
 * measurement at a time, and the search says what to measure next:
 *
 *	bisect_init(&s, &ask);
 *	while (bisect_next(&s, &value))
 *		bisect_add(&s, found at that value);
 *
 * The load begins at the least value and is doubled until it misses the target. Then the gap between
 * the greatest value that meets it and the least that misses it is halved until nothing lies between.
 * A value is measured at least twice, and again until the 99 % interval of its mean (Student's t) lies
 * on one side of the target. After the most repeats it is unknown, and its mean says where the
 * search goes on; then the two ends of the range of unknown values are searched for, too, because
 * the answer lies somewhere in it.
 *
 * A greater value must be a greater load: where it meets the target, so do all smaller ones. Plain
 * data, no allocation; any one thread. Every rank runs the same search on the same values. */
#ifndef HAUL_PLAN_SEARCH_BISECT_H
#define HAUL_PLAN_SEARCH_BISECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/answer.h"
#include "core/stats.h"

/* Doubling and three bisections of 64 bits do not take more steps. */
enum { BISECT_STEPS_MAX = 256, BISECT_REPEATS_MAX = 16 };

/* The values are low, low + by, … up to high. */
struct bisect_ask {
	uint64_t low, high, by;
	double asked;
	bool most; /* asked is the most that may be found, else the least */
	uint32_t
		repeats; /* of a value at most, 1 … BISECT_REPEATS_MAX; 1: no interval is asked for */
	/* What is found is known only to this share of it, as percentiles are whose buckets have a
	 * width: the interval is wider by it. */
	double blur;
};

enum bisect_state { BISECT_OPEN, BISECT_MET, BISECT_MISSED, BISECT_UNDECIDED, BISECT_STATES };
extern const char *const bisect_states[BISECT_STATES]; /* "open", "met", … */

struct bisect_step {
	uint64_t value;
	uint32_t repeats;
	enum bisect_state state;
	double found[BISECT_REPEATS_MAX];
	struct stats stats; /* low and high: the interval by which it is judged */
};

enum bisect_end {
	BISECT_GOES_ON, /* or it was stopped */
	BISECT_FOUND,
	BISECT_NONE,    /* even the least value misses */
	BISECT_ALL,     /* even the greatest value meets it */
	BISECT_UNKNOWN, /* what was measured has no such figure */
	BISECT_ENDS
};
extern const char *const bisect_ends[BISECT_ENDS]; /* "stopped", "found", … */

struct bisect {
	struct bisect_ask ask;
	enum bisect_end end;
	uint32_t count;
	struct bisect_step steps[BISECT_STEPS_MAX]; /* in the order in which they were begun */
};

void bisect_init(struct bisect *s, const struct bisect_ask *ask);

/* The value to measure next. false: the search has ended. */
bool bisect_next(struct bisect *s, uint64_t *value);

/* What was found at the value that bisect_next has named. NaN: it could not be told. */
void bisect_add(struct bisect *s, double found);

/* In place of these two calls, where the caller has chosen the values: what was found at that one, of
 * which the first BISECT_STEPS_MAX count, each with its first BISECT_REPEATS_MAX repeats. After the
 * last one bisect_close says what follows; a value that was measured once is decided by that. */
void bisect_see(struct bisect *s, uint64_t value, double found);
void bisect_close(struct bisect *s);

/* What is known, also of a search that has not ended: all of the head but the texts of the question;
 * and rows[count], in the order in which the values were begun; NULL: they are not wanted. */
void bisect_answer(const struct bisect *s, struct find_head *head, struct find_row *rows);

/* The most steps that the search can take where every value is decided. */
uint32_t bisect_steps_most(const struct bisect_ask *ask);

#endif
