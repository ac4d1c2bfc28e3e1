/* SPDX-License-Identifier: Apache-2.0 */
/* file://: a folder of files. file:///absolute/path or file://./relative/path; keys are paths in
 * it.
 *
 * A new version of an object is written to "<key>.haul-1a2b3c4d" beside it (core/part.h), whose
 * folders are made as needed, and renamed over it by commit: a reader sees the old version or the
 * new one whole. */
#include "backends/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backends/file/cache.h"
#include "core/made.h"
#include "core/numbers.h"
#include "core/part.h"

/* Listing a folder of file:// by pages. */

enum { LIST_BUFFER_BYTES = 32 << 10 };

static int give(struct request *req, const struct dirent64 *d)
{
	char folder[sizeof(d->d_name) + 1];

	if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
	    !listing_wants(req->listing, d->d_name))
		return 0;
	req->answer.done_bytes++;
	if (d->d_type != DT_DIR)
		return req->listing->entry(req, d->d_name, LIST_SIZE_UNKNOWN);
	snprintf(folder, sizeof(folder), "%s/", d->d_name);
	return req->listing->entry(req, folder, LIST_SIZE_UNKNOWN);
}

/* Entries until the page is full. The marker is where the one that was given last says the next
 * is. */
static int page(int fd, struct request *req)
{
	uint64_t most = req->length ? req->length : LIST_PAGE_ENTRIES;
	_Alignas(struct dirent64) char buffer[LIST_BUFFER_BYTES];
	ssize_t bytes;
	int rc;

	while ((bytes = getdents64(fd, buffer, sizeof(buffer))) > 0) {
		const struct dirent64 *d;

		for (char *at = buffer; at < buffer + bytes; at += d->d_reclen) {
			d = (const struct dirent64 *)at;
			rc = give(req, d);
			snprintf(req->listing->marker, sizeof(req->listing->marker), "%" PRId64,
				 (int64_t)d->d_off);
			if (rc < 0)
				return rc;
			if (req->answer.done_bytes >= most) {
				req->listing->more = true;
				return 0;
			}
		}
	}
	req->listing->more = false;
	return bytes < 0 ? -errno : 0;
}

/* One page of the folder at path. The marker is the kernel's own position in the folder, good for
 * any descriptor of it, so nothing is held between pages. Sizes are not told; what is unfinished
 * (core/part.h) is. 0 or a negative errno. */
static int file_list(const char *path, struct request *req)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	int64_t at = strtoll(req->listing->marker, NULL, 10);

	if (fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (at && lseek(fd, at, SEEK_SET) < 0)
		rc = -errno;
	if (rc == 0)
		rc = page(fd, req);
	close(fd);
	return rc;
}

enum { FILE_PATH_BYTES = URI_BYTES + OBJECT_KEY_BYTES + 16 };

enum { PART_TRIES = 100, FOLDER_TRIES = 3 };

static void path_of(const struct store *store, const struct object *o, const char *suffix,
		    char path[FILE_PATH_BYTES])
{
	size_t root = strlen(store->root), key = strnlen(o->key, OBJECT_KEY_BYTES - 1);

	memcpy(path, store->root, root);
	path[root] = '/';
	memcpy(path + root + 1, o->key, key);
	strcpy(path + root + 1 + key, suffix);
}

/* Where the version that is begun lies until it is whole. */
static void part_path_of(const struct store *store, const struct object *o,
			 char path[FILE_PATH_BYTES])
{
	char ending[PART_ENDING_BYTES];

	if (o->state[FILE_ENDING]) {
		path_of(store, o, (const char *)(uintptr_t)o->state[FILE_ENDING], path);
		return;
	}
	part_ending(ending, PART_OF_OBJECT, (uint32_t)o->state[FILE_DRAWN]);
	path_of(store, o, ending, path);
}

