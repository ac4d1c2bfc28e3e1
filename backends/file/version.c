/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a version of an object: beside the one that stands, which it replaces when it is whole; or in place.
 *
 * A new version of an object is written to "<key>.haul-1a2b3c4d" beside it (core/part.h), whose
 * folders are made as needed, and renamed over it by commit: a reader sees the old version or the
 * new one whole. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backends/file/file.h"
#include "core/made.h"
#include "core/part.h"

enum { PART_TRIES = 100 };

void file_path(const struct store *store, const struct object *o, const char *suffix,
	       char path[FILE_PATH_BYTES])
{
	size_t root = strlen(store->root), key = strnlen(o->key, OBJECT_KEY_BYTES - 1);

	memcpy(path, store->root, root);
	path[root] = '/';
	memcpy(path + root + 1, o->key, key);
	strcpy(path + root + 1 + key, suffix);
}

int file_open_retried(const char *path, int flags)
{
	int fd = TEMP_FAILURE_RETRY(open(path, flags | O_CLOEXEC, 0666));

	return fd < 0 ? -errno : fd;
}

/* Where the version that is begun lies until it is whole. */
static void part_path_of(const struct store *store, const struct object *o,
			 char path[FILE_PATH_BYTES])
{
	char ending[PART_ENDING_BYTES];

	if (o->state[FILE_ENDING]) {
		file_path(store, o, (const char *)(uintptr_t)o->state[FILE_ENDING], path);
		return;
	}
	part_ending(ending, PART_OF_OBJECT, (uint32_t)o->state[FILE_DRAWN]);
	file_path(store, o, ending, path);
}

/* Makes what was written to fd durable, where the options ask for it, and notes how long that took.
 */
int file_sync(const struct store *store, int fd, struct answer *a)
{
	uint64_t from_ns;
	int rc;

	if (file_options_of(store)->fsync == FILE_FSYNC_NONE)
		return 0;
	from_ns = clock_now(store->clock);
	rc = TEMP_FAILURE_RETRY(fsync(fd)) < 0 ? -errno : 0;
	a->sync_ns = clock_now(store->clock) - from_ns;
	return rc;
}

/* Made where it does not stand, with the layout of the options where that can be said. With O_EXCL,
 * a file or a link that stands there is -EEXIST; what the layout has made stands there then, and is
 * ours. */
static int open_laid_out(const struct store *store, const char *path, int flags)
{
	const struct file_store *f = files_of(store);
	int rc = 0;

	if (f->layout != FILE_LAYOUT_NONE)
		rc = file_layout_make(f->layout, &file_options_of(store)->layout, path);
	if (rc < 0 && (rc != -EEXIST || flags & O_EXCL))
		return rc;
	if (f->layout != FILE_LAYOUT_NONE)
		flags &= ~O_EXCL;
	return file_open_retried(path, O_CREAT | flags | file_direct_flag(store));
}

/* The same, and the folders on the way, which another run may take away again. */
static int open_made(const struct store *store, char *path, int flags)
{
	int fd = open_laid_out(store, path, flags), rc = 0;

	for (int i = 0; i < FILE_FOLDER_TRIES && fd == -ENOENT && rc == 0; i++) {
		rc = made_folders(path);
		fd = rc < 0 ? rc : open_laid_out(store, path, flags);
	}
	return fd;
}

/* Whether the file system says that this number of bytes does not fit. A file that is there may
 * hold some of them. */
static bool too_many(int fd, uint64_t bytes)
{
	struct statvfs fs;
	struct stat st;

	if (fstatvfs(fd, &fs) < 0 || !fs.f_blocks || fstat(fd, &st) < 0)
		return false;
	return bytes / fs.f_frsize > fs.f_bavail + (uint64_t)st.st_blocks * 512 / fs.f_frsize;
}

/* Where the file system reserves no room, which was noted at open, it does without. Asks for no
 * more than there is: ext4 takes all of it before it says that it is too little, and until it has
 * given it back nobody else writes a byte. */
static int reserve(const struct store *store, int fd, uint64_t bytes)
{
	if (!file_options_of(store)->preallocate || !bytes)
		return 0;
	if (too_many(fd, bytes))
		return -ENOSPC;
	if (TEMP_FAILURE_RETRY(fallocate(fd, 0, 0, (off_t)bytes)) == 0)
		return 0;
	return errno == EOPNOTSUPP ? 0 : -errno;
}

/* How a version that is not whole is made: as haul does, or as another program. */
static int part_flags(const struct request *req)
{
	if (!req->begin.ending)
		return O_EXCL | O_NOFOLLOW;
	return O_TRUNC | (req->begin.fresh ? O_EXCL : 0);
}

