/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers of a key-value cache: see tiers.h. */
#include "workloads/kvcache/tiers/tiers.h"

#include <errno.h>

#include "core/numbers.h"

static bool tier_make_room(struct kv_tiers *t, uint32_t k, uint64_t bytes, uint32_t depth);
static int shared_answer(struct kv_tiers *t, struct kv_question *q, uint64_t *bytes);
static int shared_ask(struct kv_tiers *t, enum kv_ask kind, struct kv_id id, uint64_t bytes,
		      uint32_t from);

int kv_tiers_init(struct kv_tiers *t, const struct kv_policy *policy,
		  const struct kv_tier_rules *rules, uint32_t count)
{
	bool counts_keys = false;
	int rc;

	*t = (struct kv_tiers){.policy = *policy, .count = count, .own = count, .pinned = KV_NONE};
	for (uint32_t k = 0; k < count; k++) {
		t->tier[k].rules = rules[k];
		t->tier[k].limits = kv_limits_of(&rules[k]);
		for (uint32_t j = 0; j < KV_TIERS_MAX; j++)
			t->tier[k].lists[j] = (struct kv_list){KV_NONE, KV_NONE};
		counts_keys |= rules[k].admit_after || rules[k].promote_after;
	}
	rc = kv_entries_init(&t->entries, kv_entry_bytes(count));
	if (rc == 0 && counts_keys)
		rc = kv_sketch_init(&t->sketch, policy->sketch_keys);
	return rc;
}

void kv_tiers_free(struct kv_tiers *t)
{
	kv_entries_free(&t->entries);
	kv_sketch_free(&t->sketch);
}

void kv_tiers_divide(struct kv_tiers *t, struct kv_shared *shared, uint32_t server, uint32_t parts,
		     uint32_t part)
{
	t->own = t->count - 1;
	t->shared = shared;
	t->server = server;
	t->parts = parts;
	t->part = part;
}

static void tiers_tell(struct kv_tiers *t, enum kv_event_kind kind, uint32_t number, uint32_t from,
		       uint32_t to)
{
	const struct kv_entry *entry = kv_entry_at(&t->entries, number);
	struct kv_event e = {kind, from, to, entry->bytes, entry->item.id, false};

	if (t->event)
		t->event(t->argument, &e);
}

/* What is done to an entry in the shared tier alone. */
static void shared_tell(struct kv_tiers *t, enum kv_event_kind kind, struct kv_id id,
			uint64_t bytes)
{
	struct kv_event e = {kind, t->own, t->own, bytes, id, false};

	if (t->event)
		t->event(t->argument, &e);
}

static void tier_count(struct kv_tiers *t, uint32_t k, enum kv_count what, uint64_t bytes)
{
	t->tier[k].counts.count[what]++;
	t->tier[k].counts.bytes[what] += bytes;
}

static bool tier_last(const struct kv_tiers *t, uint32_t k)
{
	return k + 1 == t->count;
}

/* Adds the copy of tier k to a list of that tier, as the youngest. */
static void list_add(struct kv_tiers *t, uint32_t k, uint32_t home, uint32_t number)
{
	struct kv_list *list = &t->tier[k].lists[home];
	struct kv_entry *entry = kv_entry_at(&t->entries, number);

	entry->home[k] = (uint8_t)home;
	entry->link[k] = (struct kv_link){list->youngest, KV_NONE};
	*(list->youngest == KV_NONE ? &list->oldest
				    : &kv_entry_at(&t->entries, list->youngest)->link[k].newer) =
		number;
	list->youngest = number;
}

static void list_leave(struct kv_tiers *t, uint32_t k, uint32_t number)
{
	struct kv_entry *entry = kv_entry_at(&t->entries, number);
	struct kv_list *list = &t->tier[k].lists[entry->home[k]];
	struct kv_link link = entry->link[k];

	*(link.older == KV_NONE ? &list->oldest
				: &kv_entry_at(&t->entries, link.older)->link[k].newer) =
		link.newer;
	*(link.newer == KV_NONE ? &list->youngest
				: &kv_entry_at(&t->entries, link.newer)->link[k].older) =
		link.older;
}

/* Room has been made: tier k has a copy from now on. */
static void copy_add(struct kv_tiers *t, uint32_t k, uint32_t home, uint32_t number)
{
	struct kv_entry *entry = kv_entry_at(&t->entries, number);
	struct kv_tier_counts *c = &t->tier[k].counts;

	entry->tiers |= (uint8_t)(1u << k);
	list_add(t, k, home, number);
	c->entries++;
	c->used += entry->bytes;
	c->used_most = max_u64(c->used, c->used_most);
}

