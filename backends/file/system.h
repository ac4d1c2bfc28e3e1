/* SPDX-License-Identifier: Apache-2.0 */
/* Which file system a folder lies on, with which options dfuse runs, and whether a library takes
 * the calls on files before the kernel does. */
#ifndef HAUL_BACKENDS_FILE_SYSTEM_H
#define HAUL_BACKENDS_FILE_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#define FILE_SYSTEM_LUSTRE UINT64_C(0x0bd00bd0)
#define FILE_SYSTEM_BEEGFS UINT64_C(0x19830326)

struct file_system {
	uint64_t magic; /* as statfs tells; 0: it does not */
	char name[32];  /* as mounted: "ext4", "fuse.daos"; else the magic in hexadecimal; or "" */
	char point[512], options[96]; /* where, and with which options of its own; or "" */
};

/* Of folder, or of the folder above it that stands. */
void file_system_find(const char *folder, struct file_system *fs);

/* Whether fs is what a job calls by its type ("lustre", "dfuse", "nfs" for nfs4, too) or by its
 * mount point ("/flare"). */
bool file_system_is(const struct file_system *fs, const char *called);

/* Options of a dfuse mount: those of its process, which decide what it caches, and those of the
 * mount, as text; "" where fs is not dfuse. proc: "/proc", or a folder like it. */
enum { FILE_DFUSE_BYTES = 256 };
void file_dfuse_find(const char *proc, const struct file_system *fs, char text[FILE_DFUSE_BYTES]);

/* The interception library of DAOS that carries out this process's calls on files below root, or
 * NULL. It is preloaded and carries out calls on files of a dfuse mount by itself.
 *
 * What does not go through the C library goes around it: io_uring, and what asks the kernel about
 * an open file (cachestat, statx by descriptor). libpil4dfs even hands out descriptors that the
 * kernel does not know. */
const char *file_interception(const char *root, const struct file_system *fs);

#endif
