/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a training: see steps.h. */
#include "core/measure/steps.h"

#include <string.h>

const struct step_part_kind step_part_kinds[STEP_PARTS] = {
#define STEP_ROW(id, name, help) {name, help},
	STEP_LIST(STEP_ROW)
#undef STEP_ROW
};

void steps_init(struct steps *s)
{
	memset(s, 0, sizeof(*s));
	s->steps_per_row = 1;
}

void steps_add(struct steps *s, uint64_t step, const uint64_t ns[STEP_PARTS])
{
	struct steps_row *row;

	while (step / s->steps_per_row >= STEPS_ROWS)
		steps_fold(s, 2 * s->steps_per_row);
	row = &s->row[step / s->steps_per_row];
	row->count++;
	for (int p = 0; p < STEP_PARTS; p++) {
		row->sum_ns[p] += ns[p];
		row->max_ns[p] = ns[p] > row->max_ns[p] ? ns[p] : row->max_ns[p];
	}
	if (step / s->steps_per_row >= s->rows)
		s->rows = (uint32_t)(step / s->steps_per_row) + 1;
}

static void steps_row_add(struct steps_row *into, const struct steps_row *from)
{
	into->count += from->count;
	for (int p = 0; p < STEP_PARTS; p++) {
		into->sum_ns[p] += from->sum_ns[p];
		if (from->max_ns[p] > into->max_ns[p])
			into->max_ns[p] = from->max_ns[p];
	}
}

void steps_fold(struct steps *s, uint64_t steps_per_row)
{
	while (s->steps_per_row < steps_per_row) {
		uint32_t rows = (s->rows + 1) / 2;

		for (uint32_t i = 0; i < rows; i++) {
			struct steps_row folded = s->row[2 * i];

			if (2 * i + 1 < s->rows)
				steps_row_add(&folded, &s->row[2 * i + 1]);
			s->row[i] = folded;
		}
		memset(&s->row[rows], 0, (s->rows - rows) * sizeof(s->row[0]));
		s->rows = rows;
		s->steps_per_row *= 2;
	}
}

void steps_copy(struct steps *into, const struct steps *from, uint32_t rows)
{
	into->steps_per_row = from->steps_per_row;
	into->rows = rows;
	memcpy(into->row, from->row, rows * sizeof(into->row[0]));
}