static void copy_remove(struct kv_tiers *t, uint32_t k, uint32_t number)
{
	struct kv_entry *entry = kv_entry_at(&t->entries, number);
	struct kv_tier_counts *c = &t->tier[k].counts;

	list_leave(t, k, number);
	entry->tiers &= (uint8_t) ~(1u << k);
	c->entries--;
	c->used -= entry->bytes;
}

/* The entry is the youngest now, in all tiers that have a copy. */
static void entry_touch(struct kv_tiers *t, uint32_t number)
{
	struct kv_entry *entry = kv_entry_at(&t->entries, number);

	entry->age = ++t->age;
	for (uint32_t k = 0; k < t->own; k++)
		if (entry->tiers >> k & 1) {
			list_leave(t, k, number);
			list_add(t, k, k, number);
		}
}

/* The oldest entry of a tier that may be a victim; KV_NONE: there is none. */
static uint32_t tier_oldest(const struct kv_tiers *t, uint32_t k)
{
	uint32_t oldest = KV_NONE;
	uint64_t age = UINT64_MAX;

	for (uint32_t j = 0; j <= k; j++) {
		uint32_t number = t->tier[k].lists[j].oldest;

		if (number != KV_NONE && number == t->pinned)
			number = kv_entry_at(&t->entries, number)->link[k].newer;
		if (number != KV_NONE && kv_entry_at(&t->entries, number)->age < age) {
			age = kv_entry_at(&t->entries, number)->age;
			oldest = number;
		}
	}
	return oldest;
}

/* Whether what is demoted or written through is requested often enough for tier k. */
static bool tier_admits(struct kv_tiers *t, uint32_t k, const struct kv_entry *entry)
{
	uint32_t after = t->tier[k].rules.admit_after;

	if (!after || kv_sketch_count(&t->sketch, kv_id_hash(entry->item.id)) >= after)
		return true;
	tier_count(t, k, KV_COUNT_REJECTED, entry->bytes);
	return false;
}

static void victim_gone(struct kv_tiers *t, uint32_t k, uint32_t number)
{
	copy_remove(t, k, number);
	if (!kv_entry_at(&t->entries, number)->tiers)
		kv_entries_remove(&t->entries, number);
}

static void victim_delete(struct kv_tiers *t, uint32_t k, uint32_t number)
{
	tier_count(t, k, KV_COUNT_EVICTED, kv_entry_at(&t->entries, number)->bytes);
	tiers_tell(t, KV_EVENT_EVICT, number, k, k);
	victim_gone(t, k, number);
}

/* What has become of an entry that wanted to move to the shared tier. Returns rc. */
static int victim_moved(struct kv_tiers *t, uint32_t k, uint64_t bytes, int rc)
{
	tier_count(t, k, rc < 0 ? KV_COUNT_EVICTED : KV_COUNT_DEMOTED_OUT, bytes);
	if (rc == 0)
		tier_count(t, t->own, KV_COUNT_DEMOTED_IN, bytes);
	else if (rc == -EBUSY)
		tier_count(t, t->own, KV_COUNT_REJECTED, bytes);
	return rc;
}

/* Moves an entry to the shared tier, unless it has it. Returns 0, or -ENOSPC: it cannot take it. */
static int victim_share(struct kv_tiers *t, uint32_t k, uint32_t number)
{
	const struct kv_entry *entry = kv_entry_at(&t->entries, number);
	struct kv_event e = {KV_EVENT_DEMOTE, k, t->own, entry->bytes, entry->item.id, true};
	struct kv_question q = {.kind = KV_ASK_MOVE,
				.id = entry->item.id,
				.bytes = entry->bytes,
				.server = t->server};
	uint64_t ignored;
	int rc;

	if (!kv_tiers_here(t, entry->item.id)) {
		if (t->event)
			t->event(t->argument, &e);
		victim_gone(t, k, number);
		shared_ask(t, KV_ASK_MOVE, e.id, e.bytes, k);
		return 0;
	}
	rc = shared_answer(t, &q, &ignored);
	if (rc == -ENOSPC)
		return rc;
	victim_moved(t, k, q.bytes, rc);
	tiers_tell(t, rc < 0 ? KV_EVENT_EVICT : KV_EVENT_DEMOTE, number, k, rc < 0 ? k : t->own);
	victim_gone(t, k, number);
	return 0;
}

