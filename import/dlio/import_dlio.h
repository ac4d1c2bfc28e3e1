/* SPDX-License-Identifier: Apache-2.0 */
/* Import of DLIO workload files (of argonne-lcf's, russfellows' and mlcommons' versions) as haul
 * jobs.
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_DLIO_IMPORT_DLIO_H
#define HAUL_IMPORT_DLIO_IMPORT_DLIO_H

#include <stddef.h>

#include "import/import.h"

/* What is given beside the workload: Hydra's overrides, such as "++workload.reader.batch_size=4", and
 * editions, by which its class is told; NULL: it is not. */
struct import_given {
	const char *const *overrides;
	unsigned override_count;
	enum import_as as;
	const struct editions *editions;
};

/* text: the workload file. name: the name of the job. The caller calls import_free, whatever is
 * returned. -EINVAL with a sentence that names the place. */
int import_dlio(struct import *out, const char *name, const char *text, size_t length,
		const struct import_given *given, struct err *err);
/* The same of a tree, which it takes; NULL: there was no memory for it. */
int import_dlio_tree(struct import *out, const char *name, struct cJSON *root,
		     const struct import_given *given, struct err *err);

#endif
