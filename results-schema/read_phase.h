/* Reading a phase of a results file into memory. */
#ifndef HAUL_RESULTS_SCHEMA_READ_PHASE_H
#define HAUL_RESULTS_SCHEMA_READ_PHASE_H

#include <hdf5.h>

#include "results-schema/results_read.h"

/* Reads the group of a phase. Call read_phase_free also after an error. */
int read_phase(hid_t phase, uint32_t version, struct results_phase_read *p, struct err *err);
void read_phase_free(struct results_phase_read *p);

/* Reads its tables (core/measure/table.h). */
int read_tables(hid_t phase, struct results_phase_read *p, struct err *err);
void read_tables_free(struct results_phase_read *p);

/* Reads p->latencies. After the histograms and their roles. */
int read_latencies(hid_t phase, struct results_phase_read *p, struct err *err);

/* Adds roles to the columns and histograms of a file of version 1, by their names. */
void read_old_roles(struct results_phase_read *p);

#endif
