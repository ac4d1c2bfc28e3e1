/* Data sets of which each rank (or each node's first one) writes its own part: rows of ranks, of epochs and ranks, of
 * histograms by rank or node, of the client's side.
 *
 * Rank 0 makes them with everything else of a phase, through HDF5's ordinary driver. Then all ranks open the file in
 * parallel and write nothing but these rows, one collective write each. So no rank but 0 ever changes the file's
 * metadata, and a rank that fails (a full disk) cannot leave the others waiting inside HDF5. */
#ifndef HAUL_RESULTS_SCHEMA_BLOCKS_H
#define HAUL_RESULTS_SCHEMA_BLOCKS_H

#include <hdf5.h>
#include <stdbool.h>

#include "results-schema/merge.h"
#include "results-schema/rows.h"

/* Who writes what of the rows by rank. */
struct phase_writer {
	uint32_t rank, ranks, node, nodes;
	bool first;         /* rank 0: writes what is not by rank */
	bool by_node;       /* histograms have a row a node, written by its first rank */
	uint32_t rows, row; /* of by_rank or by_node, and this rank's; row == rows: none */
};

enum { BLOCK_PATH_BYTES = 160 };

struct block {
	char path[BLOCK_PATH_BYTES]; /* below the phase's group */
	hid_t type;
	int rank; /* dimensions: 1 or 2 */
	hsize_t dims[2], start[2], count[2];
	struct row_shape shape; /* of rows of measures, for units and roles; columns NULL: none */
	const char *units;      /* else the unit, or NULL */
	void *data;             /* this rank's part; a count of 0: it has none */
};

struct blocks {
	uint32_t count, capacity;
	struct block *list;
};

/* This rank's parts, in the same order on all ranks. A rank without memory for them fails alone: agree. */
int blocks_make(struct blocks *b, const struct merged *m, const struct phase_writer *w,
		struct err *err);
void blocks_free(struct blocks *b);

/* Rank 0: makes the data sets, in a file opened by it alone. The groups on their paths are there. */
int blocks_create(const struct blocks *b, hid_t phase, struct err *err);

/* Collective: writes the rows below path ("/phases/0_train"), of a file opened by all. The same on every rank. */
int blocks_write(const struct blocks *b, hid_t file, const char *path, struct group *group,
		 struct err *err);

#endif
