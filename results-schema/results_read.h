/* SPDX-License-Identifier: Apache-2.0 */
/* Reading results.h5: the whole file as plain tables; of the rows of histograms by rank only the
 * 99th percentiles of one, of the rows of each rank in each epoch only how they differ.
 *
 * A file may contain anything: every number of rows is checked against a bound before memory is
 * allocated for them. Does not need MPI: the file is opened through HDF5's ordinary driver, and the
 * MPI library need not be initialised. One thread at a time (HDF5 is not thread-safe here). */
#ifndef HAUL_RESULTS_SCHEMA_RESULTS_READ_H
#define HAUL_RESULTS_SCHEMA_RESULTS_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/answer.h"
#include "core/err.h"
#include "core/measure/quantile.h"
#include "core/measure/store_facts.h"
#include "core/measure/tally.h"
#include "core/target.h"
#include "results-schema/record.h"

enum { RESULTS_NAME_BYTES = 64, RESULTS_UNIT_BYTES = 24, RESULTS_MEMBER_BYTES = 128 };

/* A file with more than that is not a results file of haul. */
enum {
	RESULTS_NODES_MAX = 1 << 20,
	RESULTS_RANKS_MAX = 1 << 24,
	RESULTS_STORES_MAX = 1 << 16,
	RESULTS_PHASES_MAX = 1 << 16,
	RESULTS_HISTS_MAX = 1024,
	RESULTS_TABLES_MAX = 64,
	RESULTS_ROWS_MAX = TABLE_ROWS_MAX, /* of any table of a phase */
	RESULTS_BYTES_MAX = 1 << 29,       /* of any data set */
	RESULTS_ROOM_BYTES = 256 << 20     /* of the details of phases that stay in memory */
};

struct results_column {
	char name[RESULTS_NAME_BYTES];
	char unit[RESULTS_UNIT_BYTES];
	enum role role;
	bool real; /* a figure (double), else a measure (uint64_t) */
	/* Of a time: the column that is 0 in rows where nothing was done that could take it; "":
	 * none is named. */
	char counted_by[RESULTS_NAME_BYTES];
};

union results_cell {
	uint64_t count;
	double real;
};

struct results_table {
	uint32_t column_count;
	uint64_t row_count;
	struct results_column *columns;
	union results_cell *cells; /* [row_count][column_count] */
};

struct results_hist {
	char name[RESULTS_NAME_BYTES];
	enum role role;
	struct hist hist; /* merged over the ranks */
};

/* One histogram for each row of a table, all with the same buckets: bucket i holds values from
 * edges_ns[i] on. */
struct results_row_hists {
	char name[RESULTS_NAME_BYTES];
	uint32_t bucket_count;
	uint64_t *edges_ns; /* [bucket_count + 1] */
	uint64_t *counts;   /* [rows][bucket_count] */
};

/* How the ranks differed in a row of a table: the least and the greatest utilisation of one of
 * them, and which rank had the least. NaN: no rank has one. */
struct results_spread {
	double least, most, least_rank;
};

/* A table of a phase (core/measure/table.h) of any name. */
struct results_rows {
	char name[RESULTS_NAME_BYTES];
	struct results_table table;
	char (*names)[TABLE_TEXT_BYTES]; /* [table.row_count] of a table by texts; else NULL */
	/* Counts by code: row, code, count; NULL: the table has none. */
	char codes_name[RESULTS_NAME_BYTES];
	uint64_t code_count;
	uint64_t (*codes)[3];
	uint32_t hist_count;
	struct results_row_hists *hists;
	uint64_t left_out;             /* rows for which there was no room */
	struct results_spread *spread; /* [table.row_count]; NULL: the file does not tell */
};

/* Rows of single steps, each of steps_per_row steps. */
struct results_steps {
	uint64_t steps_per_row, rows;
	double *step; /* the first of each row, from 1 */
	double *mean_ns[STEP_PARTS],
		*max_ns[STEP_PARTS]; /* over ranks and the steps of the row; NaN: there are none */
};

/* What all ranks did over time: a row per interval. Column SECOND_STALLED_NS has the number of
 * ranks that waited for storage, on average. A column that the file does not have is NULL. */
struct results_timeline {
	uint64_t rows;
	double interval_s;
	double last_s; /* how long the last row's interval was; 0: as long as the others */
	double *column[SECOND_WORDS];
};

/* Latencies of single ranks, or of single nodes where a file has rows of nodes only (of more than
 * 1,024 ranks): those of the histogram with the role read_latency, else of the main one. */
struct results_latency_row {
	uint64_t count;
	double p99_ns;
	/* What the 99th percentile is at least, since count is only a sample: 3 standard errors
	 * below it. */
	double p99_least_ns;
};
struct results_latencies {
	char name[RESULTS_NAME_BYTES]; /* of the histogram */
	bool by_node;
	uint64_t rows; /* by the number of the rank or node; 0: the file has none */
	struct results_latency_row *row;
};

struct phase_cache;

struct results_machine { /* 0, "": not told */
	uint64_t cores, memory_bytes;
	char cpu[RESULTS_MEMBER_BYTES];
};

struct results_links { /* bytes a second one way; 0: not told */
	uint64_t nic_bytes_per_s, rdma_bytes_per_s;
};

