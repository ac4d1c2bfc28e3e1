/* Client profiles: what other libraries do by default, as the options that make haul do the same. */
#ifndef HAUL_BACKENDS_DFS_CLIENT_H
#define HAUL_BACKENDS_DFS_CLIENT_H

#include "backends/dfs/dfs.h"

enum { DFS_CLIENT_DFS, DFS_CLIENT_PYDAOS };
extern const char *const dfs_client_names[];

/* Sets the defaults of the options at into (struct dfs_options) to those of their client. */
void dfs_client_preset(void *into);

#endif
