/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a whole file into memory: see file_read.h. */
#include "core/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_FIRST_BYTES = 64 << 10 };

/* Makes room for at least one byte more than is used. Returns NULL where there is no memory; then
 * text is freed. */
static char *file_grow(char *text, size_t *size, size_t used, size_t max)
{
	char *larger;

	if (text && used < *size)
		return text;
	*size = text ? 2 * *size : FILE_FIRST_BYTES;
	if (*size > max + 1)
		*size = max + 1;
	larger = realloc(text, *size + 1);
	if (!larger)
		free(text);
	return larger;
}

int file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	/* What is written into a pipe comes when it comes. */
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int file_refuse_pipe(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISFIFO(st.st_mode))
		return 0;
	return err_set(err, -ESPIPE,
		       "is a pipe, and it is read more than once; write it into a file before");
}

int file_read(const char *path, size_t max, char **text, size_t *length, struct err *err)
{
	size_t size = 0, used = 0;
	char *all = NULL;
	ssize_t n = 1;
	int fd = file_open(path), rc = 0;

	if (fd < 0)
		return err_set(err, fd, "%s", strerror(-fd));
	while (n && used <= max) {
		all = file_grow(all, &size, used, max);
		if (!all) {
			rc = err_set(err, -ENOMEM, "no memory");
			break;
		}
		n = read(fd, all + used, size - used);
		if (n > 0)
			used += (size_t)n;
		if (n >= 0 || errno == EINTR)
			continue;
		rc = err_set(err, -errno, "%s", strerror(errno));
		break;
	}
	close(fd);
	if (rc < 0 || !all) {
		free(all);
		return rc;
	}
	all[used] = '\0';
	*text = all;
	*length = used;
	return 0;
}
