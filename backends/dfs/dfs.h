/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of daos:// share: its options, the store that a rank has opened, and one thread's
 * channel. See store.c for how a request goes through them. */
#ifndef HAUL_BACKENDS_DFS_DFS_H
#define HAUL_BACKENDS_DFS_DFS_H

#include "backends/backend.h"
#include "backends/dfs/client.h"
#include "backends/dfs/kept.h"
#include "backends/retry.h"

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
