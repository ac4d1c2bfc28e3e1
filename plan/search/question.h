/* SPDX-License-Identifier: Apache-2.0 */
/* The question of haul run --find PATH=LOW..HIGH --until "PHASE.TARGET >= VALUE": the range, and the
 * target that a phase of the job gets for it. The target is one of the job's own ("train.au >= 0.9"
 * is --set train.target_au=0.9), so its value is read, judged and reported like any other. */
#ifndef HAUL_PLAN_SEARCH_QUESTION_H
#define HAUL_PLAN_SEARCH_QUESTION_H

#include "core/job/job.h"
#include "plan/search/bisect.h"

enum { QUESTION_TEXT_BYTES = 256 };
/* Repeats of a value at most, where --repeat does not say. */
enum { QUESTION_REPEATS = 5 };

struct question {
	struct bisect_ask ask;
	char path[QUESTION_TEXT_BYTES];  /* whose value is searched for */
	char until[QUESTION_TEXT_BYTES]; /* as given */
	char phase[QUESTION_TEXT_BYTES], target[TARGET_NAME_BYTES];
	char set[QUESTION_TEXT_BYTES]; /* the change to the job: "train.target_au=0.9" */
	bool unitless;                 /* the value names no unit of time */
	/* What question_meet has found in the job. */
	uint32_t phase_index;
	const struct target *kind;
};

/* find: "PATH=LOW..HIGH", or "PATH=LOW..HIGH/STEP". repeats: of a value at most. -EINVAL with a
 * sentence. */
int question_parse(struct question *q, const char *find, const char *until, uint32_t repeats,
		   struct err *err);

/* "PATH=VALUE", for the job of a step. */
void question_value(const struct question *q, uint64_t value, char out[QUESTION_TEXT_BYTES + 24]);

/* Finds the phase and its target in a job that has q->set, and what is asked. -EINVAL with a
 * sentence. */
int question_meet(struct question *q, const struct job *job, struct err *err);

#endif
