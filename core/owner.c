/* SPDX-License-Identifier: Apache-2.0 */
/* Owner of a place: see owner.h. */
#include "core/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/clock_wait.h"

/* The file is removed by who gives the place back, maybe after it was opened here and before it is
 * locked. */
enum { OWNER_TRIES = 1000, OWNER_LOOKS = 100, OWNER_LOOK_NS = 5000000 };

static int owner_lock(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int rc;

	do {
		rc = fcntl(fd, F_OFD_SETLK, &whole) < 0 ? -errno : 0;
	} while (rc == -EINTR);
	if (rc == -EACCES)
		return -EAGAIN;
	return rc == 0 || rc == -EAGAIN ? rc : -ENOLCK;
}

/* Whether the file at path is still the one that was opened. */
static bool owner_stands(int fd, const char *path)
{
	struct stat mine, there;

	return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
	       mine.st_dev == there.st_dev;
}

static void owner_sign(int fd)
{
	char text[OWNER_TEXT_BYTES];
	size_t n = owner_text_line(text);

	/* Only the sentence of others depends on it. */
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, n, 0) < 0)
		return;
}

static void owner_read(int fd, char who[OWNER_TEXT_BYTES])
{
	char text[OWNER_TEXT_BYTES];
	ssize_t n = pread(fd, text, sizeof(text), 0);

	/* It signs right after it has locked the file. */
	for (int looks = 0; n == 0 && looks < OWNER_LOOKS; looks++) {
		clock_nap(OWNER_LOOK_NS);
		n = pread(fd, text, sizeof(text), 0);
	}
	owner_text_who(who, text, n > 0 ? (size_t)n : 0);
}

static int owner_open(const char *path, struct err *err)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666), rc;

	if (fd < 0) {
		rc = -errno;
		return err_set(err, rc, "%s: %s", path,
			       rc == -ELOOP
				       ? "is a symbolic link, where haul locks a file of its own"
				       : strerror(-rc));
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(err, -EINVAL,
			       "%s: is no regular file, where haul locks one of its own", path);
	}
	return fd;
}

int owner_take(struct owner *o, const char *path, struct err *err)
{
	int fd, rc;

	o->path = strdup(path);
	if (!o->path)
		return err_set(err, -ENOMEM, "%s: no memory", path);
	for (int i = 0; i < OWNER_TRIES; i++) {
		fd = rc = owner_open(path, err);
		if (fd < 0)
			goto out_free;
		rc = owner_lock(fd);
		if (rc == 0 && owner_stands(fd, path)) {
			owner_sign(fd);
			o->fd_and_one = fd + 1;
			return 0;
		}
		if (rc < 0) {
			owner_read(fd, o->who);
			close(fd);
			break;
		}
		close(fd);
	}
	rc = rc == -ENOLCK ? err_set(err, rc, "%s: this file system has no locks", path)
			   : err_set(err, -EBUSY, "%s: is locked by %s", path, o->who);
out_free:
	free(o->path);
	o->path = NULL;
	return rc;
}

void owner_drop(struct owner *o)
{
	if (o->lease)
		o->drop(o);
	if (!o->fd_and_one) {
		*o = (struct owner){0};
		return;
	}
	unlink(o->path);
	close(o->fd_and_one - 1);
	free(o->path);
	*o = (struct owner){0};
}
