/* SPDX-License-Identifier: Apache-2.0 */
/* Parts: see part.h. */
#include "core/part.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

uint32_t part_draw(void)
{
	uint32_t draw;

	if (getrandom(&draw, sizeof(draw), GRND_NONBLOCK) == (ssize_t)sizeof(draw))
		return draw;
	/* Soon after a machine has booted. A name that somebody foresaw is still refused, not
	 * followed. */
	return (uint32_t)clock_kernel_ns() ^ (uint32_t)getpid() << 10;
}

void part_ending(char out[PART_ENDING_BYTES], const char *mark, uint32_t draw)
{
	snprintf(out, PART_ENDING_BYTES, "%.*s-%0*x", PART_MARK_BYTES - 1, mark, PART_DIGITS, draw);
}

size_t part_stem(const char *name, const char *mark)
{
	size_t length = strlen(name), more = strlen(mark);
	const char *number = length > PART_DIGITS + 1 ? name + length - PART_DIGITS - 1 : "";

	if (number[0] != '-' || strspn(number + 1, "0123456789abcdef") != PART_DIGITS)
		return 0;
	length -= PART_DIGITS + 1;
	return length > more && strncmp(name + length - more, mark, more) == 0 ? length - more : 0;
}

void part_visit(const char *path, const char *mark, mode_t kind,
		void (*visit)(void *argument, const char *part), void *argument)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t folder_bytes = (size_t)(name - path), stem;
	char *folder = slash ? strndup(path, folder_bytes) : strdup("."), *part;
	DIR *entries = folder ? opendir(folder) : NULL;
	struct dirent *entry;
	struct stat st;

	while (entries && (entry = readdir(entries))) {
		stem = part_stem(entry->d_name, mark);
		if (stem != strlen(name) || strncmp(entry->d_name, name, stem) != 0 ||
		    asprintf(&part, "%.*s%s", (int)folder_bytes, path, entry->d_name) < 0)
			continue;
		if (lstat(part, &st) == 0 && (st.st_mode & S_IFMT) == kind)
			visit(argument, part);
		free(part);
	}
	if (entries)
		closedir(entries);
	free(folder);
}

static void remove_part(void *argument, const char *part)
{
	(void)argument;
	unlink(part);
}

void part_remove_left(const char *path, const char *mark)
{
	part_visit(path, mark, S_IFREG, remove_part, NULL);
}

int part_open_own(const char *path, mode_t mode)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode), rc;
	struct stat st;

	if (fd >= 0 || errno != EEXIST)
		return fd < 0 ? -errno : fd;
	fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) < 0 ? -errno : 0;
	if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_nlink != 1))
		rc = -EEXIST;
	if (rc == 0 && ftruncate(fd, 0) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int part_fill(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes) {
		ssize_t n = TEMP_FAILURE_RETRY(write(fd, at, bytes));

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

bool part_of_others(const struct stat *st)
{
	return !S_ISREG(st->st_mode) || st->st_nlink > 1;
}

int part_put(const char *part, const char *path, bool once)
{
	struct stat st;

	if (once &&
	    TEMP_FAILURE_RETRY(renameat2(AT_FDCWD, part, AT_FDCWD, path, RENAME_NOREPLACE)) == 0)
		return 0;
	/* Over a folder, rename itself fails. */
	if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode) && part_of_others(&st))
		return -EEXIST;
	return TEMP_FAILURE_RETRY(rename(part, path)) < 0 ? -errno : 0;
}

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a folder";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	default:
		return "a device";
	}
}

int part_check_place(const char *path, bool force, const char *instead, bool *stands,
		     struct err *err)
{
	struct stat st;
	int rc;

	if (stands)
		*stands = false;
	if (lstat(path, &st) < 0) {
		rc = -errno;
		return rc == -ENOENT ? 0 : err_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	if (!S_ISREG(st.st_mode))
		return err_set(err, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
			       "%s is %s: haul replaces no more than a regular file; name another",
			       path, kind_of(st.st_mode));
	if (stands)
		*stands = true;
	return force ? 0 : err_set(err, -EEXIST, "%s exists; %s", path, instead);
}

int part_open_place(const char *path, bool force, const char *instead, int flags, struct err *err)
{
	bool stands;
	int rc = part_check_place(path, force, instead, &stands, err), fd;
	struct stat st;

	if (rc < 0)
		return rc;
	/* Between the look and this, another file may have come: it is not followed, not waited
	 * for, and not emptied unless it is a regular one. */
	flags |= O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (stands ? 0 : O_CREAT | O_EXCL);
	fd = open(path, flags, 0666);
	if (fd < 0)
		return err_set(err, -errno, "%s cannot be written: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		rc = -EINVAL;
	else if (stands && ftruncate(fd, 0) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return err_set(err, rc, "%s: cannot be replaced: %s", path, strerror(-rc));
}