/* Moves the oldest entry out of tier k. false: the next tier cannot take it. */
static bool victim_move(struct kv_tiers *t, uint32_t k, uint32_t number, uint32_t depth)
{
	struct kv_entry *entry = kv_entry_at(&t->entries, number);
	uint32_t home = entry->home[k];

	/* What the last tier loses, or what has a copy below, is dropped. */
	if (tier_last(t, k) || entry->tiers >> (k + 1) || !tier_admits(t, k + 1, entry)) {
		victim_delete(t, k, number);
		return true;
	}
	if (kv_tiers_shared(t, k + 1) && victim_share(t, k, number) == 0)
		return true;
	if (kv_tiers_shared(t, k + 1) || !tier_make_room(t, k + 1, entry->bytes, depth + 1)) {
		if (!t->policy.dropped)
			return false;
		victim_delete(t, k, number);
		return true;
	}
	tier_count(t, k, KV_COUNT_DEMOTED_OUT, entry->bytes);
	tier_count(t, k + 1, KV_COUNT_DEMOTED_IN, entry->bytes);
	tiers_tell(t, KV_EVENT_DEMOTE, number, k, k + 1);
	copy_remove(t, k, number);
	copy_add(t, k + 1, home, number);
	return true;
}

/* Moves entries out of tier k until it has room for that number of bytes. false: it cannot. */
static bool tier_make_room(struct kv_tiers *t, uint32_t k, uint64_t bytes, uint32_t depth)
{
	const struct kv_tier_counts *counts = &t->tier[k].counts;
	const struct kv_limits *l = &t->tier[k].limits;
	bool last = tier_last(t, k);
	uint64_t most, full = l->high;

	if (!l->limited)
		return true;
	if (depth > t->policy.depth || (bytes > l->largest && !(last && t->policy.forced)))
		return false;
	most = kv_policy_victims(&t->policy, counts->entries);
	for (uint64_t i = 0; i < most; i++) {
		uint64_t used = counts->used;
		uint32_t victim;

		if ((bytes <= full && used <= full - bytes) || used < l->trusted)
			return true;
		full = l->low;
		victim = tier_oldest(t, k);
		if (victim == KV_NONE)
			return last && t->policy.forced;
		if (i == 0 && !last && used < l->sparse && bytes > l->sparse_entry)
			return false;
		if (!victim_move(t, k, victim, depth))
			return false;
	}
	return last && t->policy.forced;
}

/* Entries that leave the shared tier to make room; this server deletes them. */
static void shared_evicted(struct kv_tiers *t, const struct kv_answer *a)
{
	for (uint32_t i = 0; i < a->count; i++) {
		tier_count(t, t->own, KV_COUNT_EVICTED, a->victims[i].bytes);
		shared_tell(t, KV_EVENT_EVICT, a->victims[i].id, a->victims[i].bytes);
	}
}

/* Asks the part of this node. Returns what it says. */
static int shared_answer(struct kv_tiers *t, struct kv_question *q, uint64_t *bytes)
{
	struct kv_answer a;

	do {
		kv_tiers_answer(t, q, &a);
		shared_evicted(t, &a);
		q->victims += a.count;
	} while (a.rc == -EAGAIN);
	*bytes = a.bytes;
	return a.rc;
}

/* A new entry, which is in no tier yet. KV_NONE: no memory. */
static uint32_t entry_add(struct kv_tiers *t, struct kv_id id, uint64_t bytes)
{
	uint32_t number = kv_entries_add(&t->entries, id);
	struct kv_entry *entry;

	if (number == KV_NONE)
		return number;
	entry = kv_entry_at(&t->entries, number);
	entry->bytes = bytes;
	entry->age = ++t->age;
	entry->uses = 1;
	return number;
}

/* Tier k has made room for a new entry. */
static void entry_put(struct kv_tiers *t, uint32_t k, uint32_t number)
{
	tier_count(t, k, KV_COUNT_WRITE, kv_entry_at(&t->entries, number)->bytes);
	tiers_tell(t, KV_EVENT_WRITE, number, k, k);
	copy_add(t, k, k, number);
}

/* Copies of a new entry in the tiers below the one that has taken it. */
static void tiers_write_through(struct kv_tiers *t, uint32_t from, uint32_t number)
{
	struct kv_entry *entry = kv_entry_at(&t->entries, number);

	t->pinned = number;
	for (uint32_t k = from + 1; k < t->own; k++) {
		if (!tier_admits(t, k, entry) || !tier_make_room(t, k, entry->bytes, 0))
			continue;
		entry_put(t, k, number);
	}
	t->pinned = KV_NONE;
	if (t->shared && tier_admits(t, t->own, entry))
		shared_ask(t, KV_ASK_COPY, entry->item.id, entry->bytes, from);
}

