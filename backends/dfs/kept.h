/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a container that a rank keeps open: folders, and files that are read again.
 *
 * A cache that the opener threads of the rank's queues share under a lock. Each object has one
 * place, by the hash of its name: one that comes later takes the place of one that nobody uses. One
 * that is in use is never dropped; where its place is taken, one more is open for its user
 * alone. */
#ifndef HAUL_BACKENDS_DFS_KEPT_H
#define HAUL_BACKENDS_DFS_KEPT_H

#include <pthread.h>

#include "backends/dfs/library.h"
#include "backends/request.h"
#include "core/uri.h"

struct dfs_kept {
	struct dfs_object *object;
	char *name;
	uint64_t hash;
	uint64_t bytes; /* of a file, as libdfs tells; 0: it was not asked */
	uint32_t users;
	bool kept; /* in the cache; else its last user releases it */
};

struct dfs_cache {
	const struct dfs_library *library;
	pthread_mutex_t lock;
	struct dfs_kept **places; /* [capacity] */
	uint32_t capacity;
};

/* -ENOMEM. With capacity 0 nothing is kept, and nothing may be asked of it. */
int dfs_cache_open(struct dfs_cache *c, uint32_t capacity, const struct dfs_library *library);
void dfs_cache_close(struct dfs_cache *c);

/* The object of that name, of which the caller is now a user, or NULL. dfs_cache_drop ends its
 * use. */
struct dfs_kept *dfs_cache_find(struct dfs_cache *c, const char *name);
/* Keeps an object that the caller has opened and is the first user of. NULL: no memory; it is still
 * the caller's. Another thread may have opened it at the same time: then both are used. */
struct dfs_kept *dfs_cache_add(struct dfs_cache *c, const char *name, struct dfs_object *object,
			       uint64_t bytes);
void dfs_cache_drop(struct dfs_cache *c, struct dfs_kept *kept);
/* The object of that name was removed or replaced. */
void dfs_cache_forget(struct dfs_cache *c, const char *name);

/* The same without waiting for another thread: NULL, false where one is at work. sized: NULL, too,
 * for a file whose bytes were not asked. */
struct dfs_kept *dfs_cache_try_find(struct dfs_cache *c, const char *name, bool sized);
bool dfs_cache_try_drop(struct dfs_cache *c, struct dfs_kept *kept);

/* Longest path in a container: the base, a key, and the ending of a version that is not
 * committed. */
enum { DFS_PATH_BYTES = URI_BYTES + OBJECT_KEY_BYTES + 16 };

/* Folders, so that opening a file costs one request and not one for each folder above it. A folder
 * that another process removes and makes again is not noticed. */
struct dfs_folders {
	struct dfs_mount *mount;
	uint32_t folder_class;  /* of folders that are made */
	bool read_only;         /* the mount is */
	struct dfs_cache cache; /* by path */
};

int dfs_folders_open(struct dfs_folders *f, uint32_t capacity, const struct dfs_library *library,
		     struct dfs_mount *mount, bool read_only, uint32_t folder_class);
void dfs_folders_close(struct dfs_folders *f);

/* The open folder of that path ("/", "/a/b"), which is made where it is missing and make is true.
 * Returns 0 or what libdfs returned. dfs_folder_drop ends its use. */
int dfs_folder_take(struct dfs_folders *f, const char *path, bool make, struct dfs_kept **folder);
void dfs_folder_drop(struct dfs_folders *f, struct dfs_kept *folder);

/* The folder of that path was removed. */
void dfs_folder_forget(struct dfs_folders *f, const char *path);

#endif
