/* SPDX-License-Identifier: Apache-2.0 */
/* Serving prompts: see server.h. */
#include "workloads/kvcache/serving/server.h"

#include <errno.h>

#include "core/time_ns.h"

/* Where it shall fetch only what pays, one prompt in so many is fetched all the same, so that it
 * learns when the store has become faster. */
enum { FETCH_LEARNS = 16 };

/* How often a decoding rank asks for a block that is not there yet. */
static const uint64_t hand_over_look_ns = NS_PER_MS;

static bool timed_before(const void *a, const void *b)
{
	const struct kv_prefill *one = a, *other = b;

	return one->ends_ns < other->ends_ns;
}

static uint64_t tokens_ns(const struct kv_server *s, uint64_t tokens)
{
	return s->options->prefill
		       ? (uint64_t)((double)tokens * (double)NS_PER_S / (double)s->options->prefill)
		       : 0;
}

/* Tokens of the first so many blocks; the last one may not be full. */
static uint64_t block_tokens(const struct kv_server *s, const struct kv_prompt *p, uint32_t blocks)
{
	return min_u64(blocks * s->prompts.block_tokens, p->context);
}

static void prefill_sends(struct kv_server *s, struct kv_prefill *f)
{
	if (f->sends)
		return;
	f->sends = true;
	list_append(&s->sending, &f->link);
}

static void prefill_wait(struct kv_server *s, struct kv_prefill *f, enum kv_prefill_stage stage,
			 uint64_t ends_ns)
{
	f->stage = stage;
	f->ends_ns = ends_ns;
	heap_add(&s->timed, f, timed_before);
}

/* All blocks have come. A layer is computed when it is there and those before it are computed. */
static void prefill_compute(struct kv_server *s, struct kv_prefill *f)
{
	uint32_t layers = f->layers.count;
	uint64_t tokens = f->prompt.context - block_tokens(s, &f->prompt, f->memory + f->fetched);
	uint64_t compute_ns = tokens_ns(s, tokens), arrived_ns = f->looked_ns, stall_ns = 0;

	kv_server_let_go(s, f);
	f->missing_ns = compute_ns;
	for (uint32_t l = 0; f->fetched && l < layers; l++) {
		uint64_t at_ns = atomic_load_explicit(&f->layers.at_ns[l], memory_order_relaxed);
		uint64_t due_ns = f->looked_ns + (uint64_t)((double)compute_ns * l / layers);

		arrived_ns = max_u64(arrived_ns, at_ns);
		stall_ns = max_u64(stall_ns, excess_u64(at_ns, due_ns));
	}
	f->fetch_ns = arrived_ns - f->looked_ns;
	f->stall_ns = stall_ns;
	prefill_wait(s, f, KV_PREFILL_COMPUTE, f->looked_ns + compute_ns + stall_ns);
}

/* Whether the blocks of the store are worth their time. */
static bool fetch_pays(const struct kv_server *s, const struct kv_prefill *f)
{
	uint64_t tokens =
		block_tokens(s, &f->prompt, f->found) - block_tokens(s, &f->prompt, f->memory);

	if (s->options->fetch != KV_FETCH_PAYS || f->prompt.number % FETCH_LEARNS == 0)
		return s->options->fetch != KV_FETCH_NEVER;
	return kv_fetches_ns(&s->fetches, (double)tokens) <= (double)tokens_ns(s, tokens);
}

/* It is known how many blocks are there. */
static void prefill_looked(struct kv_run *r, struct kv_prefill *f)
{
	struct kv_server *s = r->server;

	if (s->role == KV_ROLE_DECODE && f->found < f->prompt.count &&
	    r->now_ns - f->served_ns < s->options->hand_over_ns) {
		prefill_wait(s, f, KV_PREFILL_HANDED, r->now_ns + hand_over_look_ns);
		return;
	}
	f->looked_ns = r->now_ns;
	f->stage = KV_PREFILL_FETCH;
	f->next = f->memory;
	f->fetched = 0;
	kv_server_looked(r, f);
	if (f->found == f->memory || !fetch_pays(s, f)) {
		f->next = f->found;
		prefill_compute(s, f);
		return;
	}
	for (uint32_t l = 0; l < f->layers.count; l++)
		atomic_store_explicit(&f->layers.at_ns[l], 0, memory_order_relaxed);
	prefill_sends(s, f);
}

