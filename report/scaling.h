/* Scaling table of a report: runs of one job on different numbers of nodes, a row for each, with
 * what each row comes to per node. The figures are those of the last phase of a file that has a
 * utilisation, or of its last phase with a byte rate; over its repeats they have intervals
 * (stats.h). */
#ifndef HAUL_REPORT_SCALING_H
#define HAUL_REPORT_SCALING_H

#include "report/document.h"
#include "report/stats.h"
#include "results-schema/results_read.h"

struct scaling_row {
	const char *path;
	char phase[RECORD_NAME_BYTES], sweep[RECORD_SWEEP_BYTES];
	uint64_t nodes, ranks;
	uint64_t global_batch, files; /* as the job says; 0: it does not */
	double data_bytes;            /* the data set's samples; NAN: the job does not say */
	struct stats au, bytes;       /* bytes per second of all nodes */
	/* Bytes per second and node, over those of the row with the fewest nodes and the same
	 * sweep; of both ends of the interval NAN without repeats. */
	struct stats efficiency;
	double bytes_per_node;
	double cached_share; /* of the first repeat; NAN: not known */
};

struct scaling {
	struct scaling_row *rows; /* by number of nodes */
	uint32_t count;
};

/* false: no memory. Free it in either case. The rows refer to the files. */
bool scaling_make(struct scaling *s, const struct results_file *const *files, unsigned count);
void scaling_free(struct scaling *s);

/* Writes it as a document. about: a struct scaling. */
document_writer scaling_write;

#endif
