/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline: what a rank did in each second of a phase. Rows are merged over ranks by adding.
 * Whenever the phase outgrows the rows, the interval is doubled and rows are folded in pairs.
 * Belongs to one thread. */
#ifndef HAUL_CORE_MEASURE_TIMELINE_H
#define HAUL_CORE_MEASURE_TIMELINE_H

#include <stdint.h>

/* X(enum, name in results.h5 and JSON, unit). The time in which ranks waited for storage is kept in
 * ns; divided by the interval, it is the number of ranks that waited, on average. */
/* clang-format off */
#define SECOND_LIST(X) \
	X(BYTES_READ, "bytes_read", "bytes") \
	X(BYTES_WRITTEN, "bytes_written", "bytes") \
	X(OPERATIONS, "operations", "") \
	X(STALLED_NS, "ranks_stalled", "")
/* clang-format on */

enum tally_second {
#define SECOND_ENUM(id, name, unit) SECOND_##id,
	SECOND_LIST(SECOND_ENUM)
#undef SECOND_ENUM
		SECOND_WORDS
};
extern const struct second_kind {
	const char *name, *unit;
} second_kinds[SECOND_WORDS];

enum { TIMELINE_ROWS = 1024 };

struct timeline {
	uint64_t start_ns;
	uint64_t interval_ns; /* 1 s, or that doubled several times */
	uint32_t rows;        /* in use */
	uint32_t near_row;    /* the row that was last found: most requests end in it, too */
	uint64_t near_ns;     /* where it begins */
	uint64_t row[TIMELINE_ROWS][SECOND_WORDS];
};

void timeline_init(struct timeline *t, uint64_t start_ns);
void timeline_add(struct timeline *t, uint64_t now_ns, enum tally_second what, uint64_t amount);
/* Spreads an amount evenly over the time [begin, end] in which it was moved. What lies before the start is in the first row. */
void timeline_spread(struct timeline *t, uint64_t begin_ns, uint64_t end_ns, enum tally_second what,
		     uint64_t amount);
/* Spreads the interval [from, to) over the rows it touches. */
void timeline_add_span(struct timeline *t, uint64_t from_ns, uint64_t to_ns,
		       enum tally_second what);
void timeline_fold(struct timeline *t, uint64_t interval_ns); /* coarsens to interval_ns */
/* Copies the first rows of `from`, which may be more than those in use, and makes them the rows of
 * `into`. Nothing behind them is touched, so unused rows take no memory. */
void timeline_copy(struct timeline *into, const struct timeline *from, uint32_t rows);
void timeline_merge(struct timeline *into, const struct timeline *from); /* folds as needed */

#endif
