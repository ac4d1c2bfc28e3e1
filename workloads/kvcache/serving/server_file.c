/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in slots of one file per rank: see server.h and layout.h. The index is the rank's own, in memory: `written`, in which the
 * number of a block is that of its slot. A block that is being written is in it, and in `queued`. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "workloads/kvcache/objects.h"
#include "workloads/kvcache/serving/server.h"

static int file_do(struct kv_run *r, struct request *req, struct err *err)
{
	struct queue *q = &r->side[0];
	int rc = queue_do(q, req);

	return rc < 0 ? failure_set(err, rc, q->channel.store, req, NULL) : 0;
}

/* A last page of zeroes gives the file its size. Whether its room is reserved, the store says. */
int kv_server_file(struct kv_run *r, struct err *err)
{
	const struct kv_server *s = r->server;
	uint64_t bytes =
		s->slots->front + s->written.room * kv_slot_bytes(s->slots, s->block_bytes);
	struct object *o = &r->work.file;
	void *page = NULL;
	int rc;

	*o = (struct object){.size = 0};
	r->work.object_key(&r->work, 0, kv_block_id(r->ctx->group->rank), o->key);
	rc = file_do(r, &(struct request){.op = REQ_UPDATE, .object = o, .length = bytes}, err);
	if (rc < 0)
		return rc;
	if (posix_memalign(&page, KV_SLOT_PAGE, KV_SLOT_PAGE) != 0 || !page)
		return err_set(err, -ENOMEM, "no memory for a page");
	memset(page, 0, KV_SLOT_PAGE);
	rc = file_do(r,
		     &(struct request){.op = REQ_WRITE,
				       .object = o,
				       .offset = bytes - KV_SLOT_PAGE,
				       .length = KV_SLOT_PAGE,
				       .data = page},
		     err);
	free(page);
	return rc;
}

uint64_t kv_server_file_remove(struct kv_run *r)
{
	struct object *o = &r->work.file, named = {.size = 0};
	struct request req = {.op = REQ_CLOSE, .object = o};

	/* It was never opened. */
	if (!o->key[0])
		return 0;
	queue_do(&r->side[0], &req);
	if (!r->work.keeps)
		return 0;
	memcpy(named.key, o->key, sizeof(named.key));
	req = (struct request){.op = REQ_DELETE, .object = &named, .own = true};
	queue_do(&r->side[0], &req);
	kv_block_remove_folders(&r->work, &r->side[0], named.key);
	return request_failed(&req);
}

bool kv_server_slot(struct kv_run *r, uint64_t key)
{
	struct kv_server *s = r->server;
	const struct kv_operation gone = {.kind = KV_OPERATION_DELETE, .bytes = s->block_bytes};
	bool full = s->written.entries.live == s->written.room;
	uint64_t lost;

	if (!kv_lru_room(&s->written, &lost))
		return false;
	if (full)
		kv_measure_at_once(r, &gone);
	if (kv_lru_hold(&s->written, key) != KV_NONE)
		return true;
	kv_run_fail(r, -ENOMEM);
	return false;
}

/* What is held for a block that is there: itself, or its bucket. */
static struct kv_lru *file_held(struct kv_server *s, uint64_t *key)
{
	if (s->slots)
		return &s->written;
	*key = kv_server_bucket_of(s, *key);
	return &s->buckets;
}

void kv_server_lookup(struct kv_run *r, struct kv_prefill *f)
{
	struct kv_server *s = r->server;
	const uint64_t *keys = f->prompt.keys;

	f->found = f->memory;
	while (f->found < f->prompt.count && kv_lru_has(&s->written, keys[f->found]) &&
	       !kv_lru_has(&s->queued, keys[f->found])) {
		uint64_t key = keys[f->found++];
		struct kv_lru *held = file_held(s, &key);

		kv_lru_hold(held, key);
	}
	f->held = f->found;
	r->ctx->tally->rank_row[KV_LOOKUPS] += f->found - f->memory + (f->found < f->prompt.count);
}

void kv_server_let_go(struct kv_server *s, struct kv_prefill *f)
{
	for (uint32_t i = f->memory; i < f->held; i++) {
		uint64_t key = f->prompt.keys[i];
		struct kv_lru *held = file_held(s, &key);

		kv_lru_let_go(held, key);
	}
	f->held = 0;
}

void kv_server_index(struct kv_run *r)
{
	struct kv_server *s = r->server;
	uint64_t every_ns = s->slots ? s->slots->index_ns : 0;
	struct kv_task task = {.slot = KV_NONE, .quiet = true};

	if (!every_ns || s->closed || r->now_ns < s->index_due_ns || !kv_loads_room(&r->loads))
		return;
	s->index_due_ns = s->index_due_ns ? s->index_due_ns + every_ns : r->start_ns + every_ns;
	if (!s->changed)
		return;
	s->changed = false;
	task.at = kv_index_at(s->slots, s->index_copy);
	s->index_bytes = kv_index_bytes(s->slots, s->written.entries.live);
	task.what = (struct kv_operation){.kind = KV_OPERATION_WRITE,
					  .bytes = s->index_bytes,
					  .id = kv_id_make(KV_KEY_NAMED, 0, 0, s->index_copy++)};
	kv_shard_give(r, &task);
}
