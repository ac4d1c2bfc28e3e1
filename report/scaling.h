/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling table of a report: runs on different numbers of nodes, a row for each, with what each row
 * comes to per node. Rows of one series differ in their nodes alone: they are of the same job, the
 * same way to the storage (way_of), the same phase and sweep. Each phase with a utilisation is a
 * series; of a job that has none, its last phase with a byte rate. Runs of the same job, way and
 * nodes in several files are repeats of one row; over repeats figures have intervals (core/stats.h). */
#ifndef HAUL_REPORT_SCALING_H
#define HAUL_REPORT_SCALING_H

#include "core/stats.h"
#include "facts/document.h"
#include "results-schema/results_read.h"

/* The way to the storage that a phase went: files of a mount, dfuse with a library that carries out
 * its calls, DAOS, objects. It names the lines of a scaling table. */

enum { WAY_BYTES = 64 };

/* As the job calls it ("way"); else what the store of the phase is: "dfs", "dfuse", "pil4dfs",
 * "ioil", "lustre", "s3"; "" where the file does not tell. */
void way_of(const struct results_file *f, const struct phase_record *r, char way[WAY_BYTES]);

struct scaling_row {
	const char *path; /* the first file */
	const char *job, *job_text;
	const char *job_shown, *phase_shown; /* "": the same in all rows */
	char way[WAY_BYTES];
	uint32_t series; /* from 0, in the order of the files */
	char phase[RECORD_NAME_BYTES], sweep[RECORD_SWEEP_BYTES];
	uint64_t nodes, ranks;
	uint32_t repeats, nth;        /* nth among the phases of that name */
	uint64_t global_batch, files; /* as the job says; 0: it does not */
	double data_bytes;            /* the data set's samples; NAN: the job does not say */
	struct stats au, bytes;       /* bytes per second of all nodes */
	double *values[2];            /* of each repeat: au, bytes */
	/* Bytes per second and node, over those of the row with the fewest nodes of the same
	 * series; of both ends of the interval NAN without repeats. All NAN where several rows
	 * have the fewest: these are of different jobs, or of different numbers of ranks. */
	struct stats efficiency;
	double bytes_per_node;
	double cached_share; /* of the first repeat; NAN: not known */
};

struct scaling {
	struct scaling_row *rows; /* by series, then by number of nodes */
	uint32_t count, series;
};

/* false: no memory. Free it in either case. The rows refer to the files. */
bool scaling_make(struct scaling *s, const struct results_file *const *files, unsigned count);
void scaling_free(struct scaling *s);

/* Writes it as a document. about: a struct scaling. */
document_writer scaling_write;

/* The figure of a scaling table as SVG, for a slide: AU and bytes per second and node beside each
 * other, a line per series with its intervals, over the numbers of nodes on an axis of
 * logarithms. */

/* The caller frees the text. NULL: no memory. */
char *scaling_svg(const struct scaling *s);

#endif
