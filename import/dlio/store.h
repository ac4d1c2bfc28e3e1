/* Store of the job: storage_type, storage_root and data_folder as one URI, and the store's
 * options. */
#ifndef HAUL_IMPORT_DLIO_STORE_H
#define HAUL_IMPORT_DLIO_STORE_H

#include "import/dlio/dlio.h"

/* Adds it to the job. -EINVAL with the path of a value that cannot be mapped. */
int dlio_add_store(struct dlio *d, struct cJSON *job);

#endif
