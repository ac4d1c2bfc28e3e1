/* SPDX-License-Identifier: Apache-2.0 */
/* Small objects of haul itself: see small_object.h. */
#include "workloads/common/small_object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "backends/store.h"
#include "core/made.h"

enum { SMALL_ALIGNMENT = 4096 };

static int small_object_read(struct queue *q, struct object *o, void *window, uint64_t length,
			     struct request *req)
{
	int rc;

	*req = (struct request){.op = REQ_OPEN, .object = o};
	rc = queue_do(q, req);
	if (rc < 0)
		return rc;
	*req = (struct request){.op = REQ_READ, .object = o, .length = length, .data = window};
	rc = queue_do(q, req);
	queue_do(q, &(struct request){.op = REQ_CLOSE, .object = o});
	return rc;
}

int small_object_load(struct queue *q, const char *key, uint64_t bytes_max, char **text,
		      size_t *length, struct err *err)
{
	const struct store *store = q->channel.store;
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o};
	void *window = NULL;
	int rc;

	snprintf(o.key, sizeof(o.key), "%s", key);
	rc = queue_do(q, &req);
	if (rc == 0 && req.answer.done_bytes > bytes_max)
		return err_set(err, -EINVAL, "%s/%s: has %llu bytes, which is too large",
			       store->uri, key, (unsigned long long)req.answer.done_bytes);
	*length = req.answer.done_bytes;
	if (rc == 0)
		rc = -posix_memalign(&window, SMALL_ALIGNMENT,
				     queue_buffer_bytes(store, *length) + 1);
	if (rc == 0 && !window)
		rc = -ENOMEM;
	/* What has no bytes is not opened: a FIFO in its place would wait for a writer. */
	if (rc == 0 && *length)
		rc = small_object_read(q, &o, window, *length, &req);
	if (rc < 0 || !window) {
		free(window);
		return failure_set(err, rc, store, &req, NULL);
	}
	/* With direct I/O the payload begins some bytes into the window. */
	memmove(window, (char *)window + req.answer.lead, *length);
	((char *)window)[*length] = '\0';
	*text = window;
	return 0;
}

static int small_object_write(struct queue *q, struct object *o, void *data, uint64_t length,
			      struct request *req)
{
	int rc;

	*req = (struct request){
		.op = REQ_BEGIN, .object = o, .length = length, .begin.part = length};
	rc = queue_do(q, req);
	if (rc < 0)
		return rc;
	*req = (struct request){.op = REQ_WRITE, .object = o, .length = length, .data = data};
	rc = queue_do(q, req);
	if (rc == 0) {
		*req = (struct request){.op = REQ_COMMIT, .object = o};
		rc = queue_do(q, req);
	}
	if (rc < 0)
		queue_do(q, &(struct request){.op = REQ_ABORT, .object = o});
	return rc;
}

int small_object_save_bytes(struct queue *q, const char *key, const void *bytes, uint64_t length,
			    struct err *err)
{
	struct object o = {0};
	struct request req = {.object = &o};
	void *data = NULL;
	int rc;

	snprintf(o.key, sizeof(o.key), "%s", key);
	/* Direct I/O writes only whole blocks from aligned memory. */
	rc = -posix_memalign(&data, SMALL_ALIGNMENT, queue_buffer_bytes(q->channel.store, length));
	if (rc == 0 && data) {
		memcpy(data, bytes, length);
		rc = small_object_write(q, &o, data, length, &req);
	}
	free(data);
	return rc < 0 ? failure_set(err, rc, q->channel.store, &req, NULL) : 0;
}

int small_object_save(struct queue *q, const char *key, const char *text, struct err *err)
{
	return small_object_save_bytes(q, key, text, strlen(text), err);
}

void small_object_remove(struct queue *q, const char *key)
{
	struct object o = {0};
	struct request req = {.op = REQ_DELETE, .object = &o, .own = true};

	snprintf(o.key, sizeof(o.key), "%s", key);
	queue_do(q, &req);
}

bool small_object_folder(const struct store *store, const char *key, char folder[OBJECT_KEY_BYTES])
{
	const char *slash = strrchr(key, '/');

	snprintf(folder, OBJECT_KEY_BYTES, "%.*s", slash ? (int)(slash + 1 - key) : 0, key);
	return folder[0] && store_can(store, BACKEND_UPDATE) && !store->ops->own;
}

void small_object_leave(struct queue *q, const char *key)
{
	char folder[OBJECT_KEY_BYTES];

	small_object_remove(q, key);
	if (small_object_folder(q->channel.store, key, folder))
		small_object_remove(q, folder);
}

/* Entries of a page, of which the first that is not a lock is wanted. */
enum { FOLDER_LOOK = 16 };

static int folder_entry(struct request *req, const char *name, uint64_t size)
{
	size_t n = strlen(name), ending = sizeof(OWNER_ENDING) - 1;
	char *first = req->user;

	(void)size;
	/* Neither the lock of a run nor the record of a folder is any of what a folder holds. */
	if (!first[0] && strcmp(name, MADE_NAME) != 0 &&
	    (n < ending || strcmp(name + n - ending, OWNER_ENDING) != 0))
		snprintf(first, OBJECT_KEY_BYTES, "%s", name);
	return 0;
}

int folder_first(struct queue *q, const char *folder, char name[OBJECT_KEY_BYTES], struct err *err)
{
	struct listing listing = {.entry = folder_entry};
	size_t n = strlen(folder);
	struct object o = {0};
	struct request req;
	int rc;

	name[0] = '\0';
	snprintf(o.key, sizeof(o.key), "%s%s", folder, n && folder[n - 1] != '/' ? "/" : "");
	do {
		req = (struct request){.op = REQ_LIST,
				       .object = &o,
				       .length = FOLDER_LOOK,
				       .listing = &listing,
				       .user = name};
		rc = queue_do(q, &req);
	} while (rc == 0 && !name[0] && listing.more);
	return rc == 0 || rc == -ENOENT ? 0 : failure_set(err, rc, q->channel.store, &req, NULL);
}
