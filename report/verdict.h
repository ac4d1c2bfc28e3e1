/* SPDX-License-Identifier: Apache-2.0 */
/* Verdict on a training, in sentences: how busy its accelerators were, what time was lost and why,
 * and what the loop itself costs. Sentences without information are left out. What the figures are
 * worth is in doubt.h. */
#ifndef HAUL_REPORT_VERDICT_H
#define HAUL_REPORT_VERDICT_H

#include <stdbool.h>

#include "results-schema/results_read.h"

enum { VERDICT_LINES = 6, VERDICT_BYTES = 768 };
struct verdict {
	unsigned count;
	char line[VERDICT_LINES][VERDICT_BYTES];
	bool busy; /* the first line tells how busy the accelerators were */
	/* Its target: the first line then ends with target_word. NULL: there is
	 * none. */
	const struct target_result *target;
};

/* Whether the phase is a training. */
bool verdict_is(const struct results_phase_read *p);
void verdict_of(const struct results_file *f, const struct results_phase_read *p,
		struct verdict *v);

/* AU as a percentage: with one decimal, or as many as tell it apart from the target. */
void verdict_busy_share(char text[TARGET_TEXT_BYTES], double au,
			const struct target_result *target);

/* Adds what of the phase AU leaves out: " without checkpoints, which took 83 % of the phase". */
void verdict_without(char *text, size_t bytes, const struct results_phase_read *p);

/* A machine is named as busy if on average more than this many of its threads were ready without a
 * core. */
#define VERDICT_STARVED 0.02
double verdict_starved(const struct results_phase_read *p);

#endif
