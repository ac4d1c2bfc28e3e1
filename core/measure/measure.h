/* SPDX-License-Identifier: Apache-2.0 */
/* Measures, figures and kinds of histograms, which a workload declares in tables. Columns in
 * results.h5, keys in JSON, labels in the report and the reduction over ranks all come from these
 * tables, so nothing else has to know a workload.
 *
 * A measure is a uint64_t. A figure is a double computed from a row of measures (also from a merged
 * row), NaN where it is unknown.
 *
 * An X-list makes both the enum and the table of measures, so that they cannot differ:
 *
 *	#define CHEW_LIST(X) \
 *		X(CHEW_BITES, "bites", "", SUM, "bites taken") \
 *		X(CHEW_LONGEST_NS, "longest_ns", "ns", MAX, "the longest of them")
 *	enum chew_measure { TALLY_ENUM(CHEW, CHEW_LIST(MEASURE_ENUM)) }; (tally.h)
 *	static const struct measure chew_measures[] = TALLY_ROWS(CHEW_LIST(MEASURE_ROW));
 *
 * Further members of a row may follow its help: X(CHEW_BITES, "bites", "", SUM, "…", .role =
 * ROLE_ITEMS). */
#ifndef HAUL_CORE_MEASURE_MEASURE_H
#define HAUL_CORE_MEASURE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/group/group.h"
#include "core/measure/role.h"

struct measure {
	/* lower case with underscores, unit at the end where it has one: wall_ns */
	const char *name;
	/* "ns", "bytes", "" for counts, "id" for sums of ids (decimal strings in JSON) */
	const char *unit;
	enum merge merge;
	const char *help;
	enum role role;
	/* Of a time in a row of a table: the measure of the row that counts what took it. Where
	 * that is 0, nothing was done, and the time is none. NULL: a time of 0 is one of 0 ns. */
	const char *counted_by;
};
#define MEASURE_ENUM(id, ...) id,
#define MEASURE_ROW(id, n, u, m, h, ...) \
	{.name = (n), .unit = (u), .merge = MERGE_##m, .help = (h), __VA_ARGS__},

/* A block of measures that is a list of its own (accounts), inside a workload's list. The first one
 * has the name id, and count of them follow each other. */
#define MEASURE_BLOCK_ENUM(id, count, rows) id, id##_LAST = id + (count)-1,
#define MEASURE_BLOCK_ROWS(id, count, rows) rows

/* A figure is a quotient of measures of its row: times * above / below, where above and below are
 * sums of measures. The few that are no quotient have a function.
 *
 * A quotient is unknown (NaN) where the sum below is 0, for example where no time has passed, and
 * where one of the measures in needs is 0. Otherwise it is known: 0 bytes in 10 s are a rate of
 * 0. */
enum { FIGURE_TERMS = 4, FIGURE_NEEDS = 2, FIGURE_FORMULA_BYTES = 256 };
struct figure {
	const char *name;
	const char *unit; /* "fraction", "s", "B/s", … */
	double times;
	/* Measures as OF and the like make them. None above is 1; none below: there is no
	 * division. */
	int16_t above[FIGURE_TERMS], below[FIGURE_TERMS];
	int16_t needs[FIGURE_NEEDS];          /* as {NEED(…), …} */
	double (*value)(const uint64_t *row); /* NULL: a quotient */
	const char *formula;                  /* of value, for people */
	const char *help;
	enum role role;
};

/* Terms are measures + 1, so that 0 is none, and negative where they are subtracted. A difference
 * must not be negative. */
#define NEED(a) ((a) + 1)
#define OF_NONE \
	{ \
		0 \
	}
#define OF(a) \
	{ \
		(a) + 1 \
	}
#define OF_SUM(a, b) \
	{ \
		(a) + 1, (b) + 1 \
	}
#define OF_SUM3(a, b, c) \
	{ \
		(a) + 1, (b) + 1, (c) + 1 \
	}
#define OF_DIFFERENCE(a, b) \
	{ \
		(a) + 1, -(b)-1 \
	}

#define FIGURE_PER(n, u, factor, over, under, h, ...) \
	{.name = (n), \
	 .unit = (u), \
	 .times = (factor), \
	 .above = over, \
	 .below = under, \
	 .help = (h), \
	 __VA_ARGS__},
#define FIGURE_ROW(n, u, function, text, h, ...) \
	{.name = (n), \
	 .unit = (u), \
	 .value = (function), \
	 .formula = (text), \
	 .help = (h), \
	 __VA_ARGS__},

struct columns {
	const struct measure *measures;
	uint32_t measure_count;
	const struct figure *figures;
	uint32_t figure_count;
};

struct hist_kind {
	const char *name; /* "read", "open", "read_response", "sample", "step_stall" … */
	const char *help;
	enum role role;
	bool coarse; /* in a row of a table: struct coarse_hist, else struct hist */
};
#define HIST_ENUM(id, ...)      id,
#define HIST_ROW(id, n, h, ...) {.name = (n), .help = (h), __VA_ARGS__},

/* NaN where it is unknown: nothing divides it, or a rate of bytes of what moves none, such as
 * deletions. */
double figure_value(const struct figure *f, const uint64_t *row);
/* How it is computed, by the names of its measures: "1e9 * bytes_read / wall_ns". */
void figure_formula(const struct columns *columns, const struct figure *f,
		    char text[FIGURE_FORMULA_BYTES]);

/* The figure of that role or name, or NULL. */
const struct figure *columns_figure(const struct columns *columns, enum role role);
const struct figure *columns_figure_named(const struct columns *columns, const char *name);

/* Merges rows column by column as the table says. into may start as a copy of the first row. */
void columns_merge(const struct columns *columns, uint64_t *into, const uint64_t *from);

/* Reduces the row over a group to rank 0, by two reductions (sums; maxima with minima inverted). */
int columns_reduce(const struct columns *columns, struct group *g, uint64_t *row);

#endif
