/* SPDX-License-Identifier: Apache-2.0 */
/* Series of runs in one results file: the repeats of each phase in each combination of the sweeps'
 * values, taken together. Only finished phases count, and no warm-up runs. */
#ifndef HAUL_REPORT_SERIES_H
#define HAUL_REPORT_SERIES_H

#include <stdbool.h>

#include "core/stats.h"
#include "results-schema/results_read.h"

/* Figures of all ranks together. Rates are over the time that the phase measured, without a
 * warm-up. docs/figures.md says what each counts. The p99 is that of the phase's main histogram. */
enum series_figure {
	SERIES_AU,
	SERIES_BYTES,
	SERIES_SAMPLES,
	SERIES_OPERATIONS,
	SERIES_WRITE, /* bytes per second of those that do one after the other, and each for itself */
	SERIES_READ,
	SERIES_P99,
	SERIES_FIGURES,
	/* Further values of each repeat, of which no statistics are made: its time, and when it
	 * began (NaN: not known), both in s. */
	SERIES_SECONDS = SERIES_FIGURES,
	SERIES_BEGAN,
	SERIES_VALUES
};

/* Keys in JSON: "bytes_per_second". */
extern const char *const series_keys[SERIES_FIGURES];

/* Whether a phase counts as a repeat: it has finished, and was no warm-up. */
bool series_counts(const struct results_phase_read *p);

/* A figure of one phase; NaN where it has none. */
double series_figure_of(const struct results_phase_read *p, enum series_figure figure);

/* The figure that a phase is judged and compared by: the one that its kind names as the main one;
 * in files that do not tell it, the first rate that is not 0. SERIES_VALUES: it has none. */
enum series_figure series_main(const struct results_phase_read *p);

struct series_line {
	const struct results_phase_read
		*first; /* the first repeat: name, combination, sets, target */
	uint32_t nth;   /* number among the phases of that name in its run, from 0 */
	uint32_t repeats;
	const struct results_phase_read **phases; /* [repeats], in the order of time */
	double *values[SERIES_VALUES];            /* [repeats] */
	struct stats figures[SERIES_FIGURES];     /* intervals cut to possible values */
};

struct series_lines {
	struct series_line *lines; /* in the order of their first repeats */
	uint32_t count;
};

/* Whether both are the same phase of the job, in different combinations. */
bool series_same_phase(const struct series_line *a, const struct series_line *b);

/* The worst state of the line's targets over its repeats: missed, cannot be told, met. Without
 * targets it is met. */
enum target_state series_state(const struct series_line *line);

/* Whether a is better than b. What meets its targets is better than what may miss them, and that is
 * better than what misses them. Of equals, the figure that their phase is judged by decides: AU, a
 * rate, or else its p99. */
bool series_better(const struct series_line *a, const struct series_line *b);

/* The place of a line among the combinations of its phase, by series_better: 1 is the best. */
uint32_t series_place(const struct series_lines *s, const struct series_line *of);

/* Returns false where there is no memory. Free it in either case. */
bool series_make(struct series_lines *s, const struct results_file *f);
void series_free_lines(struct series_lines *s);

/* A target over the repeats of a line: its mean, by which --strict judges it; void where one repeat is.
 * asked is NaN where the phase has no such target. */
struct target_result series_target(const struct series_line *line, const char *name);

/* How many combinations of the phase of that line are in each state of the target. Returns how many have it. */
unsigned series_target_states(const struct series_lines *s, const struct series_line *of,
			      const char *name, unsigned states[TARGET_STATES]);

/* The line of that combination of a phase; NULL: there is none. */
const struct series_line *series_found(const struct series_lines *s, uint64_t combination,
				       const char *phase);

#endif