static int open_retried(const char *path, int flags)
{
	int fd;

	do {
		fd = TEMP_FAILURE_RETRY(open(path, flags | O_CLOEXEC, 0666));
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

static int direct_flag(const struct store *store)
{
	return file_options_of(store)->direct ? O_DIRECT : 0;
}

/* Makes what was written to fd durable, where the options ask for it, and notes how long that took.
 */
static int sync_file(const struct store *store, int fd, struct answer *a)
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

/* The kernel lets go of the descriptor whatever close returns. */
static int do_close(const struct store *store, struct object *o, struct answer *a)
{
	int fd = file_descriptor(o), rc = 0;

	if (fd < 0)
		return -EBADF;
	file_mmap.object_close(o);
	if (o->state[FILE_WRITTEN])
		rc = sync_file(store, fd, a);
	memset(o->state, 0, sizeof(o->state));
	if (close(fd) < 0 && errno != EINTR && rc == 0)
		rc = -errno;
	return rc;
}

static int do_open(const struct store *store, struct request *req)
{
	static const int advice[] = {
		[FILE_FADVISE_NONE] = POSIX_FADV_NORMAL,
		[FILE_FADVISE_SEQUENTIAL] = POSIX_FADV_SEQUENTIAL,
		[FILE_FADVISE_RANDOM] = POSIX_FADV_RANDOM,
		[FILE_FADVISE_WILLNEED] = POSIX_FADV_WILLNEED,
		[FILE_FADVISE_NOREUSE] = POSIX_FADV_NOREUSE,
	};
	struct object *o = req->object;
	char path[FILE_PATH_BYTES];
	struct stat st;
	int fd, rc;

	path_of(store, o, "", path);
	fd = open_retried(path, O_RDONLY | direct_flag(store));
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	o->size = (uint64_t)st.st_size;
	o->state[FILE_DESCRIPTOR] = (uint64_t)fd + 1;
	if (advice[file_options_of(store)->fadvise])
		posix_fadvise(fd, 0, 0, advice[file_options_of(store)->fadvise]);
	rc = file_map_opened(store, o, req->touch);
	if (rc < 0)
		do_close(store, o, &req->answer);
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
	return open_retried(path, O_CREAT | flags | direct_flag(store));
}

/* The same, and the folders on the way, which another run may take away again. */
static int open_made(const struct store *store, char *path, int flags)
{
	int fd = open_laid_out(store, path, flags), rc = 0;

	for (int i = 0; i < FOLDER_TRIES && fd == -ENOENT && rc == 0; i++) {
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

static int do_begin(const struct store *store, const struct request *req)
{
	struct object *o = req->object;
	char path[FILE_PATH_BYTES];
	int fd = -EEXIST, rc;

	for (int i = 0; i < PART_TRIES && fd == -EEXIST; i++) {
		o->state[FILE_DRAWN] = part_draw();
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

static int refuse_others(struct request *req)
{
	req->answer.why = PART_OF_OTHERS;
	return -EEXIST;
}

static int do_update(const struct store *store, struct request *req)
{
	struct object *o = req->object;
	char path[FILE_PATH_BYTES];
	struct stat st;
	int fd, rc;

	path_of(store, o, "", path);
	fd = open_made(store, path, O_RDWR | O_NOFOLLOW);
	if (fd < 0)
		return fd == -ELOOP ? refuse_others(req) : fd;
	rc = fstat(fd, &st) < 0    ? -errno
	     : part_of_others(&st) ? refuse_others(req)
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
	fd = open_retried(path, O_RDONLY | O_DIRECTORY);
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

	if (!file_options_of(store)->direct && !file_options_of(store)->preallocate)
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
	rc = sync_file(store, fd, &req->answer);
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
	path_of(store, o, "", path);
	rc = part_put(part, path, !files_of(store)->interception);
	if (rc < 0)
		return rc == -EEXIST ? refuse_others(req) : rc;
	memset(o->state, 0, sizeof(o->state));
	return file_options_of(store)->fsync == FILE_FSYNC_FOLDER ? fsync_folder(path) : 0;
}

/* On failure the object stays begun, for an abort, unless the new version stands already. */
static int do_commit(const struct store *store, struct request *req)
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

static int do_abort(const struct store *store, struct object *o)
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

static int do_stat(const struct store *store, struct request *req)
{
	char path[FILE_PATH_BYTES];
	struct stat st;

	path_of(store, req->object, "", path);
	if (req->only_exists)
		return access(path, F_OK) == 0 ? 0 : errno == ENOTDIR ? -ENOENT : -errno;
	if (TEMP_FAILURE_RETRY(req->own ? lstat(path, &st) : stat(path, &st)) < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	req->object->size = (uint64_t)st.st_size;
	req->answer.done_bytes =
		req->own && part_of_others(&st) ? OBJECT_OF_OTHERS : (uint64_t)st.st_size;
	return 0;
}

static int do_delete(const struct store *store, struct request *req)
{
	const struct object *o = req->object;
	char path[FILE_PATH_BYTES];
	size_t length = strnlen(o->key, OBJECT_KEY_BYTES);
	bool folder = length && o->key[length - 1] == '/';
	struct stat st;
	int rc = 0;

	path_of(store, o, "", path);
	if (req->own && !folder && lstat(path, &st) == 0 && part_of_others(&st))
		return refuse_others(req);
	if (TEMP_FAILURE_RETRY(folder ? rmdir(path) : unlink(path)) < 0)
		rc = errno == EEXIST ? -ENOTEMPTY : -errno;
	if (folder && rc == -ENOTEMPTY)
		rc = made_remove(path);
	if (!folder && (rc == 0 || rc == -ENOENT))
		made_leave(path);
	return rc;
}

static int do_rename(const struct store *store, const struct request *req)
{
	char from[FILE_PATH_BYTES], to[FILE_PATH_BYTES];
	struct object target;

	snprintf(target.key, sizeof(target.key), "%s", req->target);
	path_of(store, req->object, "", from);
	path_of(store, &target, "", to);
	return TEMP_FAILURE_RETRY(rename(from, to)) < 0 ? -errno : 0;
}

static int do_list(const struct store *store, struct request *req)
{
	char path[FILE_PATH_BYTES];

	path_of(store, req->object, "", path);
	return file_list(path, req);
}

/* All but reads and writes: done at once, whatever the engine. */
static int do_other(struct channel *c, struct request *req)
{
	switch (req->op) {
	case REQ_READ: /* touched */
		return file_mmap.move(c, req), req->answer.status;
	case REQ_OPEN:
		return do_open(c->store, req);
	case REQ_CLOSE:
		return do_close(c->store, req->object, &req->answer);
	case REQ_BEGIN:
		return do_begin(c->store, req);
	case REQ_COMMIT:
		return do_commit(c->store, req);
	case REQ_ABORT:
		return do_abort(c->store, req->object);
	case REQ_STAT:
		return do_stat(c->store, req);
	case REQ_DELETE:
		return do_delete(c->store, req);
	case REQ_RENAME:
		return do_rename(c->store, req);
	case REQ_LIST:
		return do_list(c->store, req);
	case REQ_UPDATE:
		return do_update(c->store, req);
	default:
		return -EINVAL;
	}
}

static bool moves(const struct request *req)
{
	return (req->op == REQ_READ && !req->touch) || req->op == REQ_WRITE;
}

static void submit_one(struct channel *c, struct request *req)
{
	if (moves(req))
		file_engine_of(c->store)->move(c, req);
	else
		req->answer.status = do_other(c, req);
}

/* Reads and writes that stand together go to the engine as one batch. */
static void submit_batches(struct channel *c, struct request *const *reqs, uint32_t n)
{
	uint32_t i = 0, end;

	while (i < n) {
		for (end = i; end < n && moves(reqs[end]); end++)
			;
		if (end > i) {
			file_engine_of(c->store)->submit(c, reqs + i, end - i);
			i = end;
			continue;
		}
		reqs[i]->answer.status = do_other(c, reqs[i]);
		file_ready(c, reqs[i++]);
	}
}

void file_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	if (!c->synchronous)
		submit_batches(c, reqs, n);
	for (uint32_t i = 0; c->synchronous && i < n; i++)
		submit_one(c, reqs[i]);
}

uint32_t file_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
		   uint64_t deadline_ns)
{
	struct file_channel *ch = c->state;
	uint32_t n = 0;

	while (n < max && ch->ready_count)
		done[n++] = ch->ready[--ch->ready_count];
	if (n == max)
		return n;
	return n + file_engine_of(c->store)->reap(c, done + n, excess_u64(min, n), max - n,
						  deadline_ns);
}

int64_t file_resident(const struct store *store, const struct object *o, uint64_t offset,
		      uint64_t length)
{
	int fd = file_descriptor(o);

	if (files_of(store)->interception)
		return -ENOTSUP;
	return fd < 0 ? -EBADF : file_cache_resident(fd, offset, length);
}

int64_t file_evict(const struct store *store, const struct object *o, uint64_t offset,
		   uint64_t length)
{
	char path[FILE_PATH_BYTES];
	int fd = file_descriptor(o);

	/* Its reads go around the page cache. */
	if (files_of(store)->interception)
		return 0;
	if (fd >= 0)
		return file_cache_drop(fd, offset, length);
	if (offset || length)
		return -EBADF;
	path_of(store, o, "", path);
	return file_cache_evict(path);
}

/* The lock is beside the folder, so that the folder holds nothing but what is asked for. */
int file_own(const struct store *store, const char *folder, struct owner *owner, struct err *err)
{
	struct object o = {.key = ""};
	char path[FILE_PATH_BYTES];
	int rc = -ENOENT;

	snprintf(o.key, sizeof(o.key), "%s", folder);
	path_of(store, &o, OWNER_ENDING, path);
	for (int i = 0; i < FOLDER_TRIES && rc == -ENOENT; i++) {
		rc = made_folders(path);
		rc = rc < 0 ? err_set(err, rc, "%s: %s", path, strerror(-rc))
			    : owner_take(owner, path, err);
	}
	if (rc == 0)
		owner->left = made_leave;
	return rc;
}
