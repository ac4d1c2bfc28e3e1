/* SPDX-License-Identifier: Apache-2.0 */
/* Tally: what one rank counted in one phase. It holds a row of measures, histograms, tables, a
 * timeline, single steps and the first failures, all declared by the workload in a schema
 * (measure.h, table.h). Columns in results.h5, keys in JSON, labels in the report and the reduction
 * over ranks come from that schema. */
#ifndef HAUL_CORE_MEASURE_TALLY_H
#define HAUL_CORE_MEASURE_TALLY_H

#include <stdint.h>

#include "core/err.h"
#include "core/measure/hist.h"
#include "core/measure/measure.h"
#include "core/measure/steps.h"
#include "core/measure/table.h"
#include "core/measure/timeline.h"
#include "core/numbers.h"

/* The rank columns of every workload begin with these measures, so that a summary can be made of
 * any phase. TALLY_COMMON_FIGURES are computed from them and are among the figures of every
 * workload. The workload counts them, except processor time and the operation log's rows, which
 * whoever runs the phase fills in. */
/* clang-format off */
#define TALLY_COMMON_LIST(X) \
	X(TALLY_WALL_NS, "wall_ns", "ns", MAX, "time this rank spent in the phase") \
	X(TALLY_BYTES_READ, "bytes_read", "bytes", SUM, "bytes received from the store") \
	X(TALLY_BYTES_WRITTEN, "bytes_written", "bytes", SUM, "bytes the store accepted") \
	X(TALLY_OPERATIONS, "operations", "", SUM, \
	  "what the phase was asked for: blocks, objects or listings, rows of a trace, entries of a cache, else reads, writes, stats and deletes; not the opens and closes for them") \
	X(TALLY_STORE_REQUESTS, "store_requests", "", SUM, \
	  "requests to the store that completed, of every kind: opens and closes, too") \
	X(TALLY_ERRORS, "errors", "", SUM, "requests that failed for good") \
	X(TALLY_RETRIES, "retries", "", SUM, "attempts beyond the first") \
	X(TALLY_CPU_USER_NS, "cpu_user_ns", "ns", SUM, \
	  "processor time of the ranks' processes, user") \
	X(TALLY_CPU_SYSTEM_NS, "cpu_system_ns", "ns", SUM, \
	  "processor time of the ranks' processes, system") \
	X(TALLY_OP_LOG_DROPPED, "op_log_dropped", "", SUM, \
	  "requests without a row in the operation log")
#define TALLY_COMMON_FIGURES \
	FIGURE_PER("cpu_s_per_GB", "s/GB", 1, OF_SUM(TALLY_CPU_USER_NS, TALLY_CPU_SYSTEM_NS), \
		   OF_SUM(TALLY_BYTES_READ, TALLY_BYTES_WRITTEN), \
		   "processor seconds of the ranks' processes for 10^9 bytes read or written", \
		   .role = ROLE_CPU_PER_BYTE)
/* clang-format on */

enum tally_common { TALLY_COMMON_LIST(MEASURE_ENUM) TALLY_COMMON };

/* Columns of the common measures, for readers that look up rows by name. */
extern const struct columns tally_common_columns;

enum { TALLY_FAILURES = 16, FAILURE_OBJECT_BYTES = 256, FAILURE_TEXT_BYTES = 128 };

/* One failed request. A fixed record, gathered by rank 0. */
struct failure {
	uint64_t time_ns; /* since the phase's start */
	uint64_t offset, length;
	uint32_t rank, node;
	int32_t error; /* negative errno */
	uint32_t protocol_status;
	uint32_t attempts;
	uint32_t epoch, step; /* 0 where the phase has none */
	char operation[16];
	char object[FAILURE_OBJECT_BYTES];
	/* meaning of the error: "payload differs at byte 4096", strerror … */
	char text[FAILURE_TEXT_BYTES];
};

