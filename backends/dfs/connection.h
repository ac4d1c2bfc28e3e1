/* SPDX-License-Identifier: Apache-2.0 */
/* Connection of all ranks to a container: one rank connects to the pool and the container, and the
 * others get what it has opened by a broadcast, so that servers see one connection however many
 * ranks there are. Collective over the ranks that open the store. */
#ifndef HAUL_BACKENDS_DFS_CONNECTION_H
#define HAUL_BACKENDS_DFS_CONNECTION_H

#include "backends/dfs/dfs.h"

/* Sets s->mount. A rank whose URI names another container than that of rank 0 connects by itself.
 * All ranks must call it, with rc what failed on this rank before, or 0. Where a rank fails, the
 * others may have connected. */
int dfs_connection_open(const struct store *store, struct dfs_store *s, int rc, struct err *err);

#endif
