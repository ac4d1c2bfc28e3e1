/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in buckets: see server.h and bucket.h. One bucket is written at a time, step by step; each step is a task of an I/O thread.
 *
 *	as many blocks wait as a bucket has ─► [.meta of the one that goes ─► its .bucket] ─► .bucket ─► .meta ─► its blocks are there
 *	                                       deleted                                       written
 *
 * So whoever reads the files after a crash takes no bucket for whole that is not. A bucket that was begun is written to
 * its end, also when the phase is over. */
#include <errno.h>
#include <string.h>

#include "core/time_ns.h"
#include "workloads/kvcache/objects.h"
#include "workloads/kvcache/serving/server.h"

/* Numbers of buckets begin with the time in seconds, and have so many bits behind it. */
enum { BUCKET_NUMBER_BITS = 12 };

static const struct {
	enum kv_operation_kind kind;
	enum kv_bucket_file file;
} bucket_steps[] = {
	[KV_BUCKET_LOSES_META] = {KV_OPERATION_DELETE, KV_BUCKET_META},
	[KV_BUCKET_LOSES_DATA] = {KV_OPERATION_DELETE, KV_BUCKET_DATA},
	[KV_BUCKET_WRITES_DATA] = {KV_OPERATION_WRITE, KV_BUCKET_DATA},
	[KV_BUCKET_WRITES_META] = {KV_OPERATION_WRITE, KV_BUCKET_META},
	[KV_BUCKET_DROPS_DATA] = {KV_OPERATION_DELETE, KV_BUCKET_DATA},
};

int kv_server_buckets_open(struct kv_run *r)
{
	struct kv_server *s = r->server;
	struct kv_writing *w = &s->writing;
	uint64_t capacity = r->setup.rules[0].capacity;
	struct kv_bucket *b = &w->bucket;

	b->block_bytes = s->block_bytes;
	b->count = kv_bucket_blocks(r->setup.buckets, s->block_bytes);
	s->together = b->count;
	b->keys = calloc(b->count, sizeof(*b->keys));
	b->meta = calloc(1, kv_bucket_meta(b));
	w->number = clock_utc_ns() / NS_PER_S << BUCKET_NUMBER_BITS;
	if (!b->keys || !b->meta)
		return -ENOMEM;
	return kv_lru_init(&s->buckets,
			   capacity == KV_UNLIMITED
				   ? UINT64_MAX
				   : capacity / kv_bucket_whole(r->setup.buckets, s->block_bytes));
}

void kv_server_buckets_close(struct kv_server *s)
{
	kv_lru_free(&s->buckets);
	free(s->writing.bucket.keys);
	free(s->writing.bucket.meta);
}

static struct kv_entry *bucket_block(const struct kv_server *s, uint64_t key)
{
	uint32_t number = kv_entries_find(&s->written.entries, kv_block_id(key));

	INVARIANT(number != KV_NONE, "who gives a block a task has held its bucket");
	return kv_entry_at(&s->written.entries, number);
}

uint64_t kv_server_bucket_of(const struct kv_server *s, uint64_t key)
{
	return bucket_block(s, key)->age;
}

void kv_server_bucket_place(const struct kv_run *r, struct kv_task *t)
{
	const struct kv_entry *block = bucket_block(r->server, t->what.id.low);

	t->file = kv_bucket_id(r->ctx->group->rank, KV_BUCKET_DATA, block->age);
	t->at = block->bytes;
}

/* They were added one after the other. */
uint64_t kv_server_bucket_forget(struct kv_server *s, uint32_t bucket)
{
	struct kv_entry *e = kv_entry_at(&s->buckets.entries, bucket);
	uint32_t block = (uint32_t)e->age, next;
	uint64_t blocks = e->bytes;

	for (; e->bytes; e->bytes--, block = next) {
		next = kv_lru_newer(&s->written, block);
		kv_lru_remove(&s->written, kv_lru_id(&s->written, block).low);
	}
	return blocks;
}

uint64_t kv_server_bucket_meta(struct kv_server *s, uint64_t number)
{
	uint32_t n = kv_entries_find(&s->buckets.entries, kv_block_id(number)), block;
	struct kv_bucket *b = &s->writing.bucket;

	INVARIANT(n != KV_NONE, "a start-up reads only buckets that it knows");
	block = (uint32_t)kv_entry_at(&s->buckets.entries, n)->age;
	for (uint32_t i = 0; i < b->count; i++, block = kv_lru_newer(&s->written, block))
		b->keys[i] = kv_lru_id(&s->written, block).low;
	return kv_bucket_meta(b);
}

/* The bucket of that number goes, and all its blocks. */
static void bucket_lose(struct kv_run *r, uint32_t number)
{
	struct kv_server *s = r->server;
	const struct kv_operation gone = {.kind = KV_OPERATION_DELETE, .bytes = s->block_bytes};

	for (uint64_t n = kv_server_bucket_forget(s, number); n; n--)
		kv_measure_at_once(r, &gone);
	kv_lru_take(&s->buckets, &s->writing.lost);
}

