/* SPDX-License-Identifier: Apache-2.0 */
/* file://: a folder of files. file:///absolute/path or file://./relative/path; keys are paths in
 * it.
 *
 * Here is all but writing (version.c) and the work of engines. */
#include "backends/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* The kernel lets go of the descriptor whatever close returns. */
static int do_close(const struct store *store, struct object *o, struct answer *a)
{
	int fd = file_descriptor(o), rc = 0;

	if (fd < 0)
		return -EBADF;
	file_mmap.object_close(o);
	if (o->state[FILE_WRITTEN])
		rc = file_sync(store, fd, a);
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

	file_path(store, o, "", path);
	fd = file_open_retried(path, O_RDONLY | file_direct_flag(store));
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

static int do_stat(const struct store *store, struct request *req)
{
	char path[FILE_PATH_BYTES];
	struct stat st;

	file_path(store, req->object, "", path);
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

	file_path(store, o, "", path);
	if (req->own && !folder && lstat(path, &st) == 0 && part_of_others(&st))
		return file_refuse_others(req);
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
	file_path(store, req->object, "", from);
	file_path(store, &target, "", to);
	return TEMP_FAILURE_RETRY(rename(from, to)) < 0 ? -errno : 0;
}

static int do_list(const struct store *store, struct request *req)
{
	char path[FILE_PATH_BYTES];

	file_path(store, req->object, "", path);
	return file_list(path, req);
}

/* All but reads and writes: done at once, whatever the engine. */
static int do_other(struct channel *c, struct request *req)
{
	switch (req->op) {
	case REQ_READ: /* touched */
		file_mmap.move(c, req);
		return req->answer.status;
	case REQ_OPEN:
		return do_open(c->store, req);
	case REQ_CLOSE:
		return do_close(c->store, req->object, &req->answer);
	case REQ_BEGIN:
		return file_begin(c->store, req);
	case REQ_COMMIT:
		return file_commit(c->store, req);
	case REQ_ABORT:
		return file_abort(c->store, req->object);
	case REQ_STAT:
		return do_stat(c->store, req);
	case REQ_DELETE:
		return do_delete(c->store, req);
	case REQ_RENAME:
		return do_rename(c->store, req);
	case REQ_LIST:
		return do_list(c->store, req);
	case REQ_UPDATE:
		return file_update(c->store, req);
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
	file_path(store, o, "", path);
	return file_cache_evict(path);
}

/* The lock is beside the folder, so that the folder holds nothing but what is asked for. */
int file_own(const struct store *store, const char *folder, struct owner *owner, struct err *err)
{
	struct object o = {.key = ""};
	char path[FILE_PATH_BYTES];
	int rc = -ENOENT;

	snprintf(o.key, sizeof(o.key), "%s", folder);
	file_path(store, &o, OWNER_ENDING, path);
	for (int i = 0; i < FILE_FOLDER_TRIES && rc == -ENOENT; i++) {
		rc = made_folders(path);
		rc = rc < 0 ? err_set(err, rc, "%s: %s", path, strerror(-rc))
			    : owner_take(owner, path, err);
	}
	if (rc == 0)
		owner->left = made_leave;
	return rc;
}
