/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded library that makes a call on certain files fail, hang, take longer or kill the process at its n-th time, and tells
 * which calls have changed them.
 *
 *	HAUL_FAULT        CALL:N:WHAT[+], with CALL a name that a function below hands to fault_begin, or "step": any that
 *	                  changes a file or a folder. WHAT is an errno (EIO), "hang", "short" (half of the bytes), "kill"
 *	                  (SIGKILL before the call, or when half of the bytes are written), or a number of microseconds,
 *	                  which a processor spends if "c" stands behind it.
 *	                  "+": also each later call
 *	HAUL_FAULT_PATH   a part of the path of the files; only their calls count
 *	HAUL_FAULT_RANK   only on this rank (compared with PMI_RANK); unset: on all ranks
 *	HAUL_FAULT_WHEN   only once there is a file of that name
 *	HAUL_FAULT_HITS   a file to which the first hit adds a line
 *	HAUL_FAULT_LOG    a file to which each step that was done adds a line: rank, number (from 0), name, path
 *
 * A call that hangs does not return, as on a file system whose server is gone, and each call on such a file hangs after it. A copy
 * of that process does not come to an end, either, because the kernel would close the files that it has in common. What
 * removes something never lacks room. The ring is io_uring: its calls count whatever the file, because they bear no path. */
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
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FAULT_NONE, FAULT_ERROR, FAULT_SHORT, FAULT_KILL };
enum { CHANGES = 1, REMOVES = 2 }; /* kinds of steps */

static const struct {
	const char *name;
	int number;
} errnos[] = {{"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EINTR", EINTR},   {"EAGAIN", EAGAIN},
	      {"ESTALE", ESTALE}, {"EDQUOT", EDQUOT}, {"ENOMEM", ENOMEM}, {"EACCES", EACCES},
	      {"ENOENT", ENOENT}, {"EMFILE", EMFILE}};

static struct {
	char call[16], what[16], path[1024], when[1024], hits[1024], log[1024];
	const char *rank;
	long n, error, delay_us;
	bool set, hang, half, kills, later, computes;
	_Atomic long seen, steps;
	_Atomic bool hung, hit;
	_Atomic pid_t hung_in;
} fault;

/* One call. */
struct call {
	const char *name;
	long step; /* its number; -1: none that counts */
	char path[2048];
};

static void copy_variable(char *out, size_t room, const char *name)
{
	const char *value = getenv(name);

	snprintf(out, room, "%s", value ? value : "");
}

static void fault_parse(const char *text)
{
	if (sscanf(text, "%15[^:]:%ld:%15[^+]", fault.call, &fault.n, fault.what) != 3)
		abort();
	fault.later = text[strlen(text) - 1] == '+';
	fault.hang = strcmp(fault.what, "hang") == 0;
	fault.half = strcmp(fault.what, "short") == 0;
	fault.kills = strcmp(fault.what, "kill") == 0;
	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (strcmp(errnos[i].name, fault.what) == 0)
			fault.error = errnos[i].number;
	fault.delay_us = atol(fault.what);
	fault.computes = strchr(fault.what, 'c') != NULL;
	if (!fault.hang && !fault.half && !fault.kills && !fault.error && !fault.delay_us)
		abort();
	fault.set = true;
}

__attribute__((constructor)) static void fault_read(void)
{
	const char *text = getenv("HAUL_FAULT"), *rank = getenv("HAUL_FAULT_RANK");

	/* Programs that start the ranks have no rank. */
	fault.rank = getenv("PMI_RANK");
	if (!fault.rank)
		return;
	copy_variable(fault.path, sizeof(fault.path), "HAUL_FAULT_PATH");
	copy_variable(fault.when, sizeof(fault.when), "HAUL_FAULT_WHEN");
	copy_variable(fault.hits, sizeof(fault.hits), "HAUL_FAULT_HITS");
	copy_variable(fault.log, sizeof(fault.log), "HAUL_FAULT_LOG");
	if (text && (!rank || strcmp(rank, fault.rank) == 0))
		fault_parse(text);
}