static void prefill_begin(struct kv_run *r, struct kv_prefill *f)
{
	struct kv_server *s = r->server;
	const struct kv_prompt *p = &f->prompt;

	f->served_ns = r->now_ns;
	f->stage = KV_PREFILL_LOOKUP;
	f->memory = f->held = f->under_way = 0;
	while (f->memory < p->count && kv_lru_has(&s->memory, p->keys[f->memory]))
		f->memory++;
	f->next = f->memory;
	f->found = p->count;
	s->busy++;
	if (s->indexed)
		kv_server_lookup(r, f);
	if (f->memory == p->count || s->indexed)
		prefill_looked(r, f);
	else
		prefill_sends(s, f);
}

/* Where a block that has a slot begins in the rank's file. */
static uint64_t server_at(const struct kv_server *s, uint64_t key)
{
	uint32_t slot = kv_entries_find(&s->written.entries, kv_block_id(key));

	INVARIANT(slot < s->written.room, "who gives a block a task has held its slot");
	return kv_slot_at(s->slots, slot, s->block_bytes);
}

static void server_give(struct kv_run *r, struct kv_prefill *f, uint32_t block, uint64_t key,
			enum kv_operation_kind kind)
{
	struct kv_task task = {
		.what = {.kind = kind, .bytes = r->server->block_bytes, .id = kv_block_id(key)},
		.counts = r->begun,
		.slot = KV_NONE,
		.owner = f,
		.block = block,
		.layers = f && kind == KV_OPERATION_READ ? &f->layers : NULL,
		.quiet = !f ||
			 (block + 1 < f->found && (kind == KV_OPERATION_READ || r->server->ahead))};

	if (f && kind == KV_OPERATION_LOOKUP && r->loads.most > r->crew.depth) {
		task.missed = &f->missed;
		if (!f->under_way)
			atomic_store_explicit(&f->missed, UINT32_MAX, memory_order_relaxed);
	}
	if (r->server->slots)
		task.at = server_at(r->server, key);
	if (r->setup.buckets)
		kv_server_bucket_place(r, &task);
	if (f)
		f->under_way++;
	kv_shard_give(r, &task);
}

/* Whether it may send one more lookup or fetch. A lookup that has missed ends them. Of fetches in
 * groups, all of a group have come before the next one begins. */
static bool prefill_may_send(const struct kv_server *s, const struct kv_prefill *f)
{
	uint64_t lookups = s->options->lookups;

	if (f->stage == KV_PREFILL_LOOKUP && lookups && f->under_way >= lookups + s->ahead)
		return false;
	if (f->stage == KV_PREFILL_FETCH && s->fetches_most && f->under_way &&
	    (f->next - f->memory) % s->fetches_most == 0)
		return false;
	return (f->stage == KV_PREFILL_LOOKUP || f->stage == KV_PREFILL_FETCH) &&
	       f->next < f->found;
}

/* Blocks of a prompt go out together, as far as threads have room; then come those of the next
 * one. */
static void server_send(struct kv_run *r)
{
	struct kv_server *s = r->server;

	while (!list_empty(&s->sending) && kv_loads_room(&r->loads)) {
		struct kv_prefill *f = list_member(s->sending.first, struct kv_prefill, link);

		while (prefill_may_send(s, f) && kv_loads_room(&r->loads)) {
			server_give(r, f, f->next, f->prompt.keys[f->next],
				    f->stage == KV_PREFILL_LOOKUP ? KV_OPERATION_LOOKUP
								  : KV_OPERATION_READ);
			f->next++;
		}
		if (prefill_may_send(s, f))
			return;
		list_take(&s->sending);
		f->sends = false;
	}
}

