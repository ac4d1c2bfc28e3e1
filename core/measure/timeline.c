/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline of a phase: see timeline.h. */
#include "core/measure/timeline.h"

#include <string.h>

#include "core/invariant.h"
#include "core/numbers.h"

#define SECOND_KIND(id, name, unit) [SECOND_##id] = {(name), (unit)},
const struct second_kind second_kinds[SECOND_WORDS] = {SECOND_LIST(SECOND_KIND)};
#undef SECOND_KIND

static const uint64_t second_ns = 1000000000;

static uint64_t row_of(struct timeline *t, uint64_t offset_ns);

void timeline_init(struct timeline *t, uint64_t start_ns)
{
	memset(t, 0, sizeof(*t));
	t->start_ns = start_ns;
	t->interval_ns = second_ns;
}

void timeline_add(struct timeline *t, uint64_t now_ns, enum tally_second what, uint64_t amount)
{
	uint64_t offset = now_ns > t->start_ns ? now_ns - t->start_ns : 0;

	t->row[row_of(t, offset)][what] += amount;
}

void timeline_spread(struct timeline *t, uint64_t begin_ns, uint64_t end_ns, enum tally_second what,
		     uint64_t amount)
{
	uint64_t begin = begin_ns > t->start_ns ? begin_ns - t->start_ns : 0;
	uint64_t end = end_ns > t->start_ns ? end_ns - t->start_ns : 0, given = 0;
	uint64_t last = row_of(t, end);
	/* Most requests begin and end in one row. */
	uint64_t first = begin >= t->near_ns ? last : begin / t->interval_ns;

	for (uint64_t row = first; row < last; row++) {
		uint64_t until = (row + 1) * t->interval_ns - begin;
		/* Some of it lies before the last row, so it took more than no time, which clang-tidy
		 * cannot tell. */
		uint64_t took = max_u64(end - begin, 1);
		uint64_t sum = (uint64_t)((unsigned __int128)amount * until / took);

		t->row[row][what] += sum - given;
		given = sum;
	}
	t->row[last][what] += amount - given;
}

void timeline_add_span(struct timeline *t, uint64_t from_ns, uint64_t to_ns, enum tally_second what)
{
	uint64_t from = from_ns > t->start_ns ? from_ns - t->start_ns : 0;
	uint64_t to = to_ns > t->start_ns ? to_ns - t->start_ns : 0;

	if (from >= to)
		return;
	row_of(t, to - 1);
	while (from < to) {
		uint64_t row = from / t->interval_ns;
		uint64_t part = t->interval_ns - from % t->interval_ns;

		if (part > to - from)
			part = to - from;
		t->row[row][what] += part;
		from += part;
	}
}

/* The row of offset_ns, which is then in use. Doubles the interval until it exists. */
static uint64_t row_of(struct timeline *t, uint64_t offset_ns)
{
	if (offset_ns - t->near_ns >= t->interval_ns) {
		while (offset_ns / t->interval_ns >= TIMELINE_ROWS)
			timeline_fold(t, 2 * t->interval_ns);
		t->near_row = (uint32_t)(offset_ns / t->interval_ns);
		t->near_ns = t->near_row * t->interval_ns;
	}
	INVARIANT_SLOW(t->near_row < TIMELINE_ROWS, "rows are folded until the last one fits");
	if (t->near_row >= t->rows)
		t->rows = t->near_row + 1;
	return t->near_row;
}

void timeline_fold(struct timeline *t, uint64_t interval_ns)
{
	while (t->interval_ns < interval_ns) {
		uint32_t rows = (t->rows + 1) / 2;

		for (uint32_t i = 0; i < rows; i++) {
			for (unsigned w = 0; w < SECOND_WORDS; w++) {
				uint64_t second = 2 * i + 1 < t->rows ? t->row[2 * i + 1][w] : 0;

				t->row[i][w] = t->row[2 * i][w] + second;
			}
		}
		memset(t->row[rows], 0, (t->rows - rows) * sizeof(t->row[0]));
		t->rows = rows;
		t->interval_ns *= 2;
		t->near_row = 0;
		t->near_ns = 0;
	}
}

void timeline_copy(struct timeline *into, const struct timeline *from, uint32_t rows)
{
	into->start_ns = from->start_ns;
	into->interval_ns = from->interval_ns;
	into->rows = rows;
	into->near_row = 0;
	into->near_ns = 0;
	memcpy(into->row, from->row, rows * sizeof(into->row[0]));
}

/* Both count from their own start, so row i is the same time of the phase in both. */
void timeline_merge(struct timeline *into, const struct timeline *from)
{
	timeline_fold(into, from->interval_ns);
	for (uint32_t i = 0; i < from->rows; i++) {
		uint32_t row = (uint32_t)(i * from->interval_ns / into->interval_ns);

		for (unsigned w = 0; w < SECOND_WORDS; w++)
			into->row[row][w] += from->row[i][w];
		if (row >= into->rows)
			into->rows = row + 1;
	}
}
