/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of daos:// as files of a container.
 *
 * A new version of an object is written to "<key>.haul-1a2b3c4d" beside it, whose folders are made
 * as needed, and moved over it by commit: a reader sees the old version or the new one whole. */
#include "backends/dfs/object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "backends/dfs/code.h"
#include "core/part.h"

enum { OBJECT_MODE = 0666 };

/* Draws in a row that all met a file. */
enum { PART_TRIES = 100 };

/* A key as libdfs wants it: an open folder, and a name in it. */
struct dfs_path {
	char text[DFS_PATH_BYTES]; /* of the folder: "/", "/a/b" */
	char name[OBJECT_KEY_BYTES + 16];
	struct dfs_kept *folder;
};

/* Finds the folder of a key, and makes it where it is missing and make is true; suffix follows the
 * name. Returns 0 or what libdfs returned. dfs_path_close ends the use of the folder. */
static int dfs_path_open(struct dfs_store *s, const char *key, const char *suffix, bool make,
			 struct dfs_path *path)
{
	size_t length = strnlen(key, OBJECT_KEY_BYTES - 1);
	const char *slash;

	/* The name of a folder ends in a slash. */
	while (length && key[length - 1] == '/')
		length--;
	slash = memrchr(key, '/', length);
	snprintf(path->text, sizeof(path->text), "%s/%.*s", s->base, slash ? (int)(slash - key) : 0,
		 key);
	if (!slash && s->base[0])
		strcpy(path->text, s->base);
	slash = slash ? slash + 1 : key;
	snprintf(path->name, sizeof(path->name), "%.*s%s", (int)(key + length - slash), slash,
		 suffix);
	return dfs_folder_take(&s->folders, path->text, make, &path->folder);
}

static void dfs_path_close(struct dfs_store *s, struct dfs_path *path)
{
	dfs_folder_drop(&s->folders, path->folder);
}

static void object_use(struct object *o, struct dfs_kept *kept)
{
	o->state[DFS_OBJECT] = (uintptr_t)kept->object;
	o->state[DFS_KEPT] = (uintptr_t)kept;
	if (!o->size)
		o->size = kept->bytes;
}

/* Opens a file that is not kept. Its size costs one more request, where the caller does not know
 * it. */
static int object_open_new(struct dfs_store *s, struct object *o, struct dfs_object **object)
{
	struct dfs_path path;
	int rc = dfs_path_open(s, o->key, "", false, &path);

	if (rc)
		return rc;
	rc = s->library.dfs_open(s->mount, path.folder->object, path.name, S_IFREG, O_RDONLY,
				 DFS_CLASS_DEFAULT, 0, NULL, object);
	dfs_path_close(s, &path);
	if (rc || o->size)
		return rc;
	rc = s->library.dfs_get_size(s->mount, *object, &o->size);
	if (rc)
		s->library.dfs_release(*object);
	return rc;
}

/* A file that is kept: its size may not have been asked before. */
static int object_open_kept(struct dfs_store *s, struct object *o, struct dfs_kept *kept)
{
	int rc = 0;

	if (!o->size && !kept->bytes)
		rc = s->library.dfs_get_size(s->mount, kept->object, &o->size);
	if (rc)
		dfs_cache_drop(&s->files, kept);
	else
		object_use(o, kept);
	return rc;
}

static int object_open(struct dfs_store *s, struct object *o)
{
	struct dfs_kept *kept = s->files.capacity ? dfs_cache_find(&s->files, o->key) : NULL;
	bool asked = !o->size;
	struct dfs_object *object;
	int rc;

	if (kept)
		return object_open_kept(s, o, kept);
	rc = object_open_new(s, o, &object);
	if (rc)
		return rc;
	if (s->files.capacity)
		kept = dfs_cache_add(&s->files, o->key, object, asked ? o->size : 0);
	if (kept)
		object_use(o, kept);
	else
		o->state[DFS_OBJECT] = (uintptr_t)object;
	return 0;
}

/* Opens a file to write it, and makes it where it is missing. */
static int object_make(struct dfs_store *s, struct dfs_path *path, int flags,
		       struct dfs_object **object)
{
	return s->library.dfs_open(s->mount, path->folder->object, path->name,
				   S_IFREG | OBJECT_MODE, O_CREAT | O_RDWR | flags, s->object_class,
				   s->chunk_bytes, NULL, object);
}

