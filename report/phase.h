/* SPDX-License-Identifier: Apache-2.0 */
/* Common facts of a phase, whatever its kind. */
#ifndef HAUL_REPORT_PHASE_H
#define HAUL_REPORT_PHASE_H

#include <stdbool.h>

#include "facts/table.h"
#include "results-schema/results_read.h"

/* One of the measures that every workload begins with; NaN where the file has none. */
double phase_common(const struct results_phase_read *p, enum tally_common measure);

/* What it stands for, as the roles of its columns tell; PURPOSE_OTHER of a phase that has none. */
enum purpose phase_purpose(const struct results_phase_read *p);

/* Bytes read and written together. */
double phase_bytes(const struct results_phase_read *p);

/* A figure over the ranks; NaN where no rank has it. */
struct spread {
	double mean, min, max;
};
struct spread phase_spread(const struct results_phase_read *p, enum role role);

/* The rate of bytes of the slowest node as a share of the median node's. A node's rate is the sum of its
 * ranks' rates. NaN of fewer than two nodes, and of phases whose ranks have no rates. */
double phase_slowest_node(const struct results_file *f, const struct results_phase_read *p);

/* A target of the phase; NULL: it has none of that name. */
const struct target_result *phase_target(const struct results_phase_read *p, const char *name);

/* What a phase counts ("samples", "requests"), or "" where it counts nothing of the kind. */
const char *phase_items(const struct results_phase_read *p);

/* The number of phases around this one: 0, 1 … */
unsigned phase_depth(const struct results_file *f, const struct results_phase_read *p);

/* The name of a phase. In a series the number of its run precedes it: "3 train", "1 train,
 * warm-up". "train, alone" ran by itself, to compare. */
enum { PHASE_NAME_BYTES = RESULTS_NAME_BYTES + 40 };
void phase_name(const struct results_file *f, const struct results_phase_read *p,
		char name[PHASE_NAME_BYTES]);

/* A row of a table of phases, and columns of it: a role's value of all ranks; a quantile of the
 * main histogram, in ns, or with QUANTILES its largest value. */
struct phase_row {
	const struct results_phase_read *phase;
	const struct results_file *file;
	char name[PHASE_NAME_BYTES];
};
struct phase_row phase_row_of(const struct results_file *f, const struct results_phase_read *p);
/* A row for each phase that is of some kind; is NULL: for all. The caller frees the rows. NULL: no
 * memory. */
struct phase_row *phase_rows_of(const struct results_file *f,
				bool (*is)(const struct results_phase_read *p), size_t *count);
double phase_role(const void *row, int role);
double phase_main_ns(const void *row, int quantile);
bool phase_has_main(const struct phase_row *row);
double phase_quantile_ns(const struct hist *h, int quantile); /* NaN where h is NULL */

#define PHASE_NUMBER(heading_, format_, number_, which_) \
	{ \
		.type = COLUMN_VALUE, .heading = (heading_), .format = FORMAT_##format_, \
		.number = (number_), .which = (which_) \
	}
#define PHASE_ROLE(heading, role, format) PHASE_NUMBER(heading, format, phase_role, ROLE_##role)
#define PHASE_MAIN(heading, quantile)     PHASE_NUMBER(heading, NS, phase_main_ns, quantile)

/* The options of the phase in the job, as parsed: those of the first phase with its name, or of its
 * kind; else NULL. */
struct cJSON;
const struct cJSON *phase_options(const struct cJSON *job, const struct phase_record *r);

#endif
