/* Content of a folder: see folder.h. */
#include "workloads/common/folder.h"

#include <errno.h>
#include <stdio.h>

#include "backends/queue/failure.h"

static int folder_entry(struct request *req, const char *name, uint64_t size)
{
	(void)size;
	snprintf(req->user, OBJECT_KEY_BYTES, "%s", name);
	return 0;
}

int folder_first(struct queue *q, const char *folder, char name[OBJECT_KEY_BYTES], struct err *err)
{
	struct listing listing = {.entry = folder_entry};
	struct object o = {0};
	struct request req = {
		.op = REQ_LIST, .object = &o, .length = 1, .listing = &listing, .user = name};
	int rc;

	name[0] = '\0';
	snprintf(o.key, sizeof(o.key), "%s%s", folder, folder[0] ? "/" : "");
	rc = queue_do(q, &req);
	return rc == 0 || rc == -ENOENT ? 0 : failure_set(err, rc, q->channel.store, &req, NULL);
}
