/* SPDX-License-Identifier: Apache-2.0 */
/* Open uploads: see open_uploads.h. */
#include "workloads/common/open_uploads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "core/part.h"
#include "core/units.h"
#include "workloads/common/small_object.h"

enum { OPEN_UPLOADS_ROOM = 64 << 10 };

/* Whether versions that are begun are files of their own. */
static bool open_uploads_files(const struct store *store)
{
	return store_can(store, BACKEND_UPDATE) && store_can(store, BACKEND_LIST) &&
	       !store_can(store, BACKEND_UPLOADS);
}

static int open_uploads_add(struct open_uploads *u, const char *text, size_t n)
{
	if (u->bytes + n > u->room) {
		uint64_t room = u->room ? 2 * u->room : OPEN_UPLOADS_ROOM;
		char *more = realloc(u->text, room);

		if (!more)
			return -ENOMEM;
		u->text = more;
		u->room = room;
	}
	memcpy(u->text + u->bytes, text, n);
	u->bytes += n;
	return 0;
}

static int open_uploads_entry(struct request *req, const char *name, uint64_t size)
{
	struct open_uploads *u = req->user;
	char key[OBJECT_KEY_BYTES];
	int n = snprintf(key, sizeof(key), "%s%s", req->object->key, name), rc;

	(void)size;
	/* No object of haul has so long a name. */
	if (n < 0 || (size_t)n >= sizeof(key))
		return 0;
	rc = open_uploads_add(u, key, (size_t)n + 1);
	if (rc == 0)
		rc = open_uploads_add(u, req->listing->upload, strlen(req->listing->upload) + 1);
	if (rc == 0)
		u->count++;
	return rc;
}

/* The store or its permissions do not have this request. */
static bool open_uploads_refused(int rc)
{
	return rc == -EACCES || rc == -EPERM || rc == -ENOTSUP || rc == -EOPNOTSUPP ||
	       rc == -ENOSYS;
}

/* Folders that are still to be listed, and what was found. */
struct parts_walk {
	struct open_uploads *found;
	struct open_uploads folders; /* keys alone, each with an empty id */
};

/* The key is kept without the ending, which is the id. */
static int parts_entry(struct request *req, const char *name, uint64_t size)
{
	struct parts_walk *w = req->user;
	size_t stem = part_stem(name, PART_OF_OBJECT), length = strlen(name);
	bool folder = length && name[length - 1] == '/';
	struct open_uploads *to = folder ? &w->folders : w->found;
	char key[OBJECT_KEY_BYTES];
	int n = snprintf(key, sizeof(key), "%s%.*s", req->object->key,
			 (int)(folder ? length : stem), name);
	int rc;

	(void)size;
	if ((!folder && !stem) || n < 0 || (size_t)n >= sizeof(key))
		return 0;
	rc = open_uploads_add(to, key, (size_t)n + 1);
	if (rc == 0)
		rc = open_uploads_add(to, folder ? "" : name + stem,
				      folder ? 1 : length - stem + 1);
	if (rc == 0)
		to->count++;
	return rc;
}

static int parts_list_folder(struct parts_walk *w, struct queue *q, const char *key,
			     struct err *err)
{
	struct listing listing = {.entry = parts_entry};
	struct object o = {0};
	struct request req;
	int rc;

	snprintf(o.key, sizeof(o.key), "%s", key);
	do {
		req = (struct request){
			.op = REQ_LIST, .object = &o, .listing = &listing, .user = w};
		rc = queue_do(q, &req);
	} while (rc == 0 && listing.more);
	return rc == 0 || rc == -ENOENT ? 0 : failure_set(err, rc, q->channel.store, &req, NULL);
}

/* Lists the folder, and with deep all below it. */
static int parts_list(struct open_uploads *u, struct queue *q, const char *folder, bool deep,
		      struct err *err)
{
	struct parts_walk w = {.found = u};
	char key[OBJECT_KEY_BYTES];
	uint64_t at = 0;
	int rc;

	snprintf(key, sizeof(key), "%s", folder);
	rc = parts_list_folder(&w, q, key, err);
	while (rc == 0 && deep && at < w.folders.bytes) {
		/* The list may move while it grows. */
		snprintf(key, sizeof(key), "%s", w.folders.text + at);
		at += strlen(key) + 2;
		rc = parts_list_folder(&w, q, key, err);
	}
	open_uploads_free(&w.folders);
	return rc;
}

static int open_uploads_list(struct open_uploads *u, struct queue *q, const char *folder,
			     struct err *err)
{
	struct listing listing = {.entry = open_uploads_entry, .uploads = true};
	const struct store *store = q->channel.store;
	struct object o = {0};
	struct request req;
	int rc;

	snprintf(o.key, sizeof(o.key), "%s%s", folder, folder[0] ? "/" : "");
	if (open_uploads_files(store))
		return parts_list(u, q, o.key, true, err);
	do {
		req = (struct request){
			.op = REQ_LIST, .object = &o, .listing = &listing, .user = u};
		rc = queue_do(q, &req);
	} while (rc == 0 && listing.more);
	if (rc == 0 || rc == -ENOENT)
		return 0;
	err_wrap(err, failure_set(err, rc, store, &req, NULL), "open uploads");
	if (!open_uploads_refused(rc))
		return rc;
	log_say(store->log, LOG_WARNING,
		"%s; where a run was killed, what it had uploaded of an object may stay until the bucket's rules for "
		"incomplete uploads remove it",
		err->text);
	u->count = u->bytes = 0;
	return 0;
}

