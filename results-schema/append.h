/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel part of a publication: all ranks append their rows through MPI-IO to the file that rank
 * 0 has prepared. */
#ifndef HAUL_RESULTS_SCHEMA_APPEND_H
#define HAUL_RESULTS_SCHEMA_APPEND_H

#include "results-schema/blocks.h"
#include "results-schema/results_state.h"

/* The number of nodes that write rows of this size for all others, and of stripes of a file of this
 * size. */
uint32_t append_writers(uint32_t nodes, uint64_t bytes);

/* Rank 0: creates the empty file part through MPI-IO, so that a parallel file system lays it out
 * for these bytes and their writers: what creates a file decides its striping. Where that fails,
 * whatever creates the file later has the sentence for it. */
void append_create(const struct results *r, const char *part, uint64_t bytes);

/* Writes the rows below the group `at` of part. Collective. Returns the same on every rank. */
int append_rows(struct results *r, const char *part, const char *at, const struct blocks *blocks,
		struct err *err);

#endif
