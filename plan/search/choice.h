/* SPDX-License-Identifier: Apache-2.0 */
/* The question of haul run --tune: which phase of a job is judged, by which of its figures, and how
 * its runs can be made shorter. Plain data; every rank holds the same. */
#ifndef HAUL_PLAN_SEARCH_CHOICE_H
#define HAUL_PLAN_SEARCH_CHOICE_H

#include "core/job/job.h"
#include "plan/phase_filter.h"
#include "workloads/target.h"

enum { CHOICE_TEXT_BYTES = 256 };

struct choice {
	const char *by;                    /* --tune-by: [PHASE.]FIGURE; NULL: the main figure */
	const struct phase_filter *filter; /* phases that run; NULL: all */
	uint32_t phase_index;
	char place[CHOICE_TEXT_BYTES]; /* "phases.1.io", as --set takes it */
	struct target judge;           /* its name is NULL: the main figure of the kind */
	/* The option that limits the time of the phase, "seconds"; NULL: the job sets none. */
	const char *limit;
	uint64_t limit_ns;
};

/* What is asked of the job, whose paths are tuned. Without a phase in `by` it is the last one that a
 * path names by its first part, else the last one that makes no data. -EINVAL with a sentence. */
int choice_meet(struct choice *c, const struct job *job, const char *const *paths, uint32_t count,
		struct err *err);

/* The change to the job that makes the judged phase last 1/part of its time. */
void choice_shorten(const struct choice *c, uint32_t part, char out[2 * CHOICE_TEXT_BYTES]);

/* Whether a phase is the one that is named as --set names it: by its name, its kind or its place. */
bool choice_is(const struct job_phase *phase, const char *name);

#endif