static int open_uploads_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int open_uploads_sort(struct open_uploads *u)
{
	const char *at = u->text;

	u->keys = calloc(u->count, sizeof(*u->keys));
	if (!u->keys)
		return -ENOMEM;
	for (uint64_t i = 0; i < u->count; i++) {
		u->keys[i] = at;
		at += strlen(at) + 1;
		at += strlen(at) + 1;
	}
	qsort(u->keys, u->count, sizeof(*u->keys), open_uploads_compare);
	return 0;
}

int open_uploads_find(struct open_uploads *u, struct queue *q, struct group *g, const char *folder,
		      struct err *err)
{
	uint64_t sizes[2];
	int rc = 0;

	*u = (struct open_uploads){0};
	if (!store_can(q->channel.store, BACKEND_UPLOADS) && !open_uploads_files(q->channel.store))
		return 0;
	if (g->rank == 0)
		rc = open_uploads_list(u, q, folder, err);
	rc = group_agree(g, rc, err);
	sizes[0] = u->count;
	sizes[1] = u->bytes;
	if (rc == 0)
		rc = group_broadcast(g, sizes, sizeof(sizes));
	if (rc < 0 || !sizes[0])
		return rc;
	u->count = sizes[0];
	u->bytes = sizes[1];
	if (g->rank != 0)
		u->text = malloc(u->bytes);
	rc = group_agree(g, u->text ? 0 : err_set(err, -ENOMEM, "no memory for open uploads"), err);
	if (rc == 0)
		rc = group_broadcast(g, u->text, u->bytes);
	if (rc == 0 && open_uploads_sort(u) < 0)
		rc = err_set(err, -ENOMEM, "no memory for open uploads");
	return group_agree(g, rc, err);
}

void open_uploads_free(struct open_uploads *u)
{
	free(u->text);
	free(u->keys);
	*u = (struct open_uploads){0};
}

uint64_t open_uploads_of(const struct open_uploads *u, const char *key, uint64_t *first)
{
	uint64_t low = 0, high = u->count, n = 0;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (strcmp(u->keys[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*first = low;
	while (low + n < u->count && strcmp(u->keys[low + n], key) == 0)
		n++;
	return n;
}

int open_uploads_drop(const struct open_uploads *u, uint64_t i, struct queue *q, struct object *o,
		      struct request *req)
{
	struct shared_version version;
	const char *key = u->keys[i];
	int rc;

	*o = (struct object){0};
	if (open_uploads_files(q->channel.store)) {
		snprintf(o->key, sizeof(o->key), "%s%s", key, key + strlen(key) + 1);
		*req = (struct request){.op = REQ_DELETE, .object = o};
		rc = queue_do(q, req);
		return rc == -ENOENT ? 0 : rc;
	}
	snprintf(o->key, sizeof(o->key), "%s", key);
	snprintf(version.id, sizeof(version.id), "%s", key + strlen(key) + 1);
	*req = (struct request){.op = REQ_ABORT, .object = o, .begin.shared = &version};
	rc = queue_do(q, req);
	req->begin.shared = NULL;
	return rc;
}

void open_uploads_drop_left(struct queue *q, const char *folder, uint64_t count,
			    void (*key)(const void *argument, uint64_t i, uint32_t name,
					char key[OBJECT_KEY_BYTES]),
			    const void *argument)
{
	const struct store *store = q->channel.store;
	struct open_uploads u = {0};
	uint64_t first, dropped = 0;
	char name[OBJECT_KEY_BYTES], said[UNITS_COUNTED_BYTES];
	struct request req;
	struct object o;
	struct err ignored;

	if (store_can(store, BACKEND_UPLOADS) && open_uploads_list(&u, q, folder, &ignored) == 0 &&
	    u.count && open_uploads_sort(&u) == 0)
		for (uint64_t i = 0; i < count; i++) {
			key(argument, i, 0, name);
			for (uint64_t n = open_uploads_of(&u, name, &first); n; n--)
				dropped += open_uploads_drop(&u, first + n - 1, q, &o, &req) == 0;
		}
	if (dropped)
		log_say(store->log, LOG_WARNING, "dropped %s of a run that ended early in %s/%s",
			units_counted(said, dropped, "unfinished upload"), store->uri, folder);
	open_uploads_free(&u);
}

uint64_t open_uploads_drop_parts(struct queue *q, const char *key)
{
	const char *slash = strrchr(key, '/');
	struct open_uploads u = {0};
	char folder[OBJECT_KEY_BYTES];
	struct request req;
	struct object o;
	struct err ignored;
	size_t length = strlen(key);
	bool all = !length || key[length - 1] == '/';
	uint64_t dropped = 0, first = 0, count;

	if (!open_uploads_files(q->channel.store))
		return 0;
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash + 1 - key) : 0, key);
	if (parts_list(&u, q, folder, all, &ignored) == 0 && open_uploads_sort(&u) == 0) {
		count = all ? u.count : open_uploads_of(&u, key, &first);
		for (uint64_t i = 0; i < count; i++)
			dropped += open_uploads_drop(&u, first + i, q, &o, &req) == 0;
	}
	open_uploads_free(&u);
	return dropped;
}

int folder_first_whole(struct queue *q, const char *folder, const char *key,
		       char name[OBJECT_KEY_BYTES], struct err *err)
{
	const char *slash = strrchr(key, '/'), *own = slash ? slash + 1 : key;
	int rc = folder_first(q, folder, name, err);
	size_t stem = rc == 0 ? part_stem(name, PART_OF_OBJECT) : 0;

	if (!stem || stem != strlen(own) || memcmp(name, own, stem) != 0 ||
	    !open_uploads_drop_parts(q, key))
		return rc;
	return folder_first(q, folder, name, err);
}
