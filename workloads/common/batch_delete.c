/* SPDX-License-Identifier: Apache-2.0 */
/* Batched deletes: see batch_delete.h. */
#include "workloads/common/batch_delete.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/store.h"

int batch_delete_open(struct batch_delete *r, struct queue *q,
		      void (*removed)(void *argument, const struct request *req, uint64_t bytes),
		      void *argument, struct err *err)
{
	*r = (struct batch_delete){.queue = q, .removed = removed, .argument = argument};
	if (!store_can(q->channel.store, BACKEND_BATCH))
		return 0;
	r->keys = calloc(REQ_KEYS_MAX, sizeof(*r->keys));
	r->bytes = calloc(REQ_KEYS_MAX, sizeof(*r->bytes));
	return r->keys && r->bytes ? 0 : err_set(err, -ENOMEM, "no memory for keys to remove");
}

void batch_delete_close(struct batch_delete *r)
{
	free(r->keys);
	free(r->bytes);
	*r = (struct batch_delete){0};
}

void batch_delete_add(struct batch_delete *r, const char *key, uint64_t bytes)
{
	struct object o = {0};
	struct request req = {.op = REQ_DELETE, .object = &o};

	if (r->keys) {
		snprintf(r->keys[r->count].key, sizeof(r->keys[0].key), "%s", key);
		r->bytes[r->count++] = bytes;
		if (r->count == REQ_KEYS_MAX)
			batch_delete_flush(r);
		return;
	}
	snprintf(o.key, sizeof(o.key), "%s", key);
	queue_do(r->queue, &req);
	r->removed(r->argument, &req, bytes);
}

void batch_delete_flush(struct batch_delete *r)
{
	struct object o = {0};
	struct request req = {
		.op = REQ_DELETE, .object = &o, .batch.keys = r->keys, .batch.count = r->count};

	if (!r->count)
		return;
	snprintf(o.key, sizeof(o.key), "%s", r->keys[0].key);
	queue_do(r->queue, &req);
	for (uint32_t i = 0; i < r->count; i++) {
		struct request one = req;

		snprintf(o.key, sizeof(o.key), "%s", r->keys[i].key);
		one.answer.status = r->keys[i].status;
		one.answer.why = r->keys[i].why;
		one.batch.keys = NULL;
		one.batch.count = 0;
		r->removed(r->argument, &one, r->bytes[i]);
	}
	r->count = 0;
}
