/* Reading a phase of a results file into memory. */
#ifndef HAUL_RESULTS_SCHEMA_READ_PHASE_H
#define HAUL_RESULTS_SCHEMA_READ_PHASE_H

#include <hdf5.h>

#include "results-schema/results_read.h"

/* Reads the headline of a phase: its record, what the sweeps set, its targets, and the merged row. */
int read_headline(hid_t phase, struct results_phase_read *p, struct err *err);
/* Reads everything else, its details. The numbers of ranks and nodes of the file are bounds. p->record has been read. */
int read_details(hid_t phase, const struct results_file *f, struct results_phase_read *p,
		 struct err *err);

/* Call these also after an error. */
void read_phase_free(struct results_phase_read *p);
void read_details_free(struct results_phase_read *p);

/* How many bytes of memory the details take. */
uint64_t read_details_bytes(const struct results_phase_read *p);

/* Reads its tables (core/measure/table.h). */
int read_tables(hid_t phase, struct results_phase_read *p, struct err *err);
void read_tables_free(struct results_phase_read *p);

/* Reads p->latencies. After the histograms and their roles. */
int read_latencies(hid_t phase, const struct results_file *f, struct results_phase_read *p,
		   struct err *err);

/* Reads how the ranks differed in each epoch. After the tables and their roles. */
int read_epoch_spread(hid_t phase, const struct results_file *f, struct results_phase_read *p,
		      struct err *err);

#endif