/* Whether the shared tier has taken a new entry. */
static int shared_written(struct kv_tiers *t, const struct kv_question *q, int rc)
{
	if (rc == 0) {
		tier_count(t, t->own, KV_COUNT_WRITE, q->bytes);
		shared_tell(t, KV_EVENT_WRITE, q->id, q->bytes);
		return (int)t->own;
	}
	if (q->kind == KV_ASK_COPY)
		return rc;
	if (rc == -EEXIST) { /* it is there, or another server has just begun to write it */
		t->present++;
		return rc;
	}
	if (rc == -EBUSY)
		tier_count(t, t->own, KV_COUNT_REJECTED, q->bytes);
	t->refused++;
	return -ENOSPC;
}

/* Writes an entry that is in no tier of this server's own, nor in the shared one where there are
 * such tiers. */
static int tiers_write_new(struct kv_tiers *t, struct kv_id id, uint64_t bytes)
{
	uint32_t k = 0, number;

	while (k < t->own && !tier_make_room(t, k, bytes, 0))
		k++;
	/* The shared tier is asked last, and may refuse it then. */
	if (k == t->own && t->shared)
		return shared_ask(t, KV_ASK_WRITE, id, bytes, 0);
	if (k == t->own && !t->policy.forced) {
		t->refused++;
		return -ENOSPC;
	}
	k = min_u32(k, t->count - 1); /* the last tier takes what no other does */
	number = entry_add(t, id, bytes);
	if (number == KV_NONE)
		return -ENOMEM;
	entry_put(t, k, number);
	if (t->policy.write == KV_WRITE_THROUGH)
		tiers_write_through(t, k, number);
	return (int)k;
}

int kv_tiers_write(struct kv_tiers *t, struct kv_id id, uint64_t bytes)
{
	if (t->sketch.counters)
		kv_sketch_add(&t->sketch, kv_id_hash(id));
	if (kv_entries_find(&t->entries, id) != KV_NONE) {
		t->present++;
		return -EEXIST;
	}
	if (t->shared && t->own)
		return shared_ask(t, KV_ASK_HAS, id, bytes, 0);
	return tiers_write_new(t, id, bytes);
}

/* Moves or copies what has just been read from tier `from` to the fastest tier that can make room
 * for it. */
static void tiers_promote(struct kv_tiers *t, uint32_t number, uint32_t from)
{
	struct kv_entry *entry = kv_entry_at(&t->entries, number);
	uint32_t to = 0;

	t->pinned = number;
	while (to < from && !tier_make_room(t, to, entry->bytes, 0))
		to++;
	t->pinned = KV_NONE;
	if (to == from)
		return;
	tier_count(t, to, KV_COUNT_PROMOTED, entry->bytes);
	tiers_tell(t, KV_EVENT_PROMOTE, number, from, to);
	if (t->policy.write == KV_WRITE_MOVE)
		copy_remove(t, from, number);
	copy_add(t, to, to, number);
	entry_touch(t, number); /* with KV_FIFO it has arrived anew */
}

/* Copies what has just been read from the shared tier to the fastest tier that can make room for
 * it. */
static void shared_promote(struct kv_tiers *t, struct kv_id id, uint64_t bytes)
{
	uint32_t to = 0, number;

	while (to < t->own && !tier_make_room(t, to, bytes, 0))
		to++;
	if (to == t->own)
		return;
	number = entry_add(t, id, bytes);
	if (number == KV_NONE) /* no memory: it stays where it is */
		return;
	tier_count(t, to, KV_COUNT_PROMOTED, bytes);
	tiers_tell(t, KV_EVENT_PROMOTE, number, t->own, to);
	copy_add(t, to, to, number);
}

static int shared_found(struct kv_tiers *t, struct kv_id id, int rc, uint64_t bytes)
{
	uint32_t after = t->tier[t->own].rules.promote_after;

	if (rc < 0) {
		t->misses++;
		return -ENOENT;
	}
	t->hits++;
	tier_count(t, t->own, KV_COUNT_READ, bytes);
	shared_tell(t, KV_EVENT_READ, id, bytes);
	if (after && kv_sketch_count(&t->sketch, kv_id_hash(id)) >= after &&
	    kv_entries_find(&t->entries, id) == KV_NONE)
		shared_promote(t, id, bytes);
	return (int)t->own;
}

