#include "workloads/common/batch_delete.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/store.h"

int remover_open(struct remover *r, struct queue *q,
		 void (*removed)(void *argument, const struct io *io, uint64_t bytes),
		 void *argument, struct err *err)
{
	*r = (struct remover){.queue = q, .removed = removed, .argument = argument};
	if (!store_can(q->channel.store, BACKEND_BATCH))
		return 0;
	r->keys = calloc(IO_KEYS_MAX, sizeof(*r->keys));
	r->bytes = calloc(IO_KEYS_MAX, sizeof(*r->bytes));
	return r->keys && r->bytes ? 0 : err_set(err, -ENOMEM, "no memory for keys to remove");
}

void remover_close(struct remover *r)
{
	free(r->keys);
	free(r->bytes);
	*r = (struct remover){0};
}

void remover_add(struct remover *r, const char *key, uint64_t bytes)
{
	struct object o = {0};
	struct io io = {.op = IO_DELETE, .object = &o};

	if (r->keys) {
		snprintf(r->keys[r->count].key, sizeof(r->keys[0].key), "%s", key);
		r->bytes[r->count++] = bytes;
		if (r->count == IO_KEYS_MAX)
			remover_flush(r);
		return;
	}
	snprintf(o.key, sizeof(o.key), "%s", key);
	queue_do(r->queue, &io);
	r->removed(r->argument, &io, bytes);
}

void remover_flush(struct remover *r)
{
	struct object o = {0};
	struct io io = {.op = IO_DELETE, .object = &o, .keys = r->keys, .key_count = r->count};

	if (!r->count)
		return;
	snprintf(o.key, sizeof(o.key), "%s", r->keys[0].key);
	queue_do(r->queue, &io);
	for (uint32_t i = 0; i < r->count; i++) {
		struct io one = io;

		snprintf(o.key, sizeof(o.key), "%s", r->keys[i].key);
		one.status = r->keys[i].status;
		one.why = r->keys[i].why;
		one.keys = NULL;
		one.key_count = 0;
		r->removed(r->argument, &one, r->bytes[i]);
	}
	r->count = 0;
}
