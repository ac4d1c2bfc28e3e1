/* What is in effect on an open store, for a row of /stores: the library, the pool, and the layout of new files. */
#ifndef HAUL_BACKENDS_DFS_DESCRIBE_H
#define HAUL_BACKENDS_DFS_DESCRIBE_H

#include "backends/dfs/dfs.h"

/* The hook of struct backend_ops. */
void dfs_describe(const struct store *store, struct store_facts *facts);

#endif
