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

/* The new text comes before what is cut off: a lock that says nothing would be taken for a file that haul did not make. */
static void owner_sign(int fd)
{
	char text[OWNER_TEXT_BYTES];
	size_t n = owner_text_line(text);

	/* Only the sentence of others depends on it. */
	if (pwrite(fd, text, n, 0) < 0 || ftruncate(fd, (off_t)n) < 0)
		return;
}

/* Reads what the lock at path says. It is empty for the moment between its making and its signature. Refuses a file that haul
 * did not make: a lock is written to and removed, so one of these would be lost, under whatever other name it has, too. */
static int owner_read(int fd, const char *path, char who[OWNER_TEXT_BYTES], struct err *err)
{
	char text[OWNER_TEXT_BYTES];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	struct stat st;

	for (int looks = 0; n == 0 && looks < OWNER_LOOKS && owner_stands(fd, path); looks++) {
		clock_nap(OWNER_LOOK_NS);
		n = pread(fd, text, sizeof(text), 0);
	}
	if (n < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!owner_stands(fd, path))
		return 0;
	if (st.st_nlink > 1)
		return err_set(
			err, -EINVAL,
			"%s: has a second name (a hard link), where haul locks a file of its "
			"own; move it",
			path);
	if (!owner_text_is(text, (size_t)n))
		return err_set(err, -EINVAL,
			       "%s: is a file that haul did not make, where haul locks one of its "
			       "own; move it",
			       path);
	owner_text_who(who, text, (size_t)n);
	return 0;
}

static int owner_refuse_kind(const char *path, struct err *err)
{
	return err_set(err, -EINVAL, "%s: is not a regular file, where haul locks one of its own",
		       path);
}

/* Opens the lock at path, which it makes if there is none: *made. */
static int owner_open(const char *path, bool *made, struct err *err)
{
	enum { ALWAYS = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
	struct stat st;
	int fd = open(path, ALWAYS | O_CREAT | O_EXCL, 0666), rc;

	*made = fd >= 0;
	if (fd < 0 && errno == EEXIST) {
		fd = open(path, ALWAYS);
		/* It was given back in between. (O_NOFOLLOW: a link is never followed.) */
		if (fd < 0 && errno == ENOENT)
			return -EAGAIN;
	}
	if (fd < 0) {
		rc = -errno;
		if (rc == -ELOOP)
			return err_set(err, rc,
				       "%s: is a symbolic link, where haul locks a file of its own",
				       path);
		return rc == -EISDIR ? owner_refuse_kind(path, err)
				     : err_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return owner_refuse_kind(path, err);
	}
	return fd;
}

/* One try. -EAGAIN: the file was given back or replaced in between. */
static int owner_try(struct owner *o, const char *path, struct err *err)
{
	bool made;
	int fd = owner_open(path, &made, err), rc;

	if (fd < 0)
		return fd;
	rc = made ? 0 : owner_read(fd, path, o->who, err);
	if (rc == 0) {
		rc = owner_lock(fd);
		if (rc == 0 && owner_stands(fd, path)) {
			owner_sign(fd);
			o->fd_and_one = fd + 1;
			return 0;
		}
		if (rc == -ENOLCK && made)
			unlink(path);
		rc = rc == -ENOLCK ? err_set(err, rc, "%s: this file system has no locks", path)
		     : rc == 0     ? -EAGAIN
				   : err_set(err, -EBUSY, "%s: is locked by %s", path, o->who);
	}
	close(fd);
	return rc;
}

int owner_take(struct owner *o, const char *path, struct err *err)
{
	int rc = -EAGAIN;

	o->path = strdup(path);
	if (!o->path)
		return err_set(err, -ENOMEM, "%s: no memory", path);
	snprintf(o->who, sizeof(o->who), "another process");
	for (int i = 0; rc == -EAGAIN && i < OWNER_TRIES; i++)
		rc = owner_try(o, path, err);
	if (rc == 0)
		return 0;
	free(o->path);
	o->path = NULL;
	return rc == -EAGAIN ? err_set(err, -EBUSY, "%s: is locked by %s", path, o->who) : rc;
}

void owner_drop(struct owner *o)
{
	if (o->lease)
		o->drop(o);
	if (!o->fd_and_one) {
		*o = (struct owner){0};
		return;
	}
	/* What another has put there in its place stays. */
	if (owner_stands(o->fd_and_one - 1, o->path))
		unlink(o->path);
	close(o->fd_and_one - 1);
	free(o->path);
	*o = (struct owner){0};
}