int file_begin(const struct store *store, const struct request *req)
{
	struct object *o = req->object;
	char path[FILE_PATH_BYTES];
	int fd = -EEXIST, rc;

	for (int i = 0; i < PART_TRIES && fd == -EEXIST; i++) {
		o->state[FILE_DRAWN] = req->begin.ending ? 0 : part_draw();
		o->state[FILE_ENDING] = (uintptr_t)req->begin.ending;
		part_path_of(store, o, path);
		fd = open_made(store, path, O_WRONLY | part_flags(req));
		if (req->begin.ending)
			break;
	}
	if (fd < 0)
		return fd;
	rc = reserve(store, fd, req->length);
	if (rc < 0) {
		close(fd);
		unlink(path);
		return rc;
	}
	o->state[FILE_DESCRIPTOR] = (uint64_t)fd + 1;
	o->state[FILE_WRITTEN] = 0;
	return 0;
}

int file_refuse_others(struct request *req)
{
	req->answer.why = PART_OF_OTHERS;
	return -EEXIST;
}

int file_update(const struct store *store, struct request *req)
{
	struct object *o = req->object;
	char path[FILE_PATH_BYTES];
	struct stat st;
	int fd, rc;

	file_path(store, o, "", path);
	fd = open_made(store, path, O_RDWR | O_NOFOLLOW);
	if (fd < 0)
		return fd == -ELOOP ? file_refuse_others(req) : fd;
	rc = fstat(fd, &st) < 0    ? -errno
	     : part_of_others(&st) ? file_refuse_others(req)
				   : reserve(store, fd, req->length);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	o->state[FILE_DESCRIPTOR] = (uint64_t)fd + 1;
	o->state[FILE_WRITTEN] = 0;
	return 0;
}

static int fsync_folder(char *path)
{
	char *slash = strrchr(path, '/');
	int fd, rc = 0;

	slash[slash == path ? 1 : 0] = '\0';
	fd = file_open_retried(path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	if (TEMP_FAILURE_RETRY(fsync(fd)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* The padding of the last block, the room that was not used. Where there is none nothing is done: a
 * file system may make a transaction of it. */
static int cut(const struct store *store, int fd, uint64_t bytes)
{
	struct stat st;

	if (!file_options_of(store)->preallocate && bytes % store->alignment == 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return -1;
	return (uint64_t)st.st_size == bytes ? 0 : TEMP_FAILURE_RETRY(ftruncate(fd, (off_t)bytes));
}

/* What must be in the file before it may be published. The descriptor is closed then: some file
 * systems tell only there that a write failed. */
static int complete(const struct store *store, struct request *req)
{
	struct object *o = req->object;
	int fd = file_descriptor(o), rc = 0;
	struct stat st;

	if (fd < 0)
		return -EBADF;
	if (cut(store, fd, o->state[FILE_WRITTEN]) < 0)
		return -errno;
	rc = file_sync(store, fd, &req->answer);
	if (rc < 0)
		return rc;
	/* What another program does is done as it does it. */
	if (o->state[FILE_ENDING])
		st.st_size = (off_t)o->state[FILE_WRITTEN];
	else if (fstat(fd, &st) < 0)
		return -errno;
	o->state[FILE_DESCRIPTOR] = FILE_CLOSED;
	if (close(fd) < 0 && errno != EINTR)
		rc = -errno;
	req->answer.done_bytes = (uint64_t)st.st_size;
	return rc;
}

/* A library that carries out the calls may not know renameat2. */
static int publish(const struct store *store, struct request *req)
{
	char part[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
	struct object *o = req->object;
	int rc;

	part_path_of(store, o, part);
	file_path(store, o, "", path);
	/* What another program does is done as it does it, here by a plain rename. */
	if (o->state[FILE_ENDING])
		rc = strcmp(part, path) && TEMP_FAILURE_RETRY(rename(part, path)) < 0 ? -errno : 0;
	else
		rc = part_put(part, path, !files_of(store)->interception);
	if (rc < 0)
		return rc == -EEXIST ? file_refuse_others(req) : rc;
	memset(o->state, 0, sizeof(o->state));
	return file_options_of(store)->fsync == FILE_FSYNC_FOLDER ? fsync_folder(path) : 0;
}

/* On failure the object stays begun, for an abort, unless the new version stands already. */
int file_commit(const struct store *store, struct request *req)
{
	int rc = complete(store, req);
	uint64_t from_ns;

	if (rc < 0)
		return rc;
	from_ns = clock_now(store->clock);
	rc = publish(store, req);
	req->answer.publish_ns = clock_now(store->clock) - from_ns;
	return rc;
}

int file_abort(const struct store *store, struct object *o)
{
	char path[FILE_PATH_BYTES];
	int fd = file_descriptor(o);

	if (!o->state[FILE_DESCRIPTOR])
		return -EBADF;
	if (fd >= 0)
		close(fd);
	part_path_of(store, o, path);
	memset(o->state, 0, sizeof(o->state));
	return TEMP_FAILURE_RETRY(unlink(path)) < 0 && errno != ENOENT ? -errno : 0;
}
