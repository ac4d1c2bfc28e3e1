/* SPDX-License-Identifier: Apache-2.0 */
/* Probed by doing: an open file system may refuse O_DIRECT only at the first transfer. */
#include "backends/file/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/numbers.h"

enum { DIRECT_BLOCK = 4096, DIRECT_BLOCK_MAX = 1 << 20 };

void file_standing_folder(const char *path, char folder[URI_BYTES])
{
	struct stat st;
	char *slash;

	snprintf(folder, URI_BYTES, "%s", path);
	while (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode)) {
		slash = strrchr(folder, '/');
		if (!slash) {
			strcpy(folder, ".");
			return;
		}
		slash[slash == folder ? 1 : 0] = '\0';
		if (strcmp(folder, "/") == 0)
			return;
	}
}

/* Not every file system has files without a name. */
static int open_nameless(const char *folder, int flags)
{
	char name[URI_BYTES + 32];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
	int saved;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	snprintf(name, sizeof(name), "%s/.haul-probe-XXXXXX", folder);
	fd = mkostemp(name, O_CLOEXEC | flags);
	saved = errno;
	/* A refused O_DIRECT may leave the name behind. */
	unlink(name);
	errno = saved;
	return fd;
}

int file_nameless(const char *root, int flags)
{
	char folder[URI_BYTES];
	int fd;

	file_standing_folder(root, folder);
	fd = open_nameless(folder, flags);
	return fd < 0 ? -errno : fd;
}

int file_trial(const char *root, int flags)
{
	int fd = file_nameless(root, flags);

	if (fd >= 0)
		return fd;
	fd = memfd_create("haul-trial", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool file_kernel_knows(int fd)
{
	return syscall(SYS_fcntl, fd, F_GETFD) >= 0;
}

static uint32_t block_told(int fd)
{
#ifdef STATX_DIOALIGN
	struct statx st;
	uint32_t block;

	if (!file_kernel_knows(fd) || statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) < 0 ||
	    !(st.stx_mask & STATX_DIOALIGN))
		return DIRECT_BLOCK;
	block = max_u64(st.stx_dio_offset_align, st.stx_dio_mem_align);
	if (block > 1 && block <= DIRECT_BLOCK_MAX && (block & (block - 1)) == 0)
		return block;
#else
	(void)fd;
#endif
	return DIRECT_BLOCK;
}

static int try_block(int fd, uint32_t block)
{
	void *data;
	int rc = 0;

	if (posix_memalign(&data, block, block) != 0)
		return -ENOMEM;
	memset(data, 0, block);
	if (pwrite(fd, data, block, 0) != (ssize_t)block ||
	    pread(fd, data, block, 0) != (ssize_t)block)
		rc = errno ? -errno : -EIO;
	free(data);
	return rc;
}

int file_direct_block(const char *root, uint32_t *block, struct err *err)
{
	char folder[URI_BYTES];
	int fd, rc;

	*block = DIRECT_BLOCK;
	file_standing_folder(root, folder);
	fd = open_nameless(folder, O_DIRECT);
	if (fd < 0) {
		if (errno == EINVAL)
			goto refused;
		/* Not to be written: what is only read tells at its first open. */
		return 0;
	}
	*block = block_told(fd);
	errno = 0;
	rc = try_block(fd, *block);
	close(fd);
	/* A full disk says nothing about direct I/O. */
	if (rc == 0 || rc == -ENOSPC || rc == -EDQUOT)
		return 0;
	if (rc != -EINVAL)
		return err_set(err, rc, "%s: trying direct I/O: %s", folder, strerror(-rc));
refused:
	return err_set(err, -EINVAL,
		       "%s: this file system refuses direct I/O; leave \"direct\" out", folder);
}
