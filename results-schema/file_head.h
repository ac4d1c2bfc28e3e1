/* SPDX-License-Identifier: Apache-2.0 */
/* Head of the results file: everything in it besides the phases. Rank 0 alone writes it through
 * HDF5's ordinary driver, when the file is created and at the end. */
#ifndef HAUL_RESULTS_SCHEMA_FILE_HEAD_H
#define HAUL_RESULTS_SCHEMA_FILE_HEAD_H

#include "results-schema/h5_writer.h"
#include "results-schema/results.h"
#include "results-schema/side_files.h"

/* The only version that readers accept. Version 1 was never released. */
enum { RESULTS_SCHEMA_VERSION = 2, RESULTS_DATE_BYTES = 32 };

/* What a new file has: its head. */
void file_head_fill(struct h5_writer *w, const struct results_head *head, const char *key,
		    const struct node_row *nodes, const struct rank_row *ranks);

/* Creates the file at path: root attributes, /job, /summary (no rows), /nodes, /ranks,
 * /histogram_edges_ns, /phases. key: of the series; "": there are no side files. */
int file_head_create(const char *path, const struct results_head *head, const char *key,
		     const struct node_row *nodes, const struct rank_row *ranks, struct err *err);

/* Creates a side file with /phases and what tells to which results file it belongs. */
int file_head_create_side(const char *part, const char *path, const char *key, struct err *err);

/* Reads the key of the series that a file holds, "" where it is no series of haul or cannot be
 * read. Returns the number of its phases. */
uint64_t file_head_series(const char *path, char key[SERIES_KEY_BYTES]);
/* The same of a series whose side files were joined into the file: a run that was killed just then
 * has left them. */
void file_head_joined(const char *path, char key[SERIES_KEY_BYTES]);

/* What is written at the end of a run. */
struct file_end {
	const char *status, *sentence;
	uint64_t finished_utc_ns;
	double seconds;
	const struct rank_row
		*ranks; /* for /ranks, which has as many rows; NULL: leave them unchanged */
};
void file_head_finish(struct h5_writer *w, const struct file_end *end);

/* Replaces the rows of /stores. */
void file_head_stores(struct h5_writer *w, const struct store_facts *rows, uint32_t count);

/* What the answer to the run's question is so far, and how many runs that took. */
void file_head_answer(struct h5_writer *w, const struct answered *a, uint32_t runs);

/* The time from the start of the run to now. */
void file_head_seconds(struct h5_writer *w, double seconds);

#endif
