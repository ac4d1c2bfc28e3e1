/* One phase written into an open results file. */
#ifndef HAUL_RESULTS_SCHEMA_PHASE_H
#define HAUL_RESULTS_SCHEMA_PHASE_H

#include <hdf5.h>
#include <stdbool.h>

#include "results-schema/merge.h"

/* Who writes what of the rows by rank. */
struct phase_writer {
	uint32_t rank, ranks, node, nodes;
	bool first;         /* rank 0: writes what is not by rank */
	bool by_node;       /* histograms have a row a node, written by its first rank */
	uint32_t rows, row; /* of by_rank or by_node, and this rank's; row == rows: none */
};

/* Collective, on a file opened by all ranks: the group /phases/<n>_<kind>, the row of /summary, the
 * root's seconds. own_row: this rank's measures. */
int phase_write(hid_t file, const struct merged *m, const struct phase_writer *w,
		const uint64_t *own_row, struct err *err);

#endif