struct results_phase_read {
	struct phase_record record;
	uint32_t set_count; /* what the sweeps set: "train.batch=4" */
	char (*sets)[RECORD_SET_BYTES];
	/* One row: the merged measures, and the figures computed from them. */
	struct results_table merged;
	uint32_t target_count;
	struct target_result *targets;
	bool gone; /* its side file is missing: it has only what /summary says (read_summary.c) */
	double gone_ns[QUANTILES];         /* then: of its main latencies; NaN: it has none */
	uint64_t side_bytes;               /* size of the side file that holds the phase; 0: none */
	struct phase_cache *cache;         /* where the details come from; NULL: they are here */
	char member[RESULTS_MEMBER_BYTES]; /* the name of the phase in /phases */

	/* The details. Ask results_whole for them: of a large file, not all phases have theirs
	 * here.
	 *
	 * A row per rank that took part; of the columns those that have a role, "rank", "node" and
	 * "operations". */
	struct results_table ranks;
	uint32_t table_count;
	struct results_rows *tables;
	/* One row per node and interval, by node, then by time (core/client/client.h). No rows
	 * where nothing is known. */
	struct results_table client;
	double client_interval_s;
	struct results_timeline timeline;
	struct results_steps steps;
	uint32_t hist_count;
	struct results_hist *hists; /* those that are not empty */
	struct results_latencies latencies;
	uint64_t failure_count; /* all failures that occurred */
	uint32_t failure_rows;  /* failures in the file */
	struct failure *failures;
};

struct results_file {
	char *path;
	uint64_t file_bytes; /* with all side files */
	uint32_t schema_version;
	char version[RESULTS_NAME_BYTES], name[RESULTS_NAME_BYTES], status[RESULTS_NAME_BYTES];
	char started[RESULTS_NAME_BYTES],
		finished[RESULTS_NAME_BYTES]; /* UTC, ISO 8601; finished may be "" */
	char *build, *command_line, *error, *job_text;
	char *simulated; /* what the storage was taken to be; NULL: the phases ran */
	double seconds;
	struct own_times own; /* all NaN in files that were written before they were measured */
	uint64_t ranks, nodes, runs; /* runs: the number that the series should have */
	/* How often an interrupted series was gone on with, and the runs that were kept at last. */
	uint64_t resumed, resumed_after;
	char (*hosts)[RESULTS_NAME_BYTES]; /* [nodes] */
	uint64_t store_count;
	/* no rows in files that were written before stores were recorded */
	struct store_facts *stores;
	struct results_links *links;      /* [nodes] */
	struct results_machine *machines; /* [nodes] */
	double node_memory_bytes;         /* of a node, on average; 0: not told */
	struct answered answer;           /* to the run's question; none: it was not asked */
	uint32_t phase_count;
	struct results_phase_read *phases; /* in the order of their numbers */
	struct phase_cache *cache;
};

/* Whether a phase of that status has come to its end: by itself, or where it was to end. What was simulated has its
 * own word, so that nobody takes it for a measurement. */
#define RESULTS_SIMULATED "simulated"
static inline bool results_ended_well(const char *status)
{
	return strcmp(status, "done") == 0 || strcmp(status, "limit") == 0 ||
	       strcmp(status, "ended") == 0 || strcmp(status, RESULTS_SIMULATED) == 0;
}

/* -ENOENT, -EACCES …, or -EINVAL for a file that is not a results file ("x.h5: is not a results
 * file of haul: …"). */
int results_load(struct results_file **out, const char *path, struct err *err);
/* The same, with another bound than RESULTS_ROOM_BYTES. */
int results_load_within(struct results_file **out, const char *path, uint64_t room_bytes,
			struct err *err);
/* The same, but no details are read before somebody asks for those of a phase. */
int results_open(struct results_file **out, const char *path, struct err *err);
void results_unload(struct results_file *file);

/* The phase with its details: p itself where they are in memory, else a copy that has nothing but
 * them and the record, and is valid until those of another phase of the file are asked for. Where
 * the file cannot be read any more, there are none. */
const struct results_phase_read *results_whole(const struct results_phase_read *p);
/* The time that rates and the timeline are of: what comes after the warm-up, until the last thread
 * had done its part. */
double results_measured_s(const struct results_phase_read *p);
/* The rows of its ranks. */
const struct results_table *results_ranks(const struct results_phase_read *p);

/* The column's number, or -1. */
int results_column(const struct results_table *table, const char *name);
int results_role(const struct results_table *table, enum role role);

/* A cell as a number, NaN where the row or the column is absent. */
double results_value(const struct results_table *table, uint64_t row, const char *name);
double results_role_value(const struct results_table *table, uint64_t row, enum role role);
double results_cell(const struct results_table *table, uint64_t row, int column);

/* Whether the cell is a time of something that was not done in the row. A time of 0 that was
 * measured is none. */
bool results_undone(const struct results_table *table, uint64_t row, uint32_t column);

/* The histogram of that name, or of that role, or NULL when it is absent or empty. */
const struct hist *results_find_hist(const struct results_phase_read *phase, const char *name);
const struct results_hist *results_role_hist(const struct results_phase_read *phase,
					     enum role role);

/* The table of that name, or NULL. */
const struct results_rows *results_find_table(const struct results_phase_read *phase,
					      const char *name);

/* For row i of a table: the number of values, and the value below which the share q of them lies
 * (the middle of its bucket; 0 when there are none). */
uint64_t results_row_count(const struct results_row_hists *h, uint64_t row);
double results_row_quantile(const struct results_row_hists *h, uint64_t row, double q);

#endif
