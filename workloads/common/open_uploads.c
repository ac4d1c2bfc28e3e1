/* Open uploads: see open_uploads.h. */
#include "workloads/common/open_uploads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "backends/store.h"

enum { OPEN_UPLOADS_ROOM = 64 << 10 };

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

static int open_uploads_list(struct open_uploads *u, struct queue *q, const char *folder,
			     struct err *err)
{
	struct listing listing = {.entry = open_uploads_entry, .uploads = true};
	const struct store *store = q->channel.store;
	struct object o = {0};
	struct request req;
	int rc;

	snprintf(o.key, sizeof(o.key), "%s%s", folder, folder[0] ? "/" : "");
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
	if (!store_can(q->channel.store, BACKEND_UPLOADS))
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
	snprintf(o->key, sizeof(o->key), "%s", key);
	snprintf(version.id, sizeof(version.id), "%s", key + strlen(key) + 1);
	*req = (struct request){.op = REQ_ABORT, .object = o, .begin.shared = &version};
	rc = queue_do(q, req);
	req->begin.shared = NULL;
	return rc;
}