/* Keeps errno. */
static void add_line(const char *file, const char *line)
{
	int old = errno;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			      0600);

	if (fd < 0 || syscall(SYS_write, fd, line, strlen(line)) != (long)strlen(line))
		abort();
	syscall(SYS_close, fd);
	errno = old;
}

static void say_hit(const struct call *c)
{
	char line[2200];

	if (!*fault.hits || atomic_exchange(&fault.hit, true))
		return;
	snprintf(line, sizeof(line), "%s %ld %s %s\n", fault.call, fault.n, fault.what, c->path);
	add_line(fault.hits, line);
}

/* path may be NULL: then the file is behind fd. */
static void find_path(struct call *c, const char *path, int fd)
{
	char link[64];
	ssize_t n;

	if (path && (path[0] == '/' || fd == AT_FDCWD || fd < 0)) {
		snprintf(c->path, sizeof(c->path), "%s", path);
		return;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, link, c->path, sizeof(c->path) - 1);
	n = n > 0 ? n : 0;
	snprintf(c->path + n, sizeof(c->path) - (size_t)n, "%s%s", path ? "/" : "",
		 path ? path : "");
}

static _Noreturn void hang(void)
{
	if (!fault.hung)
		fault.hung_in = getpid();
	fault.hung = true;
	for (;;)
		sleep(1000);
}

static void compute(long us)
{
	struct timespec now;
	long from_us = -1, now_us;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		now_us = now.tv_sec * 1000000 + now.tv_nsec / 1000;
		from_us = from_us < 0 ? now_us : from_us;
	} while (now_us - from_us < us);
}

/* What becomes of a call of the kind that the fault is of, on such a file. */
static int fault_of_kind(const struct call *c, int step)
{
	long seen = ++fault.seen;

	if (seen != fault.n && !(fault.later && seen > fault.n))
		return FAULT_NONE;
	if (*fault.when && syscall(SYS_faccessat, AT_FDCWD, fault.when, F_OK) < 0)
		return FAULT_NONE;
	if (step == REMOVES && fault.error == ENOSPC)
		return FAULT_NONE;
	say_hit(c);
	if (fault.hang)
		hang();
	if (fault.delay_us && fault.computes)
		compute(fault.delay_us);
	else if (fault.delay_us)
		usleep((useconds_t)fault.delay_us);
	return fault.error   ? FAULT_ERROR
	       : fault.half  ? FAULT_SHORT
	       : fault.kills ? FAULT_KILL
			     : FAULT_NONE;
}

/* step: CHANGES, REMOVES, or 0. Sets errno for FAULT_ERROR, and keeps it otherwise. */
static int fault_begin(struct call *c, const char *name, int step, const char *path, int fd)
{
	int old = errno, now = FAULT_NONE;
	bool ring = strcmp(name, "ring") == 0;

	*c = (struct call){.name = name, .step = -1};
	if (!fault.set && !*fault.log)
		return FAULT_NONE;
	if (!ring)
		find_path(c, path, fd);
	errno = old;
	if (!ring && !strstr(c->path, fault.path))
		return FAULT_NONE;
	if (step)
		c->step = fault.steps++;
	if (fault.hung && (!ring || strcmp(fault.call, "ring") == 0))
		hang();
	if (fault.set &&
	    (strcmp(name, fault.call) == 0 || (step && strcmp(fault.call, "step") == 0)))
		now = fault_of_kind(c, step);
	errno = now == FAULT_ERROR ? (int)fault.error : old;
	return now;
}

/* Half of the bytes, but never none. */
static size_t fault_bytes(int now, size_t bytes)
{
	return (now == FAULT_SHORT || now == FAULT_KILL) && bytes > 1 ? bytes / 2 : bytes;
}

/* A call of which there are no halves. */
static bool fault_fails(int now)
{
	if (now == FAULT_KILL)
		raise(SIGKILL);
	return now == FAULT_ERROR;
}

static void fault_end(const struct call *c, int now, bool done)
{
	char line[2200];

	if (now == FAULT_KILL)
		raise(SIGKILL);
	if (c->step < 0 || !*fault.log || !done)
		return;
	snprintf(line, sizeof(line), "%s %ld %s %s\n", fault.rank, c->step, c->name, c->path);
	add_line(fault.log, line);
}

