/* Stores of the job: "data" with storage_type, storage_root and data_folder as one URI, "checkpoints" with
 * checkpoint_folder, and the options of both. */
#ifndef HAUL_IMPORT_DLIO_STORE_H
#define HAUL_IMPORT_DLIO_STORE_H

#include "import/dlio/dlio.h"

/* Adds those that the job uses. */
void dlio_add_stores(struct dlio *d, struct cJSON *job);

#endif
