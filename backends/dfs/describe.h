/* SPDX-License-Identifier: Apache-2.0 */
/* What is in effect on an open store daos://, and the space of its pool: hooks of struct
 * backend_ops. */
#ifndef HAUL_BACKENDS_DFS_DESCRIBE_H
#define HAUL_BACKENDS_DFS_DESCRIBE_H

#include "backends/dfs/dfs.h"

/* By the number that the options have; store.c. */
extern const char *const dfs_client_names[];

void dfs_describe(const struct store *store, struct store_facts *facts);
int dfs_space(const struct store *store, struct store_space *out);

#endif
