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

/* Draws in a row that all met a file. */
enum { PART_TRIES = 100 };

uint32_t part_draw(void)
{
	uint32_t draw;
	struct timespec now;

	if (getrandom(&draw, sizeof(draw), GRND_NONBLOCK) == (ssize_t)sizeof(draw))
		return draw;
	/* Soon after a machine has booted. A name that somebody foresaw is still refused, not followed. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint32_t)now.tv_nsec ^ (uint32_t)getpid() << 10;
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

int part_make(char **part, const char *path, const char *mark, mode_t mode)
{
	char ending[PART_ENDING_BYTES];
	int fd = -1;

	*part = NULL;
	for (int i = 0; i < PART_TRIES; i++) {
		part_ending(ending, mark, part_draw());
		if (asprintf(part, "%s%s", path, ending) < 0) {
			*part = NULL;
			return -ENOMEM;
		}
		do {
			fd = open(*part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		} while (fd < 0 && errno == EINTR);
		if (fd >= 0)
			return fd;
		fd = -errno;
		free(*part);
		*part = NULL;
		if (fd != -EEXIST)
			break;
	}
	return fd;
}

void part_remove_left(const char *path, const char *mark)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	size_t stem;

	while (entries && (entry = readdir(entries))) {
		stem = part_stem(entry->d_name, mark);
		if (stem == strlen(name) && strncmp(entry->d_name, name, stem) == 0)
			unlinkat(fd, entry->d_name, 0);
	}
	if (entries)
		closedir(entries);
	else if (fd >= 0)
		close(fd);
	free(folder);
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
