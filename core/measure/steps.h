/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a training: how long each took, on average and at most. There are up to STEPS_ROWS rows.
 * When the steps outgrow them, rows are folded in pairs, so that a row stands for twice as many
 * steps. Rows of all ranks are merged: sums add, maxima are the largest. Belongs to the rank's main
 * thread. A step costs a few additions. */
#ifndef HAUL_CORE_MEASURE_STEPS_H
#define HAUL_CORE_MEASURE_STEPS_H

#include <stdint.h>

/* The parts of a step's time. Together they are the step's wall time. */
/* clang-format off */
#define STEP_LIST(X) \
	X(LOAD, "load", "waiting for the batch") \
	X(COMPUTE, "compute", "copying the batch to the accelerator, and emulated compute") \
	X(RANKS, "ranks", "waiting for other ranks")
/* clang-format on */

enum step_part {
#define STEP_ENUM(id, name, help) STEP_##id,
	STEP_LIST(STEP_ENUM)
#undef STEP_ENUM
		STEP_PARTS
};

struct step_part_kind {
	const char *name, *help;
};
extern const struct step_part_kind step_part_kinds[STEP_PARTS];

enum { STEPS_ROWS = 4096 };

struct steps_row {
	uint64_t count; /* steps of all ranks in the sums */
	uint64_t sum_ns[STEP_PARTS];
	uint64_t max_ns[STEP_PARTS]; /* of a single step of a single rank */
};

struct steps {
	uint64_t steps_per_row; /* 1, or that doubled several times */
	uint32_t rows;          /* in use */
	struct steps_row row[STEPS_ROWS];
};

void steps_init(struct steps *s);

/* Adds the step of that number, from 0. Numbers may be left out. */
void steps_add(struct steps *s, uint64_t step, const uint64_t ns[STEP_PARTS]);

void steps_fold(struct steps *s, uint64_t steps_per_row); /* coarsens to steps_per_row */

/* Copies the first rows of `from`, which may be more than those in use, and makes them the rows of
 * `into`. Nothing behind them is touched, so unused rows take no memory. */
void steps_copy(struct steps *into, const struct steps *from, uint32_t rows);

#endif
