/* SPDX-License-Identifier: Apache-2.0 */
/* Import of DLIO workload files (of argonne-lcf's, russfellows' and mlcommons' versions) as haul
 * jobs.
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_DLIO_IMPORT_DLIO_H
#define HAUL_IMPORT_DLIO_IMPORT_DLIO_H

#include <stddef.h>

#include "import/import.h"

/* text: the workload file. overrides: Hydra's, such as "++workload.reader.batch_size=4". name: the
 * name of the job. The caller calls import_free, whatever is returned. -EINVAL with a sentence that
 * names the place. */
int import_dlio(struct import *out, const char *name, const char *text, size_t length,
		const char *const *overrides, unsigned override_count, enum import_as as,
		struct err *err);

#endif
