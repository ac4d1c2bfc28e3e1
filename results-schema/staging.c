/* SPDX-License-Identifier: Apache-2.0 */
/* Staging file of a publication: see staging.h. */
#include "results-schema/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/part.h"

enum { COPY_BYTES = 1 << 20 };

static char *drawn_path(const char *path, const char *mark, uint32_t draw)
{
	char ending[PART_ENDING_BYTES], *made;

	part_ending(ending, mark, draw);
	return asprintf(&made, "%s%s", path, ending) < 0 ? NULL : made;
}

char *staging_path(const char *path, uint32_t draw)
{
	return drawn_path(path, STAGING_PART, draw);
}

int staging_make(const char *part, struct err *err)
{
	int fd = part_open_own(part, 0666);

	if (fd < 0)
		return err_set(err, fd, "results file %s cannot be created: %s", part,
			       strerror(-fd));
	close(fd);
	return 0;
}

static int copy_bytes(int from, int to)
{
	char *buffer = malloc(COPY_BYTES);
	int rc = buffer ? 0 : -ENOMEM;

	while (rc == 0) {
		ssize_t n = read(from, buffer, COPY_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = n < 0 ? -errno : 0;
			break;
		}
		for (ssize_t done = 0; done < n && rc == 0;) {
			ssize_t k = write(to, buffer + done, (size_t)(n - done));

			if (k >= 0)
				done += k;
			else if (errno != EINTR)
				rc = -errno;
		}
	}
	free(buffer);
	return rc;
}

/* The error of a publication that found no room or could not write. */
static int no_room(const char *part, int rc, struct err *err)
{
	return err_set(err, rc, "no room for results: %s: %s; what was published is kept", part,
		       strerror(-rc));
}

int staging_copy_open(int from, const char *part, struct err *err)
{
	struct stat st;
	int to, rc = 0;

	if (fstat(from, &st) < 0 || lseek(from, 0, SEEK_SET) < 0)
		return err_set(err, -errno, "what was published cannot be read for %s: %s", part,
			       strerror(errno));
	to = part_open_own(part, st.st_mode & 0777);
	if (to < 0)
		return err_set(err, to, "%s cannot be created: %s", part, strerror(-to));
	/* Some file systems share the blocks of both files until one of them is written to. */
	if (ioctl(to, FICLONE, from) < 0)
		rc = copy_bytes(from, to);
	if (close(to) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0) {
		no_room(part, rc, err);
		unlink(part);
	}
	return rc;
}

int staging_copy(const char *path, const char *part, struct err *err)
{
	int from = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (from < 0)
		return err_set(err, -errno, "results file %s cannot be read: %s", path,
			       strerror(errno));
	rc = staging_copy_open(from, part, err);
	close(from);
	return rc;
}

int staging_keep(struct staging_base *base, const char *path, struct err *err)
{
	char *kept;
	int rc = 0;

	if (base->path)
		return 0;
	kept = drawn_path(path, STAGING_BASE, base->draw);
	if (!kept)
		return err_set(err, -ENOMEM, "no memory for the results");
	unlink(kept);
	base->empty = access(path, F_OK) < 0;
	if (!base->empty && link(path, kept) < 0)
		rc = staging_copy(path, kept, err);
	if (rc < 0)
		free(kept);
	else
		base->path = kept;
	return rc;
}

int staging_keep_part(struct staging_base *base, const char *part, const char *path,
		      struct err *err)
{
	char *kept;

	if (base->path)
		return 0;
	kept = drawn_path(path, STAGING_BASE, base->draw);
	if (!kept)
		return err_set(err, -ENOMEM, "no memory for the results");
	if (rename(part, kept) < 0) {
		int rc = err_set(err, -errno, "%s cannot be renamed: %s", part, strerror(errno));

		free(kept);
		return rc;
	}
	base->path = kept;
	base->empty = false;
	return 0;
}

int staging_take_over(struct staging_base *base, const char *path)
{
	char *kept = drawn_path(path, STAGING_BASE, base->draw);

	if (!kept)
		return -ENOMEM;
	if (access(kept, F_OK) < 0) {
		free(kept);
		return -ENOENT;
	}
	base->path = kept;
	return 0;
}

void staging_forget(struct staging_base *base)
{
	if (!base->path)
		return;
	if (!base->empty)
		unlink(base->path);
	free(base->path);
	base->path = NULL;
	base->empty = false;
}

int staging_reserve(const char *part, struct err *err)
{
	int fd = open(part, O_RDWR | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = -errno;
	else
		rc = -posix_fallocate(fd, 0, st.st_size);
	/* NFS and quotas may tell only now that there was no room. */
	if (fd >= 0 && close(fd) < 0 && rc == 0)
		rc = -errno;
	return rc < 0 ? no_room(part, rc, err) : 0;
}

/* Not every file system can sync a folder. Where it cannot, this does nothing. */
static int sync_folder(const char *path)
{
	char *copy = strdup(path);
	int fd, rc = 0;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		if (TEMP_FAILURE_RETRY(fsync(fd)) < 0 && errno != EINVAL && errno != ENOTSUP &&
		    errno != EBADF)
			rc = -errno;
		close(fd);
	}
	free(copy);
	return rc;
}

static int rename_exclusive(const char *part, const char *path)
{
	if (renameat2(AT_FDCWD, part, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
		return -errno;
	if (access(path, F_OK) == 0)
		return -EEXIST;
	return rename(part, path) < 0 ? -errno : 0;
}

/* What came there meanwhile and is no file stays. */
static int replaceable(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 || S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

int staging_publish(const char *part, const char *path, bool exclusive, struct err *err)
{
	int fd = open(part, O_RDWR | O_CLOEXEC), rc = 0;

	if (fd < 0 || TEMP_FAILURE_RETRY(fdatasync(fd)) < 0)
		rc = -errno;
	if (fd >= 0 && close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0)
		rc = replaceable(path);
	if (rc == 0 && exclusive)
		rc = rename_exclusive(part, path);
	else if (rc == 0 && rename(part, path) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(part);
		return err_set(err, rc, "results file %s cannot be put in place: %s", path,
			       strerror(-rc));
	}
	rc = sync_folder(path);
	return rc < 0 ? err_set(err, rc, "the folder of %s cannot be synced: %s", path,
				strerror(-rc))
		      : 0;
}
