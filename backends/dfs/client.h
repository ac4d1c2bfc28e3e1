/* SPDX-License-Identifier: Apache-2.0 */
/* The client of DAOS in this process: the library, started once, whatever stores are opened and
 * closed.
 *
 * dfs_fini drops its tables before it fails, where the agent or the servers are gone, and dfs_init
 * succeeds afterwards without them: the next connection would crash. And a start takes a tenth of a
 * second. So the client ends with the process (struct store_process), or with its store where
 * nobody keeps it. */
#ifndef HAUL_BACKENDS_DFS_CLIENT_H
#define HAUL_BACKENDS_DFS_CLIENT_H

#include "backends/backend.h"
#include "backends/dfs/library.h"

struct dfs_client {
	struct store_keep keep;
	char name[URI_BYTES]; /* as the job names the library */
	struct dfs_library library;
};

/* The client that this process has started with that library, or NULL. */
struct dfs_client *dfs_client_find(const struct store_process *process, const char *name);
/* Starts one; any thread. NULL with *rc and a sentence that begins with uri. */
struct dfs_client *dfs_client_start(const char *name, const char *uri, int *rc, struct err *err);
/* From now on it ends with the process. */
void dfs_client_keep(struct store_process *process, struct dfs_client *client);
/* Ends it. Where the library cannot, it stays as it is, and nobody may start it again: that is
 * said. */
void dfs_client_end(struct dfs_client *client, const struct log *log);

#endif
