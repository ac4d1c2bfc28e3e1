/* Folders of a container that are kept open, so that opening a file costs one request and not one
 * for each folder above it.
 *
 * A cache of the rank, which the opener threads of its queues share under a lock. A folder that is
 * in use is never dropped; where all are in use, one more is opened for its user alone. A folder
 * that another process removes and makes again is not noticed. */
#ifndef HAUL_BACKENDS_DFS_FOLDER_H
#define HAUL_BACKENDS_DFS_FOLDER_H

#include <pthread.h>

#include "backends/dfs/library.h"

struct dfs_folder {
	struct dfs_object *object;
	char *path; /* NULL: the place is free */
	uint64_t hash;
	uint32_t users;
	bool kept; /* in the cache; else its last user releases it */
};

struct dfs_folders {
	const struct dfs_library *library;
	struct dfs_mount *mount;
	uint32_t folder_class; /* of folders that are made */
	pthread_mutex_t lock;
	struct dfs_folder **places; /* [capacity]; a folder is in the place of its hash */
	uint32_t capacity;
};

int dfs_folders_open(struct dfs_folders *f, uint32_t capacity, const struct dfs_library *library,
		     struct dfs_mount *mount, uint32_t folder_class);
void dfs_folders_close(struct dfs_folders *f);

/* The open folder of that path ("/", "/a/b"), which is made where it is missing and make is true.
 * Returns 0 or what libdfs returned. dfs_folder_drop ends its use. */
int dfs_folder_take(struct dfs_folders *f, const char *path, bool make, struct dfs_folder **folder);
void dfs_folder_drop(struct dfs_folders *f, struct dfs_folder *folder);

/* The folder of that path was removed. */
void dfs_folder_forget(struct dfs_folders *f, const char *path);

#endif
