/* SPDX-License-Identifier: Apache-2.0 */
/* Import of a run of MLPerf's key-value cache benchmark as a haul job: its config.yaml and the
 * flags of its command line.
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_KVCACHE_IMPORT_KVCACHE_H
#define HAUL_IMPORT_KVCACHE_IMPORT_KVCACHE_H

#include <stddef.h>

#include "import/keys.h"

/* text: the config.yaml; "" where there is none. flags: "num-users=200", also with "--" before it,
 * "enable-rag", or keys of the file ("decode.batch_size=16"). name: the name of the job. The caller
 * calls import_free, whatever is returned. -EINVAL with a sentence that names the place. */
int import_kvcache(struct import *out, const char *name, const char *text, size_t length,
		   const char *const *flags, unsigned flag_count, struct err *err);

/* Its keys and flags. */
extern const struct import_tool import_kvcache_tool;

#endif