enum { TALLY_MAIN_FIGURES = 3, TALLY_TABLES_MAX = 8 };
struct tally_schema {
	struct columns rank; /* a row per rank */
	const struct hist_kind *hists;
	uint32_t hist_count;
	/* What a phase of this kind is judged and compared by. Of the figures, by name: the first
	 * one that is known and not 0; NULL where there are fewer. Of the histograms: this one
	 * (or the tally's own) or, where it is empty, the next one that is not. */
	const char *main_figures[TALLY_MAIN_FIGURES];
	uint32_t main_hist;
	const char *tuned_by; /* the target by which settings are judged; NULL: the main figure */
	const struct table_kind *const *tables;
	uint32_t table_count; /* up to TALLY_TABLES_MAX */
	bool steps;           /* whether tally.steps is kept */
};

/* The measures of a rank's row, of a list like CHEW_LIST (measure.h): CHEW_MEASURES is how many.
 *
 *	enum chew_measure { TALLY_ENUM(CHEW, CHEW_LIST(MEASURE_ENUM)) };
 *	static const struct measure chew_measures[] = TALLY_ROWS(CHEW_LIST(MEASURE_ROW)); */
#define TALLY_ENUM(prefix, ...) prefix##_BEFORE = TALLY_COMMON - 1, __VA_ARGS__ prefix##_MEASURES

#define TALLY_ROWS(...) \
	{ \
		TALLY_COMMON_LIST(MEASURE_ROW) __VA_ARGS__ \
	}

/* Members of a schema, of its tables: TALLY_SCHEMA(measures, figures, hists, tables). */
#define TALLY_SCHEMA(of_measures, of_figures, of_hists, of_tables) \
	.rank = {(of_measures), COUNT(of_measures), (of_figures), COUNT(of_figures)}, \
	.hists = (of_hists), .hist_count = COUNT(of_hists), .tables = (of_tables), \
	.table_count = COUNT(of_tables)

/* One rank's results of one phase. Owned by the rank's main thread. */
struct tally {
	const struct tally_schema *schema;
	uint32_t main_hist;   /* the schema's, or that of this phase, the same on every rank */
	uint64_t *rank_row;   /* [schema->rank.measure_count] */
	struct hist *hists;   /* [schema->hist_count] */
	struct table *tables; /* [schema->table_count] */
	struct timeline *timeline;
	struct steps *steps; /* NULL where the schema asks for none */
	struct failure failures[TALLY_FAILURES];
	uint32_t failure_count; /* may exceed TALLY_FAILURES: only the first are kept */
	bool absent;            /* the rank takes no part in the phase: its row wins no minimum */
	/* UTC, for a phase within a phase: when it took place; 0: it took as long as the outer
	 * phase. Counted by rank 0. */
	uint64_t started_ns, finished_ns;
};

/* The schema must outlive the tally. rows_max: of each table; 0, and where rows_max is NULL: that
 * of the table's kind. */
int tally_init(struct tally *t, const struct tally_schema *schema, const uint32_t *rows_max,
	       struct err *err);
/* With the same schema, and room for the same rows, as another one. */
int tally_init_like(struct tally *t, const struct tally *other, struct err *err);
void tally_free(struct tally *t);

/* Empties t, whose timeline then counts from start_ns. Memory stays. */
void tally_clear(struct tally *t, uint64_t start_ns);

/* Adds a tally of the same schema: measures as they are merged over ranks, rows of tables by their
 * keys. Steps are copied, since only one of the two may have them. Does not change from. */
void tally_add(struct tally *into, const struct tally *from);

/* The main figure of a row of the schema's rank columns; NULL: none is known. */
const struct figure *tally_main_figure(const struct tally_schema *schema, const uint64_t *row);

/* The tally's table of that kind; NULL: the schema has none. */
struct table *tally_table(const struct tally *t, const struct table_kind *kind);

/* Keeps the failure if there is room, and counts it in any case. */
void tally_fail(struct tally *t, const struct failure *f);

#endif