/* The function that would have been called. */
#define NEXT(name) \
	static __typeof__(&name) next; \
	struct call c; \
\
	next = next ? next : (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t read(int fd, void *data, size_t size)
{
	NEXT(read);
	int now = fault_begin(&c, "read", 0, NULL, fd);

	return fault_fails(now) ? -1 : next(fd, data, fault_bytes(now, size));
}

ssize_t pread(int fd, void *data, size_t size, off_t at)
{
	NEXT(pread);
	int now = fault_begin(&c, "read", 0, NULL, fd);

	return fault_fails(now) ? -1 : next(fd, data, fault_bytes(now, size), at);
}

ssize_t write(int fd, const void *data, size_t size)
{
	NEXT(write);
	int now = fault_begin(&c, "write", CHANGES, NULL, fd);
	ssize_t done = now == FAULT_ERROR ? -1 : next(fd, data, fault_bytes(now, size));

	fault_end(&c, now, done >= 0);
	return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	NEXT(pwrite);
	int now = fault_begin(&c, "write", CHANGES, NULL, fd);
	ssize_t done = now == FAULT_ERROR ? -1 : next(fd, data, fault_bytes(now, size), at);

	fault_end(&c, now, done >= 0);
	return done;
}

static bool has_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* What opens for reading, or what is there already, changes nothing. */
static int opens(int flags)
{
	return flags & (O_CREAT | O_TRUNC) ? CHANGES : 0;
}

int open(const char *path, int flags, ...)
{
	NEXT(open);
	mode_t mode = 0;
	va_list more;
	int fd, now;

	va_start(more, flags);
	if (has_mode(flags))
		mode = va_arg(more, mode_t);
	va_end(more);
	now = fault_begin(&c, "open", opens(flags), path, -1);
	fd = fault_fails(now) ? -1 : next(path, flags, mode);
	fault_end(&c, now, fd >= 0);
	return fd;
}

int openat(int folder, const char *path, int flags, ...)
{
	NEXT(openat);
	mode_t mode = 0;
	va_list more;
	int fd, now;

	va_start(more, flags);
	if (has_mode(flags))
		mode = va_arg(more, mode_t);
	va_end(more);
	now = fault_begin(&c, "open", opens(flags), path, folder);
	fd = fault_fails(now) ? -1 : next(folder, path, flags, mode);
	fault_end(&c, now, fd >= 0);
	return fd;
}

/* The descriptor is gone after an error, as the kernel does it. */
int close(int fd)
{
	NEXT(close);
	int now = fault_begin(&c, "close", 0, NULL, fd), number = errno, rc;

	rc = next(fd);
	if (!fault_fails(now))
		return rc;
	errno = number;
	return -1;
}

int ftruncate(int fd, off_t size)
{
	NEXT(ftruncate);
	int now = fault_begin(&c, "truncate", CHANGES, NULL, fd);
	int rc = fault_fails(now) ? -1 : next(fd, size);

	fault_end(&c, now, rc == 0);
	return rc;
}

int posix_fallocate(int fd, off_t at, off_t size)
{
	NEXT(posix_fallocate);
	int now = fault_begin(&c, "reserve", CHANGES, NULL, fd);
	int rc = fault_fails(now) ? errno : next(fd, at, size);

	fault_end(&c, now, rc == 0);
	return rc;
}

/* A file system on a network and a quota may tell only here that there was no room. */
int fsync(int fd)
{
	NEXT(fsync);
	int now = fault_begin(&c, "fsync", CHANGES, NULL, fd);
	int rc = fault_fails(now) ? -1 : next(fd);

	fault_end(&c, now, rc == 0);
	return rc;
}

int fdatasync(int fd)
{
	NEXT(fdatasync);
	int now = fault_begin(&c, "fsync", CHANGES, NULL, fd);
	int rc = fault_fails(now) ? -1 : next(fd);

	fault_end(&c, now, rc == 0);
	return rc;
}

int rename(const char *from, const char *to)
{
	NEXT(rename);
	int now = fault_begin(&c, "rename", CHANGES, to, -1);
	int rc = fault_fails(now) ? -1 : next(from, to);

	fault_end(&c, now, rc == 0);
	return rc;
}

int renameat2(int from, const char *name, int to, const char *other, unsigned flags)
{
	NEXT(renameat2);
	int now = fault_begin(&c, "rename", CHANGES, other, to);
	int rc = fault_fails(now) ? -1 : next(from, name, to, other, flags);

	fault_end(&c, now, rc == 0);
	return rc;
}

int link(const char *from, const char *to)
{
	NEXT(link);
	int now = fault_begin(&c, "link", CHANGES, to, -1);
	int rc = fault_fails(now) ? -1 : next(from, to);

	fault_end(&c, now, rc == 0);
	return rc;
}

/* What is not there need not be removed. */
int unlink(const char *path)
{
	NEXT(unlink);
	int now = fault_begin(&c, "unlink", REMOVES, path, -1);
	int rc = fault_fails(now) ? -1 : next(path);

	fault_end(&c, now, true);
	return rc;
}

int unlinkat(int folder, const char *path, int flags)
{
	NEXT(unlinkat);
	int now = fault_begin(&c, "unlink", REMOVES, path, folder);
	int rc = fault_fails(now) ? -1 : next(folder, path, flags);

	fault_end(&c, now, rc == 0);
	return rc;
}

int rmdir(const char *path)
{
	NEXT(rmdir);
	int now = fault_begin(&c, "rmdir", REMOVES, path, -1);
	int rc = fault_fails(now) ? -1 : next(path);

	fault_end(&c, now, true);
	return rc;
}

int mkdir(const char *path, mode_t mode)
{
	NEXT(mkdir);
	int now = fault_begin(&c, "mkdir", CHANGES, path, -1);
	int rc = fault_fails(now) ? -1 : next(path, mode);

	fault_end(&c, now, rc == 0);
	return rc;
}

int stat(const char *path, struct stat *st)
{
	NEXT(stat);
	int now = fault_begin(&c, "stat", 0, path, -1);
	int rc = fault_fails(now) ? -1 : next(path, st);

	fault_end(&c, now, rc == 0);
	return rc;
}

int statx(int folder, const char *path, int flags, unsigned mask, struct statx *st)
{
	NEXT(statx);
	int now = fault_begin(&c, "stat", 0, path, folder);
	int rc = fault_fails(now) ? -1 : next(folder, path, flags, mask, st);

	fault_end(&c, now, rc == 0);
	return rc;
}

struct io_uring;
int io_uring_submit(struct io_uring *ring);
int io_uring_enter2(unsigned fd, unsigned submit, unsigned wait, unsigned flags, void *argument,
		    size_t size);

/* liburing's calls return negative errnos. */
int io_uring_submit(struct io_uring *ring)
{
	NEXT(io_uring_submit);

	return fault_fails(fault_begin(&c, "ring", 0, NULL, -1)) ? -errno : next(ring);
}

int io_uring_enter2(unsigned fd, unsigned submit, unsigned wait, unsigned flags, void *argument,
		    size_t size)
{
	NEXT(io_uring_enter2);

	return fault_fails(fault_begin(&c, "ring", 0, NULL, -1))
		       ? -errno
		       : next(fd, submit, wait, flags, argument, size);
}

void _exit(int status)
{
	__typeof__(&_exit) next = (__typeof__(&_exit))dlsym(RTLD_NEXT, "_exit");

	if (fault.hung && fault.hung_in != getpid())
		hang();
	next(status);
}

/* On a 64-bit machine these are the same calls. */
ssize_t pread64(int fd, void *data, size_t size, off64_t at) __attribute__((alias("pread")));
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
	__attribute__((alias("pwrite")));
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));
int ftruncate64(int fd, off64_t size) __attribute__((alias("ftruncate")));
int posix_fallocate64(int fd, off64_t at, off64_t size) __attribute__((alias("posix_fallocate")));
