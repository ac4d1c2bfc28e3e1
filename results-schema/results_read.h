/* Reading results.h5: the whole file but for the rows of histograms by rank, as plain tables.
 *
 * Needs no MPI: the file is opened through HDF5's ordinary driver, and the MPI library need not be
 * initialised. One thread at a time (HDF5 is not thread-safe here). */
#ifndef HAUL_RESULTS_SCHEMA_RESULTS_READ_H
#define HAUL_RESULTS_SCHEMA_RESULTS_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/measure/endpoints.h"
#include "core/measure/hist.h"
#include "core/measure/store_facts.h"
#include "core/measure/tally.h"

enum { RESULTS_NAME_BYTES = 64, RESULTS_UNIT_BYTES = 24, RESULTS_SET_BYTES = 256 };

struct results_column {
	char name[RESULTS_NAME_BYTES];
	char unit[RESULTS_UNIT_BYTES];
	bool real; /* a figure (double), else a measure (uint64_t) */
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
	struct hist hist; /* merged over the ranks */
};

struct results_links { /* bytes a second one way; 0: not told */
	uint64_t nic_bytes_per_s, rdma_bytes_per_s;
};

struct results_phase_read {
	uint32_t number;
	char kind[RESULTS_NAME_BYTES], name[RESULTS_NAME_BYTES], status[RESULTS_NAME_BYTES];
	char store[RESULTS_NAME_BYTES]; /* "" where the file is too old to say */
	char *message, *error;          /* "" where there is none */
	uint64_t run, combination,
		repeat; /* in a series of runs, each from 1; 1 where there is none */
	bool warmup;    /* its figures are left out of statistics */
	char *sweep;    /* what the sweeps set, in one line; "" where there is none */
	uint32_t set_count;
	char (*sets)[RESULTS_SET_BYTES]; /* the same, one each: "train.batch=4" */
	double seconds, null_au, target_au;
	char main_hist
		[RESULTS_NAME_BYTES]; /* whose percentiles stand in /summary; "" when all are empty */
	struct results_table
		merged; /* one row: the measures merged, and the figures made of them */
	struct results_table ranks;
	struct results_table epochs; /* rows 0 where a phase has none */
	/* A row a node and interval, by node, then by time (core/client/client.h); rows 0 where nothing is known. */
	struct results_table client;
	double client_interval_s;
	/* Of the timeline: how many ranks on average waited for storage; rows 0 where there is none. */
	uint64_t stalled_rows;
	double stalled_interval_s;
	double *ranks_stalled;
	uint32_t hist_count;
	struct results_hist *hists; /* those that are not empty */
	/* A row an endpoint; rows 0 where no store has any. */
	struct results_table endpoints;
	char (*endpoint_names)[TALLY_ENDPOINT_NAME_BYTES]; /* [endpoints.row_count] */
	uint64_t status_count;
	uint64_t (*statuses)[3]; /* endpoint, status, requests. [status_count] */
	uint64_t failure_count;  /* all that were met */
	uint32_t failure_rows;   /* those kept */
	struct failure *failures;
};

struct results_file {
	char *path;
	uint64_t file_bytes;
	uint32_t schema_version;
	char version[RESULTS_NAME_BYTES], name[RESULTS_NAME_BYTES], status[RESULTS_NAME_BYTES];
	char started[RESULTS_NAME_BYTES],
		finished[RESULTS_NAME_BYTES]; /* UTC, ISO 8601; finished may be "" */
	char *build, *command_line, *error, *job_text;
	double seconds;
	uint64_t ranks, nodes, runs;       /* runs: that the series was to have */
	char (*hosts)[RESULTS_NAME_BYTES]; /* [nodes] */
	uint64_t store_count;
	struct store_facts *stores;  /* 0 rows in files from before they were noted */
	struct results_links *links; /* [nodes] */
	uint32_t phase_count;
	struct results_phase_read *phases; /* in the order of their numbers */
};

/* -ENOENT, -EACCES …, or -EINVAL for a file that is no results file ("x.h5: is no results file of
 * haul: …"). */
int results_load(struct results_file **out, const char *path, struct err *err);
void results_unload(struct results_file *file);

/* The column's number, or -1. */
int results_column(const struct results_table *table, const char *name);

/* A cell as a number, NaN where the row or the column is absent. */
double results_value(const struct results_table *table, uint64_t row, const char *name);

/* The histogram of that name, or NULL when it is absent or empty. */
const struct hist *results_find_hist(const struct results_phase_read *phase, const char *name);

#endif
