/* SPDX-License-Identifier: Apache-2.0 */
/* The client library of DAOS, opened at run time: its functions, and which version it is.
 *
 * Nothing of haul is linked with DAOS. The library is opened when a store is opened, and stays
 * loaded until the process ends, since it may have threads of its own. Read-only once it is
 * open. */
#ifndef HAUL_BACKENDS_DFS_LIBRARY_H
#define HAUL_BACKENDS_DFS_LIBRARY_H

#include "backends/dfs/abi.h"
#include "core/err.h"

/* What is opened where the job names no library, and the library below it. */
#define DFS_LIBRARY_NAME  "libdfs.so"
#define DAOS_LIBRARY_NAME "libdaos.so.2"

#define DFS_MEMBER(name, arguments) int(*name) arguments;
struct dfs_library {
	void *dfs, *daos;      /* of dlopen; daos is NULL where dfs alone has everything */
	int major, minor, fix; /* of the interface */
	char product[16];      /* version of DAOS, "2.4.2"; "": its files do not tell */
	DFS_FUNCTIONS(DFS_MEMBER)
	DFS_OPTIONAL_FUNCTIONS(DFS_MEMBER) /* NULL: this version lacks it */
};
#undef DFS_MEMBER

/* Opens the library: a file name, which is looked for as the dynamic linker does, or a path. ""
 * stands for DFS_LIBRARY_NAME. Returns -ENOENT where there is none, -ENOSYS where it lacks a
 * function or its interface has another major version, each with a sentence. */
int dfs_library_open(struct dfs_library *l, const char *name, struct err *err);
void dfs_library_close(struct dfs_library *l);

#endif
