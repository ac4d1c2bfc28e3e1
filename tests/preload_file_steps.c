/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded library that counts the steps by which a process changes some files, and ends the
 * process or fills the disk at one of them. A step is a call that makes, fills, reserves, syncs,
 * renames, links or removes a file or a folder whose path has HAUL_STEPS_OF in it; on the rank
 * HAUL_STEPS_RANK (compared with PMI_RANK; unset: on all ranks).
 *
 *   HAUL_STEPS_KILL=n   step n (from 0) is not done, but for the first half of a write: the process
 *                       is killed (SIGKILL)
 *   HAUL_STEPS_FULL=n   from step n on, steps that need room on the disk fail with ENOSPC
 *   HAUL_STEPS_HANGS=path  the disk is not full, but does not answer: the step makes that file
 *                       (path has no HAUL_STEPS_OF in it) and does not return
 *   HAUL_STEPS_WHEN=path  the disk is full, or hangs, once that file is there
 *   HAUL_STEPS_LOG=path each step that was done appends a line: rank, number, name, path */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum { NOT_COUNTED = -1 };

static atomic_long steps;

static bool concerns(const char *path)
{
	const char *of = getenv("HAUL_STEPS_OF"), *rank = getenv("HAUL_STEPS_RANK");
	const char *own = getenv("PMI_RANK");

	return of && path && strstr(path, of) && (!rank || (own && strcmp(rank, own) == 0));
}

static const char *path_of(int fd, char path[4096])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, 4095);
	path[n > 0 ? n : 0] = '\0';
	return path;
}

/* Whether the process is to end at step n. */
static bool ends_at(long n)
{
	const char *at = getenv("HAUL_STEPS_KILL");

	return n != NOT_COUNTED && at && atol(at) == n;
}

/* The number of the step that now begins. Does not return where it kills the process, but for a
 * write, half of which comes first. */
static long begin(const char *path, bool is_write)
{
	long n = concerns(path) ? atomic_fetch_add(&steps, 1) : NOT_COUNTED;

	if (ends_at(n) && !is_write)
		raise(SIGKILL);
	return n;
}

static bool no_room(long n)
{
	const char *at = getenv("HAUL_STEPS_FULL"), *when = getenv("HAUL_STEPS_WHEN");
	const char *hangs = getenv("HAUL_STEPS_HANGS");

	if (n == NOT_COUNTED || !at || n < atol(at) || (when && access(when, F_OK) < 0))
		return false;
	if (hangs) {
		close(REAL(open)(hangs, O_CREAT | O_WRONLY, 0666));
		for (;;)
			pause();
	}
	errno = ENOSPC;
	return true;
}

/* Keeps errno. */
static void tell(long n, const char *name, const char *path, bool done)
{
	const char *log = getenv("HAUL_STEPS_LOG"), *own = getenv("PMI_RANK");
	char line[4200];
	int error = errno, fd, length;

	if (n == NOT_COUNTED || !log || !done)
		return;
	fd = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	length = snprintf(line, sizeof(line), "%s %ld %s %s\n", own ? own : "0", n, name, path);
	if (fd < 0 || REAL(write)(fd, line, (size_t)length) != length)
		abort();
	close(fd);
	errno = error;
}

ssize_t write(int fd, const void *data, size_t size)
{
	char path[4096];
	long n = begin(path_of(fd, path), true);
	ssize_t done;

	if (ends_at(n)) {
		REAL(write)(fd, data, size / 2);
		raise(SIGKILL);
	}
	done = no_room(n) ? -1 : REAL(write)(fd, data, size);
	tell(n, "write", path, done >= 0);
	return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	char path[4096];
	long n = begin(path_of(fd, path), true);
	ssize_t done;

	if (ends_at(n)) {
		REAL(pwrite)(fd, data, size / 2, at);
		raise(SIGKILL);
	}
	done = no_room(n) ? -1 : REAL(pwrite)(fd, data, size, at);
	tell(n, "write", path, done >= 0);
	return done;
}

/* What opens for reading, or what is there already, changes nothing. */
int open(const char *path, int flags, ...)
{
	long n = flags & (O_CREAT | O_TRUNC) ? begin(path, false) : NOT_COUNTED;
	mode_t mode = 0;
	va_list list;
	int fd;

	va_start(list, flags);
	if (flags & O_CREAT)
		mode = va_arg(list, mode_t);
	va_end(list);
	fd = no_room(n) ? -1 : REAL(open)(path, flags, mode);
	tell(n, "create", path, fd >= 0);
	return fd;
}

int ftruncate(int fd, off_t size)
{
	char path[4096];
	long n = begin(path_of(fd, path), false);
	int rc = no_room(n) ? -1 : REAL(ftruncate)(fd, size);

	tell(n, "truncate", path, rc == 0);
	return rc;
}

int posix_fallocate(int fd, off_t at, off_t size)
{
	char path[4096];
	long n = begin(path_of(fd, path), false);
	int rc = no_room(n) ? ENOSPC : REAL(posix_fallocate)(fd, at, size);

	tell(n, "reserve", path, rc == 0);
	return rc;
}

/* A file system on a network and a quota may tell only here that there was no room. */
int fsync(int fd)
{
	char path[4096];
	long n = begin(path_of(fd, path), false);
	int rc = no_room(n) ? -1 : REAL(fsync)(fd);

	tell(n, "sync", path, rc == 0);
	return rc;
}

int fdatasync(int fd)
{
	char path[4096];
	long n = begin(path_of(fd, path), false);
	int rc = no_room(n) ? -1 : REAL(fdatasync)(fd);

	tell(n, "sync", path, rc == 0);
	return rc;
}

int rename(const char *from, const char *to)
{
	long n = begin(to, false);
	int rc = no_room(n) ? -1 : REAL(rename)(from, to);

	tell(n, "rename", to, rc == 0);
	return rc;
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	long n = begin(to, false);
	int rc = no_room(n) ? -1 : REAL(renameat2)(from_fd, from, to_fd, to, flags);

	tell(n, "rename", to, rc == 0);
	return rc;
}

int link(const char *from, const char *to)
{
	long n = begin(to, false);
	int rc = no_room(n) ? -1 : REAL(link)(from, to);

	tell(n, "link", to, rc == 0);
	return rc;
}

int mkdir(const char *path, mode_t mode)
{
	long n = begin(path, false);
	int rc = no_room(n) ? -1 : REAL(mkdir)(path, mode);

	tell(n, "mkdir", path, rc == 0);
	return rc;
}

int rmdir(const char *path)
{
	long n = begin(path, false);
	int rc = REAL(rmdir)(path);

	tell(n, "rmdir", path, true);
	return rc;
}

/* What is not there need not be removed. */
int unlink(const char *path)
{
	long n = begin(path, false);
	int rc = REAL(unlink)(path);

	tell(n, "unlink", path, true);
	return rc;
}

int unlinkat(int folder_fd, const char *name, int flags)
{
	char path[4096];
	long n = begin(path_of(folder_fd, path), false);
	int rc = REAL(unlinkat)(folder_fd, name, flags);

	tell(n, "unlink", path, rc == 0);
	return rc;
}

/* On a 64-bit machine these are the same calls. */
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
	__attribute__((alias("pwrite")));
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int ftruncate64(int fd, off64_t size) __attribute__((alias("ftruncate")));
int posix_fallocate64(int fd, off64_t at, off64_t size) __attribute__((alias("posix_fallocate")));
