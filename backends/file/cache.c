/* SPDX-License-Identifier: Apache-2.0 */
/* fadvise returns 0 on tmpfs and does nothing, and it passes over pages in use: so what is told is
 * what stays, never what was asked for. */
#include "backends/file/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "backends/file/direct.h"
#include "core/clock_wait.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "core/uri.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* the same number on every architecture but alpha */
#endif

enum { MINCORE_PAGES = 4096, DROP_PAUSES = 3, DROP_PAUSE_NS = NS_PER_MS };

/* As the kernel has them; the C library's headers may be older than they. */
struct cache_range {
	uint64_t offset, length;
};
struct cache_counts {
	uint64_t cached, dirty, writeback, evicted, recently_evicted; /* pages */
};

/* Pages that the range touches. */
struct pages {
	uint64_t first, count, bytes; /* bytes: of a page */
};

static struct pages pages_of(uint64_t offset, uint64_t length)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = offset / page;

	return (struct pages){first, (offset + length + page - 1) / page - first, page};
}

/* The share of a range that stands for this many of its pages. */
static int64_t share_of(uint64_t length, uint64_t cached, uint64_t pages)
{
	if (cached >= pages)
		return (int64_t)length;
	return (int64_t)((unsigned __int128)length * cached / pages);
}

/* Who may not write the file is told by mincore that all is cached, which is no evidence. */
static int may_know(int fd)
{
	char path[32] = "/proc/self/fd/";
	struct stat st;
	int digits = 1, n;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (geteuid() == 0 || st.st_uid == geteuid())
		return 0;
	for (n = fd; n >= 10; n /= 10)
		digits++;
	for (n = fd; digits > 0; n /= 10)
		path[14 + --digits] = (char)('0' + n % 10);
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 ? -EPERM : 0;
}

static int64_t mapped_pages(int fd, uint64_t first, uint64_t count, uint64_t page)
{
	unsigned char there[MINCORE_PAGES];
	void *map = mmap(NULL, count * page, PROT_READ, MAP_SHARED, fd, (off_t)(first * page));
	int64_t cached = 0;

	if (map == MAP_FAILED)
		return -errno;
	if (mincore(map, count * page, there) < 0)
		cached = -errno;
	for (uint64_t i = 0; cached >= 0 && i < count; i++)
		cached += there[i] & 1;
	munmap(map, count * page);
	return cached;
}

int64_t file_cache_mincore(int fd, uint64_t offset, uint64_t length)
{
	struct pages p = pages_of(offset, length);
	uint64_t cached = 0;
	int rc = may_know(fd);

	if (rc < 0 || length == 0)
		return rc;
	for (uint64_t at = 0, n; at < p.count; at += n) {
		int64_t some;

		n = min_u64(p.count - at, MINCORE_PAGES);
		some = mapped_pages(fd, p.first + at, n, p.bytes);
		if (some < 0)
			return some;
		cached += (uint64_t)some;
	}
	return share_of(length, cached, p.count);
}

int64_t file_cache_resident(int fd, uint64_t offset, uint64_t length)
{
	struct pages p = pages_of(offset, length);
	struct cache_range range = {offset, length};
	struct cache_counts counts = {0};

	if (length == 0)
		return 0; /* to cachestat a length of 0 is all to the end */
	if (syscall(SYS_cachestat, fd, &range, &counts, 0) == 0)
		return share_of(length, counts.cached, p.count);
	/* A filter of system calls that is older than this one refuses it. */
	return errno == ENOSYS || errno == EPERM ? file_cache_mincore(fd, offset, length) : -errno;
}

/* Only clean pages can be dropped. On some read-only file systems there is nothing to write, and
 * they say so by an error; not every file system can write a range alone. */
static int write_dirty(int fd, uint64_t offset, uint64_t length)
{
	const unsigned all =
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

	if ((offset || length) && sync_file_range(fd, (off_t)offset, (off_t)length, all) == 0)
		return 0;
	return TEMP_FAILURE_RETRY(fdatasync(fd)) < 0 && errno != EINVAL && errno != EROFS ? -errno
											  : 0;
}

/* The kernel cannot drop a page while it uses the page itself: to move it, say, or because another
 * core has it on a list of its own. Such a page stays at first. So the advice is repeated as long
 * as it makes a difference, and a few times after a pause where it makes none. */
static int64_t drop_clean(int fd, uint64_t offset, uint64_t length, uint64_t known)
{
	int64_t stays = INT64_MAX, before;
	int pauses = 0;

	for (;;) {
		int rc = -posix_fadvise(fd, (off_t)offset, (off_t)length, POSIX_FADV_DONTNEED);

		if (rc < 0)
			return rc;
		before = stays;
		stays = file_cache_resident(fd, offset, known);
		if (stays <= 0 || (stays >= before && pauses == DROP_PAUSES))
			return stays;
		if (stays >= before && ++pauses)
			clock_nap(DROP_PAUSE_NS);
	}
}

int64_t file_cache_drop(int fd, uint64_t offset, uint64_t length)
{
	uint64_t known = length;
	struct stat st;
	int64_t stays;
	int rc;

	if (fstat(fd, &st) < 0)
		return -errno;
	rc = write_dirty(fd, offset, length);
	if (rc < 0)
		return rc;
	if (!length)
		known = (uint64_t)st.st_size > offset ? (uint64_t)st.st_size - offset : 0;
	stays = drop_clean(fd, offset, length, known);
	/* Dropped, but the kernel does not tell this user, or this descriptor, how much of it. */
	return stays == -EPERM || stays == -EACCES ? 0 : stays;
}

int64_t file_cache_evict(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t stays;

	if (fd < 0)
		return -errno;
	stays = file_cache_drop(fd, 0, 0);
	close(fd);
	return stays;
}

bool file_cache_is_memory(const char *root)
{
	char folder[URI_BYTES];
	struct statfs fs;

	file_standing_folder(root, folder);
	return statfs(folder, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC ||
					    fs.f_type == HUGETLBFS_MAGIC);
}
