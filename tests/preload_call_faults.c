/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded library that makes a call on certain files fail, hang or take longer at its n-th time.
 *
 *	HAUL_FAULT        CALL:N:WHAT[+], with CALL one of the table below, and WHAT an errno (EIO), "hang", "short"
 *	                  (half of the bytes), or a number of microseconds. "+": also each later call
 *	HAUL_FAULT_PATH   a part of the path of the files; only their calls count
 *	HAUL_FAULT_RANK   only on this rank (compared with PMI_RANK); unset: on all ranks
 *	HAUL_FAULT_HITS   a file to which each hit adds a line
 *
 * A call that hangs does not return, as on a file system whose server is gone, and each call on such a file hangs after it. The
 * ring is io_uring: its calls count whatever the file, because they bear no path. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FAULT_NONE, FAULT_ERROR, FAULT_SHORT };

static const struct {
	const char *name;
	int number;
} errnos[] = {{"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EINTR", EINTR},   {"EAGAIN", EAGAIN},
	      {"ESTALE", ESTALE}, {"EDQUOT", EDQUOT}, {"ENOMEM", ENOMEM}, {"EACCES", EACCES},
	      {"ENOENT", ENOENT}, {"EMFILE", EMFILE}};

static struct {
	char call[16], what[16], path[1024], hits[1024];
	long n, error, delay_us;
	bool set, hang, half, later;
	_Atomic long seen;
	_Atomic bool hung;
} fault;

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void fault_read(void)
{
	const char *text = getenv("HAUL_FAULT"), *path = getenv("HAUL_FAULT_PATH");
	const char *rank = getenv("HAUL_FAULT_RANK"), *own = getenv("PMI_RANK");
	const char *hits = getenv("HAUL_FAULT_HITS");

	/* Programs that start the ranks have no rank. */
	if (!text || !own || (rank && strcmp(rank, own) != 0))
		return;
	if (sscanf(text, "%15[^:]:%ld:%15[^+]", fault.call, &fault.n, fault.what) != 3)
		abort();
	fault.later = text[strlen(text) - 1] == '+';
	fault.hang = strcmp(fault.what, "hang") == 0;
	fault.half = strcmp(fault.what, "short") == 0;
	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (strcmp(errnos[i].name, fault.what) == 0)
			fault.error = errnos[i].number;
	fault.delay_us = atol(fault.what);
	if (!fault.hang && !fault.half && !fault.error && !fault.delay_us)
		abort();
	snprintf(fault.path, sizeof(fault.path), "%s", path ? path : "");
	snprintf(fault.hits, sizeof(fault.hits), "%s", hits ? hits : "");
	fault.set = true;
}

static void say_hit(const char *path)
{
	char line[2048];
	int fd, n;

	if (!*fault.hits)
		return;
	n = snprintf(line, sizeof(line), "%s %ld %s %s\n", fault.call, fault.n, fault.what, path);
	fd = (int)syscall(SYS_openat, AT_FDCWD, fault.hits,
			  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	syscall(SYS_write, fd, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line));
	syscall(SYS_close, fd);
}

/* path may be NULL: then the file is behind fd; both missing: any file. */
static bool fault_of_file(const char *path, int fd, char *found, size_t room)
{
	char link[64];
	ssize_t n = 0;

	*found = '\0';
	if (path && (path[0] == '/' || fd == AT_FDCWD || fd < 0)) {
		snprintf(found, room, "%s", path);
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = syscall(SYS_readlinkat, AT_FDCWD, link, found, room - 1);
		n = n > 0 ? n : 0;
		snprintf(found + n, room - (size_t)n, "%s%s", path ? "/" : "", path ? path : "");
	}
	return strstr(found, fault.path) != NULL;
}

static int fault_now(const char *call, const char *path, int fd)
{
	int old = errno;
	char found[2048] = "";
	bool file, ring = strcmp(call, "ring") == 0;
	long seen;

	if (!fault.set || (!fault.hung && strcmp(call, fault.call) != 0))
		return FAULT_NONE;
	file = ring || fault_of_file(path, fd, found, sizeof(found));
	errno = old;
	if (!file)
		return FAULT_NONE;
	if (fault.hung && (!ring || strcmp(fault.call, "ring") == 0))
		for (;;)
			sleep(1000);
	if (strcmp(call, fault.call) != 0)
		return FAULT_NONE;
	seen = ++fault.seen;
	if (seen != fault.n && !(fault.later && seen > fault.n))
		return FAULT_NONE;
	if (seen == fault.n)
		say_hit(found);
	if (fault.hang) {
		fault.hung = true;
		for (;;)
			sleep(1000);
	}
	if (fault.delay_us)
		usleep((useconds_t)fault.delay_us);
	errno = fault.error ? (int)fault.error : old;
	return fault.error ? FAULT_ERROR : fault.half ? FAULT_SHORT : FAULT_NONE;
}

/* Half of the bytes, but never none. */
static size_t fault_bytes(int now, size_t bytes)
{
	return now == FAULT_SHORT && bytes > 1 ? bytes / 2 : bytes;
}

ssize_t read(int fd, void *data, size_t size)
{
	static ssize_t (*next)(int, void *, size_t);
	int now = fault_now("read", NULL, fd);

	if (!next)
		next = real("read");
	return now == FAULT_ERROR ? -1 : next(fd, data, fault_bytes(now, size));
}

