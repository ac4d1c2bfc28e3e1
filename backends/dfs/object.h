/* Requests of daos:// that libdfs does only synchronously: all but reads and writes. Any thread. */
#ifndef HAUL_BACKENDS_DFS_OBJECT_H
#define HAUL_BACKENDS_DFS_OBJECT_H

#include "backends/dfs/dfs.h"

/* A key as libdfs wants it: an open folder, and a name in it. */
struct dfs_path {
	char text[DFS_PATH_BYTES]; /* of the folder: "/", "/a/b" */
	char name[OBJECT_KEY_BYTES + 16];
	struct dfs_kept *folder;
};

/* Finds the folder of a key, and makes it where it is missing and make is true; suffix follows the
 * name. Returns 0 or what libdfs returned. dfs_path_close ends the use of the folder. */
int dfs_path_open(struct dfs_store *s, const char *key, const char *suffix, bool make,
		  struct dfs_path *path);
void dfs_path_close(struct dfs_store *s, struct dfs_path *path);

/* Opens or closes an object that is kept open, and fills in the answer, without waiting for anybody. False: dfs_object_do
 * must do the request. */
bool dfs_object_do_now(const struct store *store, struct request *req);

/* Does the request, and fills in its answer. */
void dfs_object_do(const struct store *store, struct request *req);

/* listing.c: a page of a folder. Returns what dfs_code_errno takes, or what the caller's entry()
 * returned in *ended. */
int dfs_list_page(struct dfs_store *s, struct request *req, int *ended);

#endif
