/* Folders of a container, which the rank keeps open, so that opening a file costs one request and not one for each folder
 * above it. A folder that another process removes and makes again is not noticed. */
#ifndef HAUL_BACKENDS_DFS_FOLDER_H
#define HAUL_BACKENDS_DFS_FOLDER_H

#include "backends/dfs/kept.h"
#include "backends/request.h"
#include "core/uri.h"

/* Longest path in a container: the base, a key, and the ending of a version that is not committed. */
enum { DFS_PATH_BYTES = URI_BYTES + OBJECT_KEY_BYTES + 16 };

struct dfs_folders {
	struct dfs_mount *mount;
	uint32_t folder_class;  /* of folders that are made */
	struct dfs_cache cache; /* by path */
};

int dfs_folders_open(struct dfs_folders *f, uint32_t capacity, const struct dfs_library *library,
		     struct dfs_mount *mount, uint32_t folder_class);
void dfs_folders_close(struct dfs_folders *f);

/* The open folder of that path ("/", "/a/b"), which is made where it is missing and make is true.
 * Returns 0 or what libdfs returned. dfs_folder_drop ends its use. */
int dfs_folder_take(struct dfs_folders *f, const char *path, bool make, struct dfs_kept **folder);
void dfs_folder_drop(struct dfs_folders *f, struct dfs_kept *folder);

/* The folder of that path was removed. */
void dfs_folder_forget(struct dfs_folders *f, const char *path);

#endif
