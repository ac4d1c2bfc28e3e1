/* Requests of daos:// that libdfs does only synchronously: all but reads and writes. Any thread. */
#ifndef HAUL_BACKENDS_DFS_OBJECT_H
#define HAUL_BACKENDS_DFS_OBJECT_H

#include "backends/dfs/dfs.h"

/* Opens or closes an object that is kept open, and fills in the answer, without waiting for anybody. False: dfs_object_do
 * must do the request. */
bool dfs_object_do_now(const struct store *store, struct request *req);

/* Does the request, and fills in its answer. */
void dfs_object_do(const struct store *store, struct request *req);

/* listing.c: a page of a folder. Returns what dfs_code_errno takes, or what the caller's entry()
 * returned in *ended. */
int dfs_list_page(struct dfs_store *s, struct request *req, int *ended);

#endif
