/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a phase of a results file into memory. */
#ifndef HAUL_RESULTS_SCHEMA_READ_PHASE_H
#define HAUL_RESULTS_SCHEMA_READ_PHASE_H

#include "results-schema/h5_reader.h"
#include "results-schema/results_read.h"

/* The reader stands in the group of a phase. Reads its headline: its record, what the sweeps set,
 * its targets, and the merged row. */
/* The phases whose side files are missing, as far as /summary tells. The reader stands at the root,
 * and the phases are in order. */
void read_summary(struct h5_reader *r, struct results_file *f);
void read_headline(struct h5_reader *r, struct results_phase_read *p);
/* Reads everything else, its details. The numbers of ranks and nodes of the file are bounds.
 * p->record has been read. */
void read_details(struct h5_reader *r, const struct results_file *f, struct results_phase_read *p);

/* Call these also after an error. */
void read_phase_free(struct results_phase_read *p);
void read_details_free(struct results_phase_read *p);

/* How many bytes of memory the details take. */
uint64_t read_details_bytes(const struct results_phase_read *p);

/* Look-up in a phase whose details are there. NULL: it has none. */
const struct results_hist *read_hist_named(const struct results_phase_read *p, const char *name);
const struct results_hist *read_hist_of_role(const struct results_phase_read *p, enum role role);

/* Reads p->latencies. After the histograms. */
void read_latencies(struct h5_reader *r, const struct results_file *f,
		    struct results_phase_read *p);

/* Reads how the ranks differed in each epoch. After the tables. */
void read_epoch_spread(struct h5_reader *r, const struct results_file *f,
		       struct results_phase_read *p);

#endif
