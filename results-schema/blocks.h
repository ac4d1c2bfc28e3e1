/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks: data sets of which each rank (or the first rank of each node) has its own part: rows of
 * ranks, of epochs and ranks, of histograms by rank or node, of client-side measurements.
 *
 * Rank 0 creates them with everything else of a phase, through HDF5's ordinary driver. Up to a
 * bound, it has gathered the parts of all ranks before, by one message from each, and writes them,
 * too: no other rank opens the file. Beyond that, all ranks then open the file in parallel and
 * write their parts, with one collective write per data set. Either way only rank 0 changes the
 * file's metadata, and a rank that fails (a full disk) cannot leave the others waiting inside
 * HDF5. */
#ifndef HAUL_RESULTS_SCHEMA_BLOCKS_H
#define HAUL_RESULTS_SCHEMA_BLOCKS_H

#include <hdf5.h>
#include <stdbool.h>

#include "results-schema/merge.h"
#include "results-schema/rows.h"

/* Which of the rows by rank this rank writes. */
struct phase_writer {
	uint32_t rank, ranks, node, nodes;
	bool first;                 /* rank 0: also writes what is not by rank */
	bool by_node;               /* histograms have a row per node, written by its first rank */
	const uint32_t *rank_nodes; /* of a simulation: [ranks] */
	uint32_t rows, row;         /* of by_rank or by_node, and this rank's; row == rows: none */
};

/* Keys of rows of ranks, and of what nodes did. */
enum { PHASE_RANK_KEYS = 3, CLIENT_KEYS = 2 };
extern const char *const phase_rank_keys[PHASE_RANK_KEYS], *const client_keys[CLIENT_KEYS];

/* What holds where the caller sets nothing else: up to so many ranks histograms have a row per rank,
 * and up to so many nodes each has rows of what it did. PHASES_IN_ONE: each publication copies the
 * phases before it, which costs more than a side file from about this number on. */
enum { RANK_ROWS_MAX = 1024, CLIENT_NODES_MAX = 1000, PHASES_IN_ONE = 16 };

/* BLOCKS_GATHER_BYTES: the bound where the caller sets none. */
enum { BLOCK_PATH_BYTES = 160, BLOCKS_GATHER_BYTES = 32 << 20 };

enum block_element {
	ELEMENT_ROW,
	ELEMENT_COUNT,
	ELEMENT_NUMBER
}; /* a row of the shape; 32 bits; a double */

struct block {
	char path[BLOCK_PATH_BYTES]; /* below the phase's group */
	enum block_element element;
	int rank; /* dimensions: 1 or 2 */
	hsize_t dims[2], start[2];
	hsize_t part[2];        /* of a rank that has one, the same on all ranks */
	bool every;             /* every rank has one; else the first of each node */
	bool has_part;          /* this rank has one */
	struct row_shape shape; /* of rows of measures, for units and roles; columns NULL: none */
	const char *units;      /* otherwise the unit, or NULL */
	void *data;             /* this rank's part */
	void *whole;            /* on rank 0, once gathered */
};

struct blocks {
	uint32_t count, capacity;
	bool gathered; /* rank 0 has all of it */
	struct block *list;
};

/* Makes this rank's parts, in the same order on all ranks. A rank without memory for them fails
 * alone, so the caller must agree on the result. */
int blocks_make(struct blocks *b, const struct merged *m, const struct phase_writer *w,
		struct err *err);
void blocks_free(struct blocks *b);

/* Brings the parts of all ranks to rank 0, if they have at most bytes_max together: then gathered
 * is set on all ranks. Collective. Returns the same on every rank. */
int blocks_gather(struct blocks *b, uint64_t bytes_max, struct group *group, struct err *err);

/* Rank 0: creates the data sets in the group of the phase, in a file that only it has opened, and
 * writes them if they are gathered. The groups on their paths must exist. */
void blocks_create(const struct blocks *b, struct h5_writer *w);

/* The rows of all ranks together; the same on every rank. */
uint64_t blocks_bytes(const struct blocks *b);

/* Writes the rows below path ("/phases/0_train"), in a file that all ranks have opened. Each data
 * set is a step of the watch. Collective. Returns the same on every rank. */
int blocks_write(const struct blocks *b, hid_t file, const char *path, struct group *group,
		 const struct results_watch *watch, struct err *err);

#endif
