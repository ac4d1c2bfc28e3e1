/* Check of a DLIO workload's tree against the table of keys: unknown keys become findings, and
 * values of the wrong kind are refused. */
#ifndef HAUL_IMPORT_DLIO_CHECK_H
#define HAUL_IMPORT_DLIO_CHECK_H

#include "import/dlio/dlio.h"

/* Counts the keys of d->tree, adds findings for those that are unknown or not mapped, and takes
 * values out that hold Hydra's ${...}, so that DLIO's default stands for them. -EINVAL with the
 * path of a value of the wrong kind. */
int dlio_check(struct dlio *d);

/* Adds findings for the keys that could be mapped but that no part of the job has looked up. */
void dlio_check_unused(struct dlio *d);

#endif