/* What is beyond the capacity is deleted, and then what waits is written: behind the requests, and nothing ahead of those that are
 * being served. */
static void server_write(struct kv_run *r)
{
	struct kv_server *s = r->server;
	uint32_t most = s->busy ? r->crew.depth : r->loads.most;
	uint64_t key;

	if (r->setup.buckets) {
		kv_server_bucket(r);
		return;
	}
	while (r->loads.least < most && kv_lru_over(&s->written, &key))
		server_give(r, NULL, 0, key, KV_OPERATION_DELETE);
	while (r->loads.least < most && s->pending_count) {
		key = s->pending[s->pending_first];
		if (s->slots && !kv_server_slot(r, key))
			return;
		s->pending_first = (s->pending_first + 1) % s->pending_room;
		s->pending_count--;
		server_give(r, NULL, 0, key, KV_OPERATION_WRITE);
	}
}

/* The blocks from that one on have been computed: memory has them, and the store will. */
static void server_put(struct kv_run *r, const struct kv_prompt *p, uint32_t from)
{
	struct kv_server *s = r->server;
	uint64_t gone;

	for (uint32_t i = 0; s->memory.room && i < p->count; i++) {
		if (kv_lru_use(&s->memory, p->keys[i]) < 0)
			kv_run_fail(r, -ENOMEM);
		kv_lru_over(&s->memory, &gone);
	}
	for (uint32_t i = from; i < p->count; i++) {
		/* Another prompt that was computed at the same time has the same block. What has been
		 * written already, the store says where it can. */
		if (kv_lru_has(&s->queued, p->keys[i]) ||
		    (s->knows && kv_lru_has(&s->written, p->keys[i]))) {
			r->ctx->tally->rank_row[KV_PRESENT]++;
			continue;
		}
		if (s->pending_count == s->pending_room) {
			r->ctx->tally->rank_row[KV_DROPPED] += p->count - i;
			return;
		}
		s->pending[(s->pending_first + s->pending_count++) % s->pending_room] = p->keys[i];
		if (kv_lru_use(&s->queued, p->keys[i]) < 0)
			kv_run_fail(r, -ENOMEM);
	}
}

/* Its lookups may all have been answered while there was no room to send more: then it still waits for that. */
static void prefill_free(struct kv_server *s, struct kv_prefill *f)
{
	if (f->sends)
		list_remove(&s->sending, &f->link);
	f->sends = false;
	list_prepend(&s->free, &f->link);
	s->busy--;
}

static void server_served(struct kv_run *r, struct kv_prefill *f)
{
	struct kv_server *s = r->server;
	uint32_t count = f->prompt.count;

	s->served++;
	if (s->role != KV_ROLE_PREFILL)
		kv_server_served(r, f);
	if (s->options->answers && kv_prompt_answer(&s->prompts, &f->prompt) < 0)
		kv_run_fail(r, -ENOMEM);
	if (s->options->answers)
		server_put(r, &f->prompt, count);
	kv_prompts_answered(&s->prompts, &f->prompt, r->now_ns - r->start_ns);
	prefill_free(s, f);
}

/* First tokens and last tokens whose time has come. */
static void server_timed(struct kv_run *r)
{
	struct kv_server *s = r->server;

	while (s->timed.count) {
		struct kv_prefill *f = s->timed.items[0];
		uint64_t token_ns = r->setup.options->token_ns;

		if (f->ends_ns > r->now_ns && !r->over)
			return;
		heap_take(&s->timed, timed_before);
		if (r->over && f->ends_ns > r->now_ns) {
			prefill_free(s, f);
			continue;
		}
		if (f->stage == KV_PREFILL_HANDED) {
			f->stage = KV_PREFILL_LOOKUP;
			f->next = f->found;
			f->found = f->prompt.count;
			prefill_sends(s, f);
			continue;
		}
		if (f->stage == KV_PREFILL_COMPUTE) {
			kv_server_first_token(r, f);
			if (s->role != KV_ROLE_DECODE)
				server_put(r, &f->prompt, f->found);
			else
				server_put(r, &f->prompt, f->prompt.count);
			if (token_ns && f->prompt.generate > 1) {
				prefill_wait(s, f, KV_PREFILL_ANSWER,
					     f->ends_ns + (f->prompt.generate - 1) * token_ns);
				continue;
			}
		}
		server_served(r, f);
	}
}

