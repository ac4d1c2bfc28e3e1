/* SPDX-License-Identifier: Apache-2.0 */
/* Preload that does with files what libpil4dfs of DAOS does: files below $HAUL_PIL4DFS_ROOT have
 * descriptors that the kernel does not know, and the C library's functions take them. It is no
 * DAOS. Built as libpil4dfs.so, because haul knows that library by its name. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* As FD_FILE_BASE of libpil4dfs. */
enum { OWN = 0x20000000 };

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int kernel_fd(int fd)
{
	return fd >= OWN ? fd - OWN : fd;
}

static int own_fd(const char *path, int fd)
{
	const char *root = getenv("HAUL_PIL4DFS_ROOT");
	struct stat st;

	if (fd < 0 || !root || strncmp(path, root, strlen(root)) != 0)
		return fd;
	return NEXT(fstat)(fd, &st) == 0 && S_ISREG(st.st_mode) ? fd + OWN : fd;
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list list;

	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_start(list, flags);
		mode = va_arg(list, mode_t);
		va_end(list);
	}
	return own_fd(path, NEXT(open)(path, flags, mode));
}

int mkostemp(char *path, int flags)
{
	return own_fd(path, NEXT(mkostemp)(path, flags));
}

int close(int fd)
{
	return NEXT(close)(kernel_fd(fd));
}

ssize_t pread(int fd, void *data, size_t length, off_t offset)
{
	return NEXT(pread)(kernel_fd(fd), data, length, offset);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset)
{
	return NEXT(pwrite)(kernel_fd(fd), data, length, offset);
}

ssize_t read(int fd, void *data, size_t length)
{
	return NEXT(read)(kernel_fd(fd), data, length);
}

ssize_t write(int fd, const void *data, size_t length)
{
	return NEXT(write)(kernel_fd(fd), data, length);
}

off_t lseek(int fd, off_t offset, int whence)
{
	return NEXT(lseek)(kernel_fd(fd), offset, whence);
}

int fstat(int fd, struct stat *st)
{
	return NEXT(fstat)(kernel_fd(fd), st);
}

int ftruncate(int fd, off_t length)
{
	return NEXT(ftruncate)(kernel_fd(fd), length);
}

/* Bytes are durable when they are written. */
int fsync(int fd)
{
	return fd >= OWN ? 0 : NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
	return fd >= OWN ? 0 : NEXT(fdatasync)(fd);
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
	if (fd < OWN)
		return NEXT(fallocate)(fd, mode, offset, length);
	errno = ENOTSUP;
	return -1;
}

/* As libpil4dfs: not an error number, but errno. */
int posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	if (fd < OWN)
		return NEXT(posix_fadvise)(fd, offset, length, advice);
	if (advice == POSIX_FADV_DONTNEED)
		return 0;
	errno = ENOTSUP;
	return -1;
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
	return NEXT(mmap)(at, length, protection, flags, kernel_fd(fd), offset);
}