/* Returns false where there are not enough blocks for a bucket, or all buckets that could go for it are held. */
static bool bucket_begin(struct kv_run *r)
{
	struct kv_server *s = r->server;
	struct kv_writing *w = &s->writing;
	bool full = s->buckets.entries.live >= s->buckets.room;
	uint32_t lost = full ? kv_lru_idle(&s->buckets) : KV_NONE;

	if (r->over || s->pending_count < s->together || (full && lost == KV_NONE))
		return false;
	w->lost = 0;
	if (full)
		bucket_lose(r, lost);
	for (uint32_t i = 0; i < s->together; i++)
		w->bucket.keys[i] = s->pending[(s->pending_first + i) % s->pending_room];
	s->pending_first = (s->pending_first + s->together) % s->pending_room;
	s->pending_count -= s->together;
	w->number++;
	w->meta_bytes = kv_bucket_meta(&w->bucket);
	w->step = full ? KV_BUCKET_LOSES_META : KV_BUCKET_WRITES_DATA;
	return true;
}

void kv_server_bucket(struct kv_run *r)
{
	struct kv_server *s = r->server;
	struct kv_writing *w = &s->writing;
	struct kv_task task = {.slot = KV_NONE, .quiet = true};
	bool writes;

	if (!r->setup.buckets || w->asked || !kv_loads_room(&r->loads) ||
	    (w->step == KV_BUCKET_RESTS && !bucket_begin(r)))
		return;
	task.file = kv_bucket_id(r->ctx->group->rank, bucket_steps[w->step].file,
				 w->step <= KV_BUCKET_LOSES_DATA ? w->lost : w->number);
	task.what = (struct kv_operation){.kind = bucket_steps[w->step].kind, .id = task.file};
	writes = task.what.kind == KV_OPERATION_WRITE;
	if (writes && w->step == KV_BUCKET_WRITES_META)
		task.what.bytes = w->meta_bytes;
	else if (writes)
		task.what.bytes = kv_bucket_at(w->bucket.count, s->block_bytes);
	task.bucket = writes ? &w->bucket : NULL;
	w->asked = true;
	kv_shard_give(r, &task);
}

static int bucket_add(struct kv_run *r, const struct kv_times *times)
{
	struct kv_server *s = r->server;
	const struct kv_writing *w = &s->writing;
	const struct kv_operation put = {.kind = KV_OPERATION_WRITE, .bytes = s->block_bytes};
	struct kv_entry *all, *block;

	if (kv_lru_use(&s->buckets, w->number) < 0)
		return -ENOMEM;
	all = kv_entry_at(&s->buckets.entries, s->buckets.youngest);
	for (uint32_t i = 0; i < w->bucket.count; i++) {
		if (kv_lru_use(&s->written, w->bucket.keys[i]) < 0)
			return -ENOMEM;
		if (i == 0)
			all->age = s->written.youngest;
		all->bytes++;
		block = kv_entry_at(&s->written.entries, s->written.youngest);
		block->age = w->number;
		block->bytes = kv_bucket_at(i, s->block_bytes) + KV_BUCKET_KEY_BYTES;
		kv_measure_operation(r, &put, times);
	}
	return 0;
}

void kv_server_bucket_answered(struct kv_run *r, const struct kv_task *t)
{
	struct kv_server *s = r->server;
	struct kv_writing *w = &s->writing;
	const struct kv_times times = {.begin_ns = w->begin_ns, .end_ns = t->times.end_ns};
	bool meta = w->step == KV_BUCKET_WRITES_META;

	w->asked = false;
	if (w->step == KV_BUCKET_WRITES_DATA)
		w->begin_ns = t->times.begin_ns;
	/* A bucket that could not be deleted is lost all the same; one without its .meta is not there. */
	if (meta ? t->rc < 0 : w->step != KV_BUCKET_DROPS_DATA && (t->rc == 0 || !t->bucket)) {
		w->step++;
		return;
	}
	for (uint32_t i = 0; i < w->bucket.count; i++)
		kv_lru_remove(&s->queued, w->bucket.keys[i]);
	if (meta && bucket_add(r, &times) < 0)
		kv_run_fail(r, -ENOMEM);
	w->step = KV_BUCKET_RESTS;
}

static uint64_t bucket_remove(struct kv_run *r, uint64_t number)
{
	uint64_t left = 0;

	for (int file = KV_BUCKET_META; file >= KV_BUCKET_DATA; file--) {
		struct object o = {.size = 0};
		struct request req = {.op = REQ_DELETE, .object = &o, .own = true};

		r->work.object_key(&r->work, 0, kv_bucket_id(r->ctx->group->rank, file, number),
				   o.key);
		queue_do(&r->side[0], &req);
		left += request_failed(&req);
	}
	return left;
}

uint64_t kv_server_buckets_remove(struct kv_run *r)
{
	struct kv_server *s = r->server;
	const struct kv_writing *w = &s->writing;
	char key[OBJECT_KEY_BYTES];
	uint64_t number, left = 0;

	if (!r->work.keeps)
		return 0;
	while (kv_lru_take(&s->buckets, &number))
		left += bucket_remove(r, number);
	/* What an error has left of a bucket under way, and of the one that went for it. */
	if (w->step != KV_BUCKET_RESTS)
		left += bucket_remove(r, w->number);
	if (w->step != KV_BUCKET_RESTS && w->lost)
		left += bucket_remove(r, w->lost);
	r->work.object_key(&r->work, 0, kv_bucket_id(r->ctx->group->rank, KV_BUCKET_DATA, 0), key);
	kv_block_remove_folders(&r->work, &r->side[0], key);
	return left;
}