/* A lookup has been answered. */
static void answered_lookup(struct kv_run *r, struct kv_prefill *f, const struct kv_task *t)
{
	const struct kv_server *s = r->server;
	bool there = s->knows ? kv_lru_has(&s->written, t->what.id.low) : !t->absent;

	r->ctx->tally->rank_row[KV_LOOKUPS] += t->rc != -ECANCELED;
	if (!there || t->rc < 0)
		f->found = min_u32(f->found, t->block);
	if (f->next >= f->found && !f->under_way)
		prefill_looked(r, f);
	else if (prefill_may_send(s, f))
		prefill_sends(r->server, f);
}

/* A block has come, or was gone: then it and those behind it are computed. */
static void answered_fetch(struct kv_run *r, struct kv_prefill *f, const struct kv_task *t)
{
	struct kv_server *s = r->server;

	if (t->rc < 0) {
		r->ctx->tally->rank_row[KV_GONE]++;
		f->found = min_u32(f->found, t->block);
	} else if (!r->setup.buckets && kv_lru_has(&s->written, t->what.id.low)) {
		kv_lru_use(&s->written, t->what.id.low);
	}
	if (prefill_may_send(s, f))
		prefill_sends(s, f);
	if (f->under_way || f->next < f->found)
		return;
	f->fetched = f->found - f->memory;
	prefill_compute(s, f);
}

static void server_answered(struct kv_run *r, const struct kv_task *t)
{
	struct kv_server *s = r->server;
	struct kv_prefill *f = t->owner;
	uint64_t *row = r->ctx->tally->rank_row;

	if (t->owner == &s->starting) {
		kv_server_start_answered(r, t);
		return;
	}
	/* A bucket; or the index of the slots. */
	if (kv_id_kind(t->what.id) != KV_KEY_BLOCK) {
		if (r->setup.buckets)
			kv_server_bucket_answered(r, t);
		return;
	}
	s->changed |= t->what.kind == KV_OPERATION_WRITE;
	if (t->what.kind == KV_OPERATION_WRITE)
		kv_lru_remove(&s->queued, t->what.id.low);
	if (t->what.kind == KV_OPERATION_WRITE && s->slots)
		kv_lru_let_go(&s->written, t->what.id.low);
	if (t->what.kind == KV_OPERATION_WRITE && s->slots && t->rc < 0)
		kv_lru_remove(&s->written, t->what.id.low);
	if (t->what.kind == KV_OPERATION_WRITE && t->rc == 0) {
		row[KV_PRESENT] += t->present;
		if (!t->present && kv_lru_use(&s->written, t->what.id.low) < 0)
			kv_run_fail(r, -ENOMEM);
	}
	if (!f)
		return;
	f->under_way--;
	if (r->over) {
		if (!f->under_way)
			prefill_free(s, f);
		return;
	}
	if (t->what.kind == KV_OPERATION_LOOKUP)
		answered_lookup(r, f, t);
	else
		answered_fetch(r, f, t);
}

/* Serves waiting prompts as long as there is room. */
static void server_take(struct kv_run *r)
{
	struct kv_server *s = r->server;

	while (!s->closed && !list_empty(&s->waiting) && !list_empty(&s->free)) {
		struct kv_prompt *p = list_member(list_take(&s->waiting), struct kv_prompt, link);
		struct kv_prefill *f = list_member(list_take(&s->free), struct kv_prefill, link);
		struct kv_prompt keys = f->prompt;

		/* The memory of the keys changes hands. */
		f->prompt = *p;
		p->keys = keys.keys;
		p->room = keys.room;
		list_append(&s->spare, &p->link);
		s->waits--;
		prefill_begin(r, f);
	}
}

