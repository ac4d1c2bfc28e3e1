/* Data sets of the job: their files, sizes, names and formats. */
#ifndef HAUL_IMPORT_DLIO_DATASET_H
#define HAUL_IMPORT_DLIO_DATASET_H

#include "import/dlio/dlio.h"

/* Adds them to the job. */
void dlio_add_datasets(struct dlio *d, struct cJSON *job);

#endif