/* The ending of the version that is begun. */
static void object_ending(const struct object *o, char ending[PART_ENDING_BYTES])
{
	part_ending(ending, PART_OF_OBJECT, (uint32_t)(o->state[DFS_BEGUN] - 1));
}

static int object_begin(struct dfs_store *s, struct object *o)
{
	char ending[PART_ENDING_BYTES];
	struct dfs_object *object;
	struct dfs_path path;
	uint32_t draw = 0;
	int rc = EEXIST;

	for (int i = 0; i < PART_TRIES && rc == EEXIST; i++) {
		draw = part_draw();
		part_ending(ending, PART_OF_OBJECT, draw);
		rc = dfs_path_open(s, o->key, ending, true, &path);
		if (rc)
			return rc;
		rc = object_make(s, &path, O_EXCL, &object);
		dfs_path_close(s, &path);
	}
	if (rc)
		return rc;
	o->state[DFS_OBJECT] = (uintptr_t)object;
	o->state[DFS_BEGUN] = (uint64_t)draw + 1;
	return 0;
}

static int object_update(struct dfs_store *s, struct object *o)
{
	struct dfs_object *object;
	struct dfs_path path;
	int rc = dfs_path_open(s, o->key, "", true, &path);

	if (rc)
		return rc;
	rc = object_make(s, &path, 0, &object);
	dfs_path_close(s, &path);
	if (rc == 0)
		o->state[DFS_OBJECT] = (uintptr_t)object;
	return rc;
}

static int object_close(struct dfs_store *s, struct object *o)
{
	struct dfs_object *object = dfs_object_of(o);
	struct dfs_kept *kept = dfs_kept_of(o);

	if (!object)
		return EBADF;
	memset(o->state, 0, sizeof(o->state));
	if (!kept)
		return s->library.dfs_release(object);
	dfs_cache_drop(&s->files, kept);
	return 0;
}

static int object_publish(struct dfs_store *s, struct object *o)
{
	char name[sizeof(((struct dfs_path *)NULL)->name)], ending[PART_ENDING_BYTES];
	struct dfs_path path;
	int rc = dfs_path_open(s, o->key, "", false, &path);

	if (rc)
		return rc;
	object_ending(o, ending);
	if ((size_t)snprintf(name, sizeof(name), "%s%s", path.name, ending) >= sizeof(name))
		rc = ENAMETOOLONG;
	else
		rc = s->library.dfs_move(s->mount, path.folder->object, name, path.folder->object,
					 path.name, NULL);
	dfs_path_close(s, &path);
	return rc;
}

/* Bytes that were written are durable when the write has completed. On failure the object stays
 * begun, for an abort. */
static int object_commit(struct dfs_store *s, struct request *req)
{
	struct object *o = req->object;
	uint64_t from_ns;
	int rc;

	if (!o->state[DFS_BEGUN])
		return EBADF;
	rc = s->library.dfs_get_size(s->mount, dfs_object_of(o), &req->answer.done_bytes);
	if (rc)
		return rc;
	from_ns = clock_now(s->clock);
	rc = object_publish(s, o);
	req->answer.publish_ns = clock_now(s->clock) - from_ns;
	return rc ? rc : object_close(s, o);
}

static int object_abort(struct dfs_store *s, struct object *o)
{
	char ending[PART_ENDING_BYTES];
	struct dfs_path path;
	int rc;

	if (!o->state[DFS_BEGUN])
		return EBADF;
	object_ending(o, ending);
	/* Closed last: until then, another attempt can follow. */
	rc = dfs_path_open(s, o->key, ending, false, &path);
	if (rc == 0) {
		rc = s->library.dfs_remove(s->mount, path.folder->object, path.name, false, NULL);
		dfs_path_close(s, &path);
	}
	return rc && rc != ENOENT ? rc : object_close(s, o);
}

static int object_stat(struct dfs_store *s, struct request *req)
{
	struct dfs_path path;
	struct stat st = {0};
	int rc = dfs_path_open(s, req->object->key, "", false, &path);

	if (rc == 0) {
		rc = s->library.dfs_stat(s->mount, path.folder->object, path.name, &st);
		dfs_path_close(s, &path);
	}
	if (rc)
		return rc == ENOTDIR ? ENOENT : rc;
	req->object->size = (uint64_t)st.st_size;
	req->answer.done_bytes = (uint64_t)st.st_size;
	return 0;
}