/* A prompt has fallen due: it waits, or is turned away where as many wait as may. */
static void server_offer_one(struct kv_run *r)
{
	struct kv_server *s = r->server;
	uint64_t *row = r->ctx->tally->rank_row, late_ns;
	struct kv_prompt *p = list_member(list_take(&s->spare), struct kv_prompt, link);
	int rc = kv_prompts_next(&s->prompts, p);

	if (rc == 0 && list_empty(&s->spare) && !s->options->queue)
		rc = kv_server_spare(s);
	late_ns = excess_u64(r->now_ns - r->start_ns, p->due_ns);
	if (rc < 0) {
		list_append(&s->spare, &p->link);
		kv_run_fail(r, rc);
		return;
	}
	row[KV_OFFERED] += s->role != KV_ROLE_PREFILL;
	row[KV_LATE_NS] = max_u64(late_ns, row[KV_LATE_NS]);
	hist_record(&r->ctx->tally->hists[KV_HIST_LATE], late_ns);
	/* The last spare one is for the next prompt. */
	if (list_empty(&s->spare)) {
		row[KV_TURNED_AWAY] += s->role != KV_ROLE_PREFILL;
		kv_prompts_answered(&s->prompts, p, r->now_ns - r->start_ns);
		list_append(&s->spare, &p->link);
		return;
	}
	list_append(&s->waiting, &p->link);
	s->waits++;
	s->waited_most = max_u32(s->waited_most, s->waits);
}

static void server_offer(struct kv_run *r)
{
	const struct kv_server *s = r->server;

	server_take(r);
	while (r->rc == 0 && kv_prompts_due(&s->prompts) <= r->now_ns - r->start_ns) {
		server_offer_one(r);
		server_take(r);
	}
}

/* Nothing more is begun: what waits for threads goes. */
static void server_end(struct kv_run *r)
{
	struct kv_server *s = r->server;

	while (!list_empty(&s->sending)) {
		struct kv_prefill *f = list_member(list_take(&s->sending), struct kv_prefill, link);

		f->sends = false;
		if (!f->under_way)
			prefill_free(s, f);
	}
	r->ctx->tally->rank_row[KV_DROPPED] += s->pending_count;
	s->pending_count = 0;
	server_timed(r);
}

static bool server_exhausted(const struct kv_server *s)
{
	return kv_prompts_due(&s->prompts) == KV_PROMPTS_NEVER && !s->busy && !s->waits &&
	       !s->closed && s->pending_count < s->together;
}

void kv_server_work(struct kv_run *r)
{
	uint64_t requests = r->setup.options->requests;
	struct kv_server *s = r->server;

	if (r->over)
		server_end(r);
	kv_shard_collect(r, server_answered);
	if (r->over) {
		kv_server_bucket(r);
		return;
	}
	server_timed(r);
	kv_server_start(r);
	server_offer(r);
	if (r->rc < 0 || r->now_ns >= r->until_ns || (server_exhausted(s) && !r->given) ||
	    (requests && s->served >= requests))
		r->over = true;
	if (r->over) {
		server_end(r);
		kv_server_bucket(r);
		return;
	}
	server_send(r);
	server_write(r);
	kv_server_index(r);
	server_timed(r);
}

uint64_t kv_server_due(const struct kv_run *r)
{
	const struct kv_server *s = r->server;
	uint64_t due_ns = kv_prompts_due(&s->prompts), next_ns = r->until_ns;

	if (r->over)
		return UINT64_MAX;
	if (due_ns < r->until_ns - r->start_ns)
		next_ns = r->start_ns + due_ns;
	if (s->options->restart_ns && s->starting.step == KV_START_DUE && !s->closed)
		next_ns = min_u64(next_ns, r->start_ns + s->options->restart_ns);
	/* Without room, an answer is waited for. */
	if (s->index_due_ns && !s->closed && kv_loads_room(&r->loads))
		next_ns = min_u64(next_ns, s->index_due_ns);
	if (s->timed.count)
		next_ns = min_u64(next_ns, ((const struct kv_prefill *)s->timed.items[0])->ends_ns);
	return next_ns;
}
