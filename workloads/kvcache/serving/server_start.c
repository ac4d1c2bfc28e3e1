/* SPDX-License-Identifier: Apache-2.0 */
/* A server that is started anew: see server.h. It takes no prompt, lets what is under way come to its end, loses its memory, and
 * reads what the program of its layout reads (enum kv_start), by tasks of I/O threads:
 *
 *	due ─► index ───────────► blocks ──────────────────► leftovers ─► done: prompts are served again
 *	       a listing, or the  sizes of files, headers    a listing
 *	       index of slots     of slots, .meta files
 *
 * What it finds is compared with what it had written: its index keeps what was found, in the order of use. Where the store keeps
 * nothing, the same is asked, and all of it counts as found. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "workloads/kvcache/objects.h"
#include "workloads/kvcache/serving/server.h"

/* The requests for an index: the headers of its two copies, then the newer copy. */
enum { START_INDEX_COPIES = 2 };

static int start_listed(struct request *req, const char *name, uint64_t size)
{
	struct kv_starting *g = req->user;
	uint64_t number;

	(void)size;
	if (g->step != KV_START_INDEX || !g->named(name, &number))
		return 0;
	return kv_lru_use(&g->found, number);
}

static void start_found(struct kv_run *r, uint64_t number)
{
	if (kv_lru_use(&r->server->starting.found, number) < 0)
		kv_run_fail(r, -ENOMEM);
}

/* The folder of any block, or of the rank's buckets. */
static bool start_lists(struct kv_run *r, struct kv_task *t)
{
	t->what.kind = KV_OPERATION_LOOKUP;
	t->what.id = kv_block_id(0);
	t->file = kv_bucket_id(r->ctx->group->rank, KV_BUCKET_DATA, 0);
	t->listing = &r->server->starting.listing;
	return true;
}

/* The index of slots: page by page, one after the other. */
static bool start_index(struct kv_run *r, struct kv_task *t)
{
	struct kv_server *s = r->server;
	struct kv_starting *g = &s->starting;
	uint64_t copy = g->next++;

	t->header = copy < START_INDEX_COPIES;
	if (!t->header && (copy > START_INDEX_COPIES || !s->index_copy))
		return false;
	if (!t->header)
		copy = s->index_copy - 1;
	t->at = kv_index_at(s->slots, copy);
	t->what.id = kv_id_make(KV_KEY_NAMED, 0, 0, copy);
	t->what.bytes = t->header ? s->slots->header : s->index_bytes;
	return true;
}

static bool start_slot(struct kv_run *r, struct kv_task *t)
{
	struct kv_server *s = r->server;
	const struct kv_entries *e = &s->written.entries;
	uint32_t slot = s->starting.next++;

	t->header = true;
	t->at = kv_slot_at(s->slots, slot, s->block_bytes);
	t->what.id = kv_id_make(KV_KEY_NAMED, 0, 0, slot);
	t->what.bytes = s->block_bytes;
	if (slot < e->made && kv_entries_find(e, kv_entry_at(e, slot)->item.id) == slot)
		t->what.id = kv_entry_at(e, slot)->item.id;
	return slot < s->written.room;
}

/* The next one of those whose names were found. */
static bool start_next(struct kv_starting *g, uint64_t *number)
{
	if (g->next == KV_NONE)
		return false;
	*number = kv_lru_id(&g->found, g->next).low;
	g->next = kv_lru_newer(&g->found, g->next);
	return true;
}

static bool start_file(struct kv_run *r, struct kv_task *t)
{
	t->what.kind = KV_OPERATION_LOOKUP;
	t->what.id = kv_block_id(0);
	return start_next(&r->server->starting, &t->what.id.low);
}

/* The .meta of a bucket, then the size of its other file. Whatever else has such a name is left. */
static bool start_bucket(struct kv_run *r, struct kv_task *t)
{
	struct kv_server *s = r->server;
	struct kv_starting *g = &s->starting;

	while (!g->meta)
		if (!start_next(g, &g->bucket))
			return false;
		else if (kv_lru_has(&s->buckets, g->bucket))
			break;
	g->meta = !g->meta;
	t->file = kv_bucket_id(r->ctx->group->rank, g->meta ? KV_BUCKET_META : KV_BUCKET_DATA,
			       g->bucket);
	t->what.id = t->file;
	t->what.kind = g->meta ? KV_OPERATION_READ : KV_OPERATION_LOOKUP;
	t->bucket = g->meta ? &s->writing.bucket : NULL;
	t->what.bytes = g->meta ? kv_server_bucket_meta(s, g->bucket) : 0;
	return true;
}