static int object_delete(struct dfs_store *s, const struct object *o)
{
	size_t length = strnlen(o->key, OBJECT_KEY_BYTES);
	bool folder = length && o->key[length - 1] == '/';
	char whole[sizeof(((struct dfs_path *)NULL)->text) +
		   sizeof(((struct dfs_path *)NULL)->name)];
	struct dfs_path path;
	int rc = dfs_path_open(s, o->key, "", false, &path);

	if (rc)
		return rc;
	if (folder) {
		snprintf(whole, sizeof(whole), "%s%s%s", path.text, path.text[1] ? "/" : "",
			 path.name);
		dfs_folder_forget(&s->folders, whole);
	}
	rc = s->library.dfs_remove(s->mount, path.folder->object, path.name, false, NULL);
	dfs_path_close(s, &path);
	return rc;
}

static int object_rename(struct dfs_store *s, const struct request *req)
{
	struct dfs_path from, to;
	int rc = dfs_path_open(s, req->object->key, "", false, &from);

	if (rc)
		return rc;
	rc = dfs_path_open(s, req->target, "", false, &to);
	if (rc == 0) {
		rc = s->library.dfs_move(s->mount, from.folder->object, from.name,
					 to.folder->object, to.name, NULL);
		dfs_path_close(s, &to);
	}
	dfs_path_close(s, &from);
	return rc;
}

static int object_do(struct dfs_store *s, struct request *req)
{
	switch (req->op) {
	case REQ_OPEN:
		return object_open(s, req->object);
	case REQ_CLOSE:
		return object_close(s, req->object);
	case REQ_BEGIN:
		return object_begin(s, req->object);
	case REQ_COMMIT:
		return object_commit(s, req);
	case REQ_ABORT:
		return object_abort(s, req->object);
	case REQ_STAT:
		return object_stat(s, req);
	case REQ_DELETE:
		return object_delete(s, req->object);
	case REQ_RENAME:
		return object_rename(s, req);
	case REQ_UPDATE:
		return object_update(s, req->object);
	default:
		return EINVAL;
	}
}

bool dfs_object_do_now(const struct store *store, struct request *req)
{
	struct dfs_store *s = dfs_store_of(store);
	struct object *o = req->object;
	struct dfs_kept *kept = NULL;

	if (!s->files.capacity)
		return false;
	if (req->op == REQ_OPEN)
		kept = dfs_cache_try_find(&s->files, o->key, !o->size);
	else if (req->op == REQ_CLOSE)
		kept = dfs_kept_of(o);
	if (!kept || (req->op == REQ_CLOSE && !dfs_cache_try_drop(&s->files, kept)))
		return false;
	if (req->op == REQ_OPEN)
		object_use(o, kept);
	else
		memset(o->state, 0, sizeof(o->state));
	dfs_code_answer(&req->answer, 0);
	return true;
}

void dfs_task_begin(struct dfs_task *task, struct request *asked)
{
	const struct listing *listing = asked->op == REQ_LIST ? asked->listing : NULL;

	task->asked = asked;
	task->req = *asked;
	task->object = *asked->object;
	task->req.object = &task->object;
	if (asked->op == REQ_RENAME) {
		snprintf(task->target, sizeof(task->target), "%s", asked->target);
		task->req.target = task->target;
	}
	if (!listing)
		return;
	memcpy(task->marker, listing->marker, sizeof(task->marker));
	task->part = listing->part;
	task->parts = listing->parts;
	task->names = listing->names;
	task->more = task->vacant = false;
}

void dfs_task_end(struct dfs_task *task)
{
	struct request *asked = task->asked;

	asked->answer = task->req.answer;
	asked->object->size = task->object.size;
	memcpy(asked->object->state, task->object.state, sizeof(task->object.state));
	if (asked->op == REQ_LIST) {
		memcpy(asked->listing->marker, task->marker, sizeof(task->marker));
		asked->listing->vacant = task->vacant;
		if (asked->answer.status == 0)
			asked->listing->more = task->more;
	}
	task->asked = NULL;
}

void dfs_task_do(struct dfs_task *task)
{
	struct request *req = &task->req;
	struct dfs_store *s = task->store;
	bool makes = req->op == REQ_BEGIN || req->op == REQ_UPDATE;
	int ended = 0, rc;

	rc = req->op == REQ_LIST ? dfs_list_page(task, &ended) : object_do(s, req);
	dfs_code_answer(&req->answer, rc);
	if (makes && req->answer.status == -EINVAL && s->invalid[0])
		req->answer.why = s->invalid;
	if (ended < 0)
		req->answer.status = ended;
}
