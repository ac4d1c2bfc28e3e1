/* The page cache of this client: what of a file stands in it, and how a file leaves it. Knows
 * descriptors and paths, no store. Any thread. */
#ifndef HAUL_BACKENDS_FILE_CACHE_H
#define HAUL_BACKENDS_FILE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of [offset, offset + length) that are cached, by cachestat or, on kernels before 6.5, by
 * mincore. -EPERM: the kernel tells only those who may write the file. */
int64_t file_cache_resident(int fd, uint64_t offset, uint64_t length);
/* The older way alone, for tests. */
int64_t file_cache_mincore(int fd, uint64_t offset, uint64_t length);

/* Writes what is dirty, then drops the file's pages. Returns the bytes that stay all the same: pages
 * that are mapped, or all of them where the file system is memory. */
int64_t file_cache_evict(const char *path);

/* Whether root, or the deepest folder above it that stands, is on a file system that is memory (tmpfs,
 * ramfs, hugetlbfs): its files are their pages. */
bool file_cache_is_memory(const char *root);

#endif
