/* What stands in the results file beside its phases: written by rank 0 alone, through HDF5's ordinary
 * driver, when the file is made and at the end. */
#ifndef HAUL_RESULTS_SCHEMA_FILE_HEAD_H
#define HAUL_RESULTS_SCHEMA_FILE_HEAD_H

#include "results-schema/results.h"

enum { RESULTS_SCHEMA_VERSION = 1, RESULTS_DATE_BYTES = 32 };

/* Makes the file at path: root attributes, /job, /summary (no rows), /nodes, /ranks,
 * /histogram_edges_ns, /phases. */
int file_head_create(const char *path, const struct results_head *head,
		     const struct node_row *nodes, const struct rank_row *ranks, struct err *err);

/* The end of a run, into the file at path. ranks: rows for /ranks, NULL: as they are. */
int file_head_finish(const char *path, const char *status, const char *sentence,
		     uint64_t started_utc_ns, uint64_t finished_utc_ns,
		     const struct rank_row *ranks, uint32_t rank_count, struct err *err);

/* Rows of /stores, in the place of those that stand. */
int file_head_stores(const char *path, const struct store_facts *rows, uint32_t count,
		     struct err *err);

#endif
