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

/* Roles: what a column or a histogram means, whatever its workload calls it. A role is declared
 * beside its column in the workload's table and stored as an attribute in results.h5, so that a
 * report can ask for "the byte rate" of any phase without knowing a column's name.
 *
 * Within one row of measures and figures each role occurs at most once, except the roles of
 * accounts. */

/* clang-format off */
#define ROLE_LIST(X) \
	X(NONE, "") \
	/* Shares of the time in which an accelerator computes, 0 to 1. */ \
	X(UTILISATION, "utilisation") \
	X(UTILISATION_WITHOUT_SKEW, "utilisation_without_skew") \
	X(UTILISATION_MLPERF, "utilisation_mlperf") \
	X(UTILISATION_NULL, "utilisation_null") /* of the same loop without storage */ \
	/* Rates over the phase: until its last thread had done its part, or its first one. */ \
	X(BYTE_RATE, "byte_rate") \
	X(BYTE_RATE_FIRST, "byte_rate_first_done") \
	X(BYTE_RATE_SLOWEST, "byte_rate_slowest_rank") /* of its own part */ \
	X(BYTE_RATE_NULL, "byte_rate_null") /* of the same loop without storage */ \
	X(OPERATION_RATE, "operation_rate") \
	X(OPERATION_RATE_FIRST, "operation_rate_first_done") \
	X(ITEM_RATE, "item_rate") /* samples, blocks of a cache, requests served */ \
	X(ITEMS, "items") \
	X(ITEMS_DROPPED, "items_dropped") /* of each epoch, that fill no step */ \
	X(ITEMS_LEFT, "items_left") /* begun or due, and not finished when the phase ended */ \
	/* Of a cache. */ \
	X(USERS_CARRIED, "users_carried") \
	X(HIT_RATE, "hit_rate") \
	X(HIT_RATE_PROMPT, "hit_rate_prompt") \
	X(HIT_RATE_TURN, "hit_rate_turn") \
	X(HIT_RATE_DECODE, "hit_rate_decode") \
	X(CUT, "cut") \
	X(CUT_TOKENS, "cut_tokens") \
	X(READ_RATE, "read_rate") \
	X(WRITE_RATE, "write_rate") \
	X(READ_RATE_MLPERF, "read_rate_mlperf") /* of each checkpoint, on average */ \
	X(WRITE_RATE_MLPERF, "write_rate_mlperf") \
	X(ENTRY_READ_RATE, "entry_read_rate") /* without entries that move between tiers */ \
	X(ENTRY_WRITE_RATE, "entry_write_rate") \
	X(TOKEN_RATE, "token_rate") \
	X(WAITED_TOKEN_RATE, "waited_token_rate") /* over the time that requests waited for the cache */ \
	X(READ_P95, "read_p95_slowest_rank") /* entries, of the rank where it was the longest */ \
	X(WRITE_P95, "write_p95_slowest_rank") \
	X(READ_DEVICE_P95, "read_device_p95_slowest_rank") /* of them, the part that is the store's */ \
	X(WRITE_DEVICE_P95, "write_device_p95_slowest_rank") \
	X(MEMORY_P95, "memory_p95_slowest_rank") \
	X(CPU_PER_BYTE, "cpu_per_byte") /* processor seconds for 10^9 bytes */ \
	X(MEMORY, "memory") /* of the rank that had most for bytes that are read or written */ \
	X(CACHED, "cached_share") /* of the bytes looked at: what the page cache had */ \
	X(STARVED, "starved") /* threads that were ready without a core, on average */ \
	/* Where the time of a rank went: see account.h. */ \
	X(ACCOUNT_COMPUTE, "account_compute") \
	X(ACCOUNT_STORAGE, "account_storage") \
	X(ACCOUNT_OTHER, "account") \
	X(MEASURED_TIME, "measured_time") /* the part of it that utilisation counts, added over ranks */ \
	X(ALL_TIME, "all_time") /* all of it, added over ranks */ \
	X(RANK_DONE, "rank_done") /* when a rank had done its part */ \
	X(EVALUATION, "evaluation") /* 1 in rows that stand apart from the others of their table */ \
	/* Histograms. */ \
	X(READ_LATENCY, "read_latency") \
	X(WRITE_LATENCY, "write_latency") \
	X(REQUEST_LATENCY, "request_latency") /* of what users ask for */ \
	X(READ_DEVICE_LATENCY, "read_device_latency") /* of entries of a cache, the part that is the store's */ \
	X(WRITE_DEVICE_LATENCY, "write_device_latency")
/* clang-format on */

enum role {
#define ROLE_ENUM(id, name) ROLE_##id,
	ROLE_LIST(ROLE_ENUM)
#undef ROLE_ENUM
		ROLES
};

/* Of a kind of phase: the part of an AI workload that its phases stand for. Its workload declares it;
 * in results the roles of its columns tell it. */
enum purpose {
	PURPOSE_OTHER,
	PURPOSE_DATA, /* makes what others read */
	PURPOSE_TRAINING,
	PURPOSE_CHECKPOINTS,
	PURPOSE_CACHE, /* of keys and values */
	PURPOSE_SEARCH /* among vectors */
};

/* "byte_rate"; "" for ROLE_NONE. */
const char *role_name(enum role role);

/* ROLE_NONE for a name that is not known here: files of a newer haul may hold such names. */
enum role role_of(const char *name);

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

/* Which phases record something in a histogram, for who plans what results will hold: all of them,
 * those that commit to a store which keeps data, and hardly any. */
enum hist_use { HIST_USUAL, HIST_OF_COMMITS, HIST_RARE };

#define HIST_BIT(hist) (UINT64_C(1) << (hist))

struct hist_kind {
	const char *name; /* "read", "open", "read_response", "sample", "step_stall" … */
	const char *help;
	enum role role;
	bool coarse; /* in a row of a table: struct coarse_hist, else struct hist */
	enum hist_use use;
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