int kv_tiers_read(struct kv_tiers *t, struct kv_id id)
{
	uint32_t number = kv_entries_find(&t->entries, id), k, after;
	struct kv_entry *entry;

	if (t->sketch.counters)
		kv_sketch_add(&t->sketch, kv_id_hash(id));
	if (number == KV_NONE && t->shared)
		return shared_ask(t, KV_ASK_READ, id, 0, 0);
	if (number == KV_NONE) {
		t->misses++;
		return -ENOENT;
	}
	t->hits++;
	entry = kv_entry_at(&t->entries, number);
	entry->uses++;
	k = (uint32_t)__builtin_ctz(entry->tiers); /* the fastest that has a copy */
	if (t->policy.order == KV_LRU)
		entry_touch(t, number);
	tier_count(t, k, KV_COUNT_READ, entry->bytes);
	tiers_tell(t, KV_EVENT_READ, number, k, k);
	after = t->tier[k].rules.promote_after;
	if (k > 0 && after && kv_sketch_count(&t->sketch, kv_id_hash(id)) >= after)
		tiers_promote(t, number, k);
	return (int)k;
}

/* Returns -ENOENT where it is not in the shared tier. */
static int shared_deleted(struct kv_tiers *t, struct kv_id id, int rc, uint64_t bytes)
{
	if (rc == 0) {
		tier_count(t, t->own, KV_COUNT_DELETED, bytes);
		shared_tell(t, KV_EVENT_DELETE, id, bytes);
	}
	return rc == -EBUSY ? 0 : rc;
}

int kv_tiers_delete(struct kv_tiers *t, struct kv_id id)
{
	uint32_t number = kv_entries_find(&t->entries, id);
	int shared = t->shared ? shared_ask(t, KV_ASK_DELETE, id, 0, 0) : -ENOENT;
	struct kv_entry *entry;

	if (number == KV_NONE)
		return shared;
	entry = kv_entry_at(&t->entries, number);
	for (uint32_t k = 0; k < t->own; k++)
		if (entry->tiers >> k & 1) {
			tier_count(t, k, KV_COUNT_DELETED, entry->bytes);
			tiers_tell(t, KV_EVENT_DELETE, number, k, k);
			copy_remove(t, k, number);
		}
	kv_entries_remove(&t->entries, number);
	return 0;
}

/* Goes on with what a part has said. */
static int tiers_go_on(struct kv_tiers *t, const struct kv_question *q, int rc, uint64_t bytes)
{
	switch ((enum kv_ask)q->kind) {
	case KV_ASK_READ:
		return shared_found(t, q->id, rc, bytes);
	case KV_ASK_HAS:
		/* Another request of this server may have written it meanwhile. */
		if (rc < 0 && kv_entries_find(&t->entries, q->id) == KV_NONE)
			return tiers_write_new(t, q->id, q->bytes);
		t->present++;
		return -EEXIST;
	case KV_ASK_WRITE:
	case KV_ASK_COPY:
		return shared_written(t, q, rc);
	case KV_ASK_MOVE:
		return victim_moved(t, q->from, q->bytes, rc);
	case KV_ASK_DELETE:
		return shared_deleted(t, q->id, rc, bytes);
	case KV_ASK_ENDED:
		break;
	}
	return 0;
}

static int shared_ask(struct kv_tiers *t, enum kv_ask kind, struct kv_id id, uint64_t bytes,
		      uint32_t from)
{
	struct kv_question q = {
		.kind = kind, .id = id, .bytes = bytes, .server = t->server, .from = from};
	int rc;

	if (!kv_tiers_here(t, id)) {
		rc = t->ask(t->argument, &q);
		return rc < 0 ? rc : -EINPROGRESS;
	}
	rc = shared_answer(t, &q, &bytes);
	return tiers_go_on(t, &q, rc, bytes);
}

int kv_tiers_answered(struct kv_tiers *t, const struct kv_question *q, const struct kv_answer *a)
{
	shared_evicted(t, a);
	return a->rc == -EAGAIN ? a->rc : tiers_go_on(t, q, a->rc, a->bytes);
}

void kv_tiers_answer(struct kv_tiers *t, const struct kv_question *q, struct kv_answer *a)
{
	kv_divided_answer(t->shared, &t->policy, &t->tier[t->own].limits, q, a);
}

int kv_tiers_ended(struct kv_tiers *t, struct kv_id id, enum kv_shared_end end)
{
	struct kv_question q = {.kind = KV_ASK_ENDED, .id = id, .server = t->server, .end = end};

	if (!kv_tiers_here(t, id))
		return t->ask(t->argument, &q);
	kv_shared_ended(t->shared, id, end);
	return 0;
}
