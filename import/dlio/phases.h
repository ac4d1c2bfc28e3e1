/* Phases of the job: generate, and train or checkpoint. */
#ifndef HAUL_IMPORT_DLIO_PHASES_H
#define HAUL_IMPORT_DLIO_PHASES_H

#include "import/dlio/dlio.h"

/* Adds them to the job. */
void dlio_add_phases(struct dlio *d, struct cJSON *job);

#endif