/* What the steps ask for: the next task of one, or false where it has none. */
static bool (*const start_tasks[][KV_START_DONE])(struct kv_run *r, struct kv_task *t) = {
	[KV_START_FOLDER] = {[KV_START_INDEX] = start_lists, [KV_START_BLOCKS] = start_file},
	[KV_START_SLOTS] = {[KV_START_INDEX] = start_index, [KV_START_BLOCKS] = start_slot},
	[KV_START_BUCKETS] = {[KV_START_INDEX] = start_lists,
			      [KV_START_BLOCKS] = start_bucket,
			      [KV_START_LEFTOVERS] = start_lists}};

/* Gives the tasks of a step for which there is room. Returns whether all have been answered. */
static bool start_step(struct kv_run *r)
{
	struct kv_starting *g = &r->server->starting;
	const struct kv_layout *l = r->work.layout;
	uint32_t most = g->step == KV_START_BLOCKS ? max_u32(l->starts, 1) : 1;
	bool (*next)(struct kv_run * r, struct kv_task * t) = start_tasks[l->start][g->step];

	while (!g->asked && r->given < most && kv_loads_room(&r->loads)) {
		struct kv_task task = {.slot = KV_NONE, .owner = g};

		g->asked = !next || !next(r, &task);
		if (!g->asked)
			kv_shard_give(r, &task);
	}
	return g->asked && !r->given;
}

/* What fills no bucket is lost with the memory. */
static void start_forget(struct kv_run *r)
{
	struct kv_server *s = r->server;
	uint64_t key;

	r->ctx->tally->rank_row[KV_DROPPED] += s->pending_count;
	s->pending_count = 0;
	while (kv_lru_take(&s->queued, &key) || kv_lru_take(&s->memory, &key))
		;
	s->starting.begin_ns = r->now_ns;
}

/* What was not found goes; of an empty file, all. Where the store is asked for each block, it may still have it. */
static void start_compare(struct kv_run *r)
{
	struct kv_server *s = r->server;
	struct kv_starting *g = &s->starting;
	const struct kv_lru *all = r->setup.buckets ? &s->buckets : &s->written;
	uint32_t next;

	g->blocks = r->setup.buckets ? s->written.entries.live : g->found.entries.live;
	for (uint32_t n = all->oldest; r->work.layout->start && n != KV_NONE; n = next) {
		uint64_t key = kv_lru_id(all, n).low, lost = 1;

		next = kv_lru_newer(all, n);
		if (kv_lru_has(&g->found, key))
			continue;
		if (r->setup.buckets)
			g->blocks -= lost = kv_server_bucket_forget(s, n);
		else if (s->knows)
			kv_lru_remove(&s->written, key);
		/* Which was to be expected of an empty file. */
		g->lost += r->work.layout->start == KV_START_EMPTY ? 0 : lost;
	}
}

static void start_go_on(struct kv_run *r)
{
	struct kv_server *s = r->server;
	struct kv_starting *g = &s->starting;
	const struct kv_lru *all = r->setup.buckets ? &s->buckets : &s->written;

	g->step++;
	g->asked = false;
	g->next = 0;
	g->named = r->work.layout->listed;
	g->listing = (struct listing){.entry = start_listed, .names = true};
	if (g->step == KV_START_BLOCKS && g->named) {
		for (uint32_t n = all->oldest; !r->work.keeps && n != KV_NONE;
		     n = kv_lru_newer(all, n))
			start_found(r, kv_lru_id(all, n).low);
		g->next = g->found.oldest;
	}
	if (g->step < KV_START_DONE)
		return;
	start_compare(r);
	g->ns = r->now_ns - g->begin_ns;
	s->closed = false;
}

void kv_server_start(struct kv_run *r)
{
	struct kv_server *s = r->server;
	struct kv_starting *g = &s->starting;
	uint64_t restart_ns = s->options->restart_ns;
	bool rests = !s->busy && !r->given && s->pending_count < s->together &&
		     s->writing.step == KV_BUCKET_RESTS &&
		     s->written.entries.live <= s->written.room;

	if (!restart_ns || g->step == KV_START_DONE || r->now_ns - r->start_ns < restart_ns)
		return;
	s->closed = true;
	if (g->step == KV_START_DUE && rests) {
		start_forget(r);
		start_go_on(r);
	}
	while (g->step != KV_START_DUE && s->closed && start_step(r))
		start_go_on(r);
}

void kv_server_start_answered(struct kv_run *r, const struct kv_task *t)
{
	struct kv_starting *g = &r->server->starting;
	bool found = t->rc == 0 && !(t->absent && r->work.keeps);

	if (t->listing)
		g->asked = !found || !g->listing.more;
	else if (g->named && !found)
		kv_lru_remove(&g->found, t->what.id.low);
	else if (found && t->header && kv_id_kind(t->what.id) == KV_KEY_BLOCK)
		start_found(r, t->what.id.low);
}