ssize_t pread(int fd, void *data, size_t size, off_t at)
{
	static ssize_t (*next)(int, void *, size_t, off_t);
	int now = fault_now("read", NULL, fd);

	if (!next)
		next = real("pread");
	return now == FAULT_ERROR ? -1 : next(fd, data, fault_bytes(now, size), at);
}

ssize_t write(int fd, const void *data, size_t size)
{
	static ssize_t (*next)(int, const void *, size_t);
	int now = fault_now("write", NULL, fd);

	if (!next)
		next = real("write");
	return now == FAULT_ERROR ? -1 : next(fd, data, fault_bytes(now, size));
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	static ssize_t (*next)(int, const void *, size_t, off_t);
	int now = fault_now("write", NULL, fd);

	if (!next)
		next = real("pwrite");
	return now == FAULT_ERROR ? -1 : next(fd, data, fault_bytes(now, size), at);
}

static bool has_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

int open(const char *path, int flags, ...)
{
	static int (*next)(const char *, int, ...);
	mode_t mode = 0;
	va_list more;

	va_start(more, flags);
	if (has_mode(flags))
		mode = va_arg(more, mode_t);
	va_end(more);
	if (!next)
		next = real("open");
	return fault_now("open", path, -1) == FAULT_ERROR ? -1 : next(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
	static int (*next)(int, const char *, int, ...);
	mode_t mode = 0;
	va_list more;

	va_start(more, flags);
	if (has_mode(flags))
		mode = va_arg(more, mode_t);
	va_end(more);
	if (!next)
		next = real("openat");
	return fault_now("open", path, folder) == FAULT_ERROR ? -1
							      : next(folder, path, flags, mode);
}

int fsync(int fd)
{
	static int (*next)(int);

	if (!next)
		next = real("fsync");
	return fault_now("fsync", NULL, fd) == FAULT_ERROR ? -1 : next(fd);
}

int fdatasync(int fd)
{
	static int (*next)(int);

	if (!next)
		next = real("fdatasync");
	return fault_now("fsync", NULL, fd) == FAULT_ERROR ? -1 : next(fd);
}

/* The descriptor is gone after an error, as the kernel does it. */
int close(int fd)
{
	static int (*next)(int);
	int now = fault_now("close", NULL, fd), number = errno, rc;

	if (!next)
		next = real("close");
	rc = next(fd);
	if (now != FAULT_ERROR)
		return rc;
	errno = number;
	return -1;
}

int rename(const char *from, const char *to)
{
	static int (*next)(const char *, const char *);

	if (!next)
		next = real("rename");
	return fault_now("rename", to, -1) == FAULT_ERROR ? -1 : next(from, to);
}

int renameat2(int from, const char *name, int to, const char *other, unsigned flags)
{
	static int (*next)(int, const char *, int, const char *, unsigned);

	if (!next)
		next = real("renameat2");
	return fault_now("rename", other, to) == FAULT_ERROR ? -1
							     : next(from, name, to, other, flags);
}

int link(const char *from, const char *to)
{
	static int (*next)(const char *, const char *);

	if (!next)
		next = real("link");
	return fault_now("rename", to, -1) == FAULT_ERROR ? -1 : next(from, to);
}

int unlink(const char *path)
{
	static int (*next)(const char *);

	if (!next)
		next = real("unlink");
	return fault_now("unlink", path, -1) == FAULT_ERROR ? -1 : next(path);
}

int unlinkat(int folder, const char *path, int flags)
{
	static int (*next)(int, const char *, int);

	if (!next)
		next = real("unlinkat");
	return fault_now("unlink", path, folder) == FAULT_ERROR ? -1 : next(folder, path, flags);
}

int stat(const char *path, struct stat *st)
{
	static int (*next)(const char *, struct stat *);

	if (!next)
		next = real("stat");
	return fault_now("stat", path, -1) == FAULT_ERROR ? -1 : next(path, st);
}

int statx(int folder, const char *path, int flags, unsigned mask, struct statx *st)
{
	static int (*next)(int, const char *, int, unsigned, struct statx *);

	if (!next)
		next = real("statx");
	return fault_now("stat", path, folder) == FAULT_ERROR ? -1
							      : next(folder, path, flags, mask, st);
}

int mkdir(const char *path, mode_t mode)
{
	static int (*next)(const char *, mode_t);

	if (!next)
		next = real("mkdir");
	return fault_now("mkdir", path, -1) == FAULT_ERROR ? -1 : next(path, mode);
}

struct io_uring;
int io_uring_submit(struct io_uring *ring);
int io_uring_enter2(unsigned fd, unsigned submit, unsigned wait, unsigned flags, void *argument,
		    size_t size);

/* liburing's calls return negative errnos. */
int io_uring_submit(struct io_uring *ring)
{
	static int (*next)(struct io_uring *);

	if (!next)
		next = real("io_uring_submit");
	return fault_now("ring", NULL, -1) == FAULT_ERROR ? -errno : next(ring);
}

int io_uring_enter2(unsigned fd, unsigned submit, unsigned wait, unsigned flags, void *argument,
		    size_t size)
{
	static int (*next)(unsigned, unsigned, unsigned, unsigned, void *, size_t);

	if (!next)
		next = real("io_uring_enter2");
	return fault_now("ring", NULL, -1) == FAULT_ERROR
		       ? -errno
		       : next(fd, submit, wait, flags, argument, size);
}

/* On a 64-bit machine these are the same calls. */
ssize_t pread64(int fd, void *data, size_t size, off64_t at) __attribute__((alias("pread")));
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
	__attribute__((alias("pwrite")));
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));
