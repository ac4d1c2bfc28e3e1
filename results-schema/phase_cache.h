/* SPDX-License-Identifier: Apache-2.0 */
/* Cache of the details of phases (results_read.h): of the file's first phases they stay in memory
 * as long as there is room. Those of the others are read when somebody asks for them
 * (results_whole), and replace each other. So a file of many runs on many ranks takes bounded
 * memory. One thread. */
#ifndef HAUL_RESULTS_SCHEMA_PHASE_CACHE_H
#define HAUL_RESULTS_SCHEMA_PHASE_CACHE_H

#include "results-schema/results_read.h"

/* f: its head has been read. room: bytes for details that stay. NULL: no memory. */
struct phase_cache *phase_cache_new(const struct results_file *f, uint64_t room);
void phase_cache_free(struct phase_cache *c); /* NULL is allowed */

/* Takes over the details of a phase that has been read: they stay in it, or are dropped until they
 * are asked for. */
void phase_cache_take(struct phase_cache *c, struct results_phase_read *p);

#endif
