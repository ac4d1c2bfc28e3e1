/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of daos:// share: its options, the store that a rank has opened, and one thread's
 * channel. See store.c for how a request goes through them. */
#ifndef HAUL_BACKENDS_DFS_DFS_H
#define HAUL_BACKENDS_DFS_DFS_H

#include <pthread.h>

#include "backends/backend.h"
#include "backends/dfs/library.h"
#include "backends/request.h"
#include "backends/retry.h"
#include "core/uri.h"

/* Objects of a container that a rank keeps open: folders, and files that are read again.
 *
 * A cache that the opener threads of the rank's queues share under a lock. Each object has one
 * place, by the hash of its name: one that comes later takes the place of one that nobody uses. One
 * that is in use is never dropped; where its place is taken, one more is open for its user
 * alone. */

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

/* The client of DAOS in this process: the library, started once, whatever stores are opened and
 * closed.
 *
 * dfs_fini drops its tables before it fails, where the agent or the servers are gone, and dfs_init
 * succeeds afterwards without them: the next connection would crash. And a start takes a tenth of a
 * second. So the client ends with the process (struct store_process), or with its store where
 * nobody keeps it. */

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

struct dfs_options {
	struct store_options common;
	char library[URI_BYTES]; /* "": DFS_LIBRARY_NAME */
	char system[64];         /* "": the default system of the agent */
	/* Of new files, and of new folders; "": as their folder or the container says. */
	char object_class[DFS_CLASS_NAME_BYTES], folder_class[DFS_CLASS_NAME_BYTES];
	uint64_t chunk_bytes;
	uint32_t client; /* in the order of the profiles in store.c */
	uint64_t part_bytes;
	uint64_t openers;          /* threads per queue for what libdfs does only synchronously */
	uint64_t handles, folders; /* open files and folders that a rank keeps */
	uint64_t in_flight;
	struct retry_options retry;
};

/* What a rank has opened. Read-only after that, except for what is kept open, which guards itself,
 * and for whether threads were left in the library: then nothing here is freed or closed any more,
 * for they may return. They use this, and nothing of the struct store, which its owner frees. */
struct dfs_store {
	struct dfs_client *client; /* NULL: not started */
	bool owns;                 /* the client ends with the store */
	struct dfs_library library;
	struct dfs_mount *mount;
	bool read_only;
	const struct log *log;
	struct clock *clock;
	_Atomic bool left;
	uint64_t chunk_bytes; /* of new files; 0: as their folder says */
	char invalid
		[256]; /* what "invalid" means of a new file with that class; "": nothing more */
	struct dfs_folders folders;
	struct dfs_cache files;              /* by key; without capacity where objects may change */
	uint32_t object_class, folder_class; /* DFS_CLASS_DEFAULT: none was asked for */
	char base[URI_BYTES];                /* what follows the container: "" or "/a/b" */
};

/* What an object's state words hold while it is open. */
enum {
	DFS_OBJECT, /* its struct dfs_object */
	DFS_BEGUN, /* 1 + the number of its part (core/part.h): a new version, which has its own name until it is committed */
	DFS_KEPT,  /* its struct dfs_kept, where it is one of dfs_store's files; else 0 */
};

static inline const struct dfs_options *dfs_options_of(const struct store *store)
{
	return store->options;
}

static inline struct dfs_store *dfs_store_of(const struct store *store)
{
	return store->state;
}

static inline struct dfs_kept *dfs_kept_of(const struct object *o)
{
	return (struct dfs_kept *)(uintptr_t)o->state[DFS_KEPT];
}

static inline struct dfs_object *dfs_object_of(const struct object *o)
{
	return (struct dfs_object *)(uintptr_t)o->state[DFS_OBJECT];
}

#endif
