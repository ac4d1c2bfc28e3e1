/* SPDX-License-Identifier: Apache-2.0 */
/* Page cache of this client: how much of a file it holds, and how a file's pages are dropped. Knows
 * descriptors and paths, but no store. Any thread. */
#ifndef HAUL_BACKENDS_FILE_CACHE_H
#define HAUL_BACKENDS_FILE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of [offset, offset + length) that are cached, by cachestat or, on kernels before 6.5, by
 * mincore. -EPERM: the kernel tells only those who may write the file. */
int64_t file_cache_resident(int fd, uint64_t offset, uint64_t length);
/* The older way alone, for tests. */
int64_t file_cache_mincore(int fd, uint64_t offset, uint64_t length);

/* Writes what is dirty of [offset, offset + length), length 0 being all to the end, then drops
 * those units in which the kernel keeps pages that lie in it whole. Returns the bytes of the range
 * that stay all the same: of units that reach beyond it, pages that are mapped, or all of them
 * where the file system is memory. */
int64_t file_cache_drop(int fd, uint64_t offset, uint64_t length);
/* The same for all of a file. */
int64_t file_cache_evict(const char *path);

/* Whether root, or the deepest folder above it that stands, is on a file system that is memory
 * (tmpfs, ramfs, hugetlbfs): its files are their pages. */
bool file_cache_is_memory(const char *root);

#endif
