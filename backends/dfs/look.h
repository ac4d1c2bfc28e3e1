/* SPDX-License-Identifier: Apache-2.0 */
/* What entries of a folder are: one request for each, many at a time. */
#ifndef HAUL_BACKENDS_DFS_LOOK_H
#define HAUL_BACKENDS_DFS_LOOK_H

#include "backends/dfs/library.h"

enum { DFS_LOOK_ENTRIES = 128, DFS_LOOK_THREADS = 16 };

struct dfs_look {
	const struct dfs_library *library;
	struct dfs_mount *mount;
	struct dfs_object *folder;
	uint32_t count;
	struct dirent entries[DFS_LOOK_ENTRIES];
	/* Filled in. */
	struct stat stats[DFS_LOOK_ENTRIES];
	bool gone[DFS_LOOK_ENTRIES]; /* removed since it was named */
	_Atomic uint32_t next;
	_Atomic int code;
};

/* Returns 0 or what libdfs returned. */
int dfs_look_at(struct dfs_look *look);

#endif
