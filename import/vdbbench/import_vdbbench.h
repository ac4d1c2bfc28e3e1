/* SPDX-License-Identifier: Apache-2.0 */
/* Import of a configuration of vdbbench, MLPerf's benchmark of vector databases, as a haul job: the
 * build of an index and its searches. Both of its kinds of files are read, that of its loader and
 * that of its pipeline, with the flags of its runs.
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_VDBBENCH_IMPORT_VDBBENCH_H
#define HAUL_IMPORT_VDBBENCH_IMPORT_VDBBENCH_H

#include <stddef.h>

#include "import/keys.h"

/* text: the file; "" where there is none. flags: "runtime=60", also with "--" before it, or keys of
 * the file ("index.max_degree=32"). name: the name of the job. The caller calls import_free,
 * whatever is returned. -EINVAL with a sentence that names the place. */
int import_vdbbench(struct import *out, const char *name, const char *text, size_t length,
		    const char *const *flags, unsigned flag_count, struct err *err);

/* Its keys and flags. */
extern const struct import_tool import_vdbbench_tool;

#endif
