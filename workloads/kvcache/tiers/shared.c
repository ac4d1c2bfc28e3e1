/* SPDX-License-Identifier: Apache-2.0 */
/* Directory of a shared tier: see shared.h. The memory has no pointers, since each process sees it at another address:
 *
 *	| struct kv_shared | entries[room] | buckets[bucket_count] |
 *
 * Numbers in links and buckets are 1 more than those of entries, so zeroed memory is empty, and memory that was never
 * used takes no page. */
#include "workloads/kvcache/tiers/shared.h"

#include <errno.h>
#include <pthread.h>

enum shared_state {
	SHARED_FREE,
	SHARED_COMING,
	SHARED_THERE,
	SHARED_BROKEN,
	SHARED_DROPPED,
	SHARED_LEAVING
};

struct shared_entry {
	struct kv_id id;
	uint64_t bytes;
	uint32_t next;         /* in its bucket, or among the free ones */
	uint32_t older, newer; /* but of those that leave */
	uint32_t pins;         /* operations under way */
	uint32_t server;       /* that has put it */
	uint32_t state;
};

struct kv_shared {
	pthread_mutex_t lock;
	uint64_t used, used_most;
	uint32_t room, bucket_count; /* bucket_count: a power of two */
	uint32_t made, free;         /* entries used at least once; the first free one */
	uint32_t entries, most;      /* that do not leave: now, and at most */
	uint32_t oldest, youngest;
	bool damaged; /* a rank died with the lock, so links may be wrong */
	struct shared_entry entry[];
};

static uint32_t shared_buckets(uint32_t entries)
{
	uint32_t count = 16;

	while (count < entries)
		count *= 2;
	return count;
}

uint64_t kv_shared_bytes(uint32_t entries)
{
	uint64_t room = 2 * (uint64_t)entries;

	return sizeof(struct kv_shared) + room * sizeof(struct shared_entry) +
	       shared_buckets(entries) * sizeof(uint32_t);
}

void kv_shared_init(struct kv_shared *s, uint32_t entries)
{
	pthread_mutexattr_t attributes;

	s->room = 2 * entries;
	s->most = entries;
	s->bucket_count = shared_buckets(entries);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&s->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

/* A rank that died with the lock may have left a list half changed, in which others could search
 * for ever. */
static void shared_lock(struct kv_shared *s)
{
	if (pthread_mutex_lock(&s->lock) != EOWNERDEAD)
		return;
	s->damaged = true;
	pthread_mutex_consistent(&s->lock);
}

static void shared_unlock(struct kv_shared *s)
{
	pthread_mutex_unlock(&s->lock);
}

static struct shared_entry *shared_at(struct kv_shared *s, uint32_t number)
{
	return &s->entry[number - 1];
}

static uint32_t *shared_bucket(struct kv_shared *s, struct kv_id id)
{
	uint32_t *buckets = (uint32_t *)&s->entry[s->room];

	return &buckets[kv_id_hash(id) & (s->bucket_count - 1)];
}

/* The number of an entry, whatever its state; 0: there is none. */
static uint32_t shared_find(struct kv_shared *s, struct kv_id id)
{
	uint32_t number = s->damaged ? 0 : *shared_bucket(s, id);

	while (number && !kv_id_same(shared_at(s, number)->id, id))
		number = shared_at(s, number)->next;
	return number;
}

/* Puts an entry between two neighbours, of which 0 is none. */
static void shared_link(struct kv_shared *s, uint32_t number, uint32_t older, uint32_t newer)
{
	shared_at(s, number)->older = older;
	shared_at(s, number)->newer = newer;
	*(older ? &shared_at(s, older)->newer : &s->oldest) = number;
	*(newer ? &shared_at(s, newer)->older : &s->youngest) = number;
}

static void shared_unlink(struct kv_shared *s, uint32_t number)
{
	const struct shared_entry *entry = shared_at(s, number);

	*(entry->older ? &shared_at(s, entry->older)->newer : &s->oldest) = entry->newer;
	*(entry->newer ? &shared_at(s, entry->newer)->older : &s->youngest) = entry->older;
}

/* An entry no longer counts, and is not found by its age. */
static void shared_leave(struct kv_shared *s, uint32_t number)
{
	shared_unlink(s, number);
	s->entries--;
	s->used -= shared_at(s, number)->bytes;
}

static void shared_remove(struct kv_shared *s, uint32_t number)
{
	struct shared_entry *entry = shared_at(s, number);
	uint32_t *at = shared_bucket(s, entry->id);

	while (*at != number)
		at = &shared_at(s, *at)->next;
	*at = entry->next;
	entry->state = SHARED_FREE;
	entry->next = s->free;
	s->free = number;
}

static bool shared_fits(const struct kv_shared *s, uint64_t bytes,
			const struct kv_shared_room *room)
{
	if (s->entries == s->most)
		return false;
	return (bytes <= room->full && s->used <= room->full - bytes) || s->used < room->trusted;
}

static void shared_add(struct kv_shared *s, struct kv_id id, uint64_t bytes, uint32_t server)
{
	uint32_t number = s->free ? s->free : ++s->made, *bucket = shared_bucket(s, id);
	struct shared_entry *entry = shared_at(s, number);

	if (number == s->free)
		s->free = entry->next;
	*entry = (struct shared_entry){.id = id,
				       .bytes = bytes,
				       .next = *bucket,
				       .pins = 1,
				       .server = server,
				       .state = SHARED_COMING};
	*bucket = number;
	shared_link(s, number, s->youngest, 0);
	s->entries++;
	s->used += bytes;
	s->used_most = s->used > s->used_most ? s->used : s->used_most;
}

static bool shared_comes_or_is_there(struct kv_shared *s, uint32_t number)
{
	uint32_t state = number ? shared_at(s, number)->state : SHARED_FREE;

	return state == SHARED_COMING || state == SHARED_THERE;
}

int kv_shared_put(struct kv_shared *s, struct kv_id id, uint64_t bytes, uint32_t server,
		  const struct kv_shared_room *room)
{
	uint32_t number;
	int rc = 0;

	shared_lock(s);
	number = shared_find(s, id);
	if (number)
		rc = shared_comes_or_is_there(s, number) ? -EEXIST : -EBUSY;
	else if (s->damaged || (!s->free && s->made == s->room))
		rc = -EBUSY;
	else if (!shared_fits(s, bytes, room))
		rc = -ENOSPC;
	else
		shared_add(s, id, bytes, server);
	shared_unlock(s);
	return rc;
}

int kv_shared_read(struct kv_shared *s, struct kv_id id, uint32_t server, bool touch,
		   uint64_t *bytes)
{
	struct shared_entry *entry;
	uint32_t number;
	int rc = -ENOENT;

	shared_lock(s);
	number = shared_find(s, id);
	entry = number ? shared_at(s, number) : NULL;
	if (entry && (entry->state == SHARED_THERE ||
		      (entry->state == SHARED_COMING && entry->server == server))) {
		entry->pins++;
		*bytes = entry->bytes;
		if (touch) {
			shared_unlink(s, number);
			shared_link(s, number, s->youngest, 0);
		}
		rc = 0;
	}
	shared_unlock(s);
	return rc;
}

bool kv_shared_has(struct kv_shared *s, struct kv_id id)
{
	bool has;

	shared_lock(s);
	has = shared_comes_or_is_there(s, shared_find(s, id));
	shared_unlock(s);
	return has;
}

/* Its object is going to be deleted, which is the one operation that it is kept for. */
static void shared_let_go(struct kv_shared *s, uint32_t number, struct kv_id *id, uint64_t *bytes)
{
	struct shared_entry *entry = shared_at(s, number);

	shared_leave(s, number);
	entry->state = SHARED_LEAVING;
	entry->pins = 1;
	*id = entry->id;
	*bytes = entry->bytes;
}

int kv_shared_evict(struct kv_shared *s, struct kv_id *id, uint64_t *bytes)
{
	uint32_t number;

	shared_lock(s);
	number = s->damaged ? 0 : s->oldest;
	while (number && shared_at(s, number)->pins)
		number = shared_at(s, number)->newer;
	if (number)
		shared_let_go(s, number, id, bytes);
	shared_unlock(s);
	return number ? 0 : -ENOENT;
}

int kv_shared_delete(struct kv_shared *s, struct kv_id id, uint64_t *bytes)
{
	struct kv_id same;
	uint32_t number;
	int rc = 0;

	shared_lock(s);
	number = shared_find(s, id);
	if (!number || shared_at(s, number)->state == SHARED_LEAVING) {
		rc = -ENOENT;
	} else if (shared_at(s, number)->pins) {
		shared_unlink(s, number);
		shared_link(s, number, 0, s->oldest);
		rc = -EBUSY;
	} else {
		shared_let_go(s, number, &same, bytes);
	}
	shared_unlock(s);
	return rc;
}

void kv_shared_ended(struct kv_shared *s, struct kv_id id, enum kv_shared_end end)
{
	static const enum shared_state after[] = {[KV_SHARED_WRITTEN] = SHARED_THERE,
						  [KV_SHARED_FAILED] = SHARED_BROKEN,
						  [KV_SHARED_DROPPED] = SHARED_DROPPED};
	struct shared_entry *entry;
	uint32_t number;

	shared_lock(s);
	number = shared_find(s, id);
	entry = number ? shared_at(s, number) : NULL;
	if (entry) {
		entry->pins--;
		if (end == KV_SHARED_DELETED) {
			shared_remove(s, number);
		} else {
			if (end != KV_SHARED_READ)
				entry->state = after[end];
			if (entry->state == SHARED_DROPPED && !entry->pins) {
				shared_leave(s, number);
				shared_remove(s, number);
			}
		}
	}
	shared_unlock(s);
}

struct kv_shared_state kv_shared_state(struct kv_shared *s)
{
	struct kv_shared_state state;

	shared_lock(s);
	state = (struct kv_shared_state){s->entries, s->used, s->used_most};
	shared_unlock(s);
	return state;
}

void kv_shared_reset(struct kv_shared *s)
{
	shared_lock(s);
	s->used_most = s->used;
	shared_unlock(s);
}

bool kv_shared_next(struct kv_shared *s, uint32_t *at, struct kv_id *id, uint64_t *bytes)
{
	bool found = false;

	shared_lock(s);
	while (!found && *at < s->made) {
		const struct shared_entry *entry = shared_at(s, ++*at);

		found = entry->state != SHARED_FREE;
		*id = entry->id;
		*bytes = entry->bytes;
	}
	shared_unlock(s);
	return found;
}

/* The buckets of a part go by the other half of the hash. */
uint32_t kv_divided_part(struct kv_id id, uint32_t parts)
{
	return (uint32_t)((kv_id_hash(id) >> 32) * parts >> 32);
}

/* Puts an entry, for which room is made as the last tier makes it. What another server puts there
 * meanwhile may take that room; then more is made. */
static int divided_put(struct kv_shared *s, const struct kv_policy *policy,
		       const struct kv_limits *l, const struct kv_question *q, struct kv_answer *a)
{
	const struct kv_shared_room any = {UINT64_MAX, 0};
	struct kv_shared_room room = {UINT64_MAX, 0};
	uint64_t most;
	int rc;

	if (l->limited && q->bytes > l->largest && !policy->forced)
		return -ENOSPC;
	if (l->limited)
		room = (struct kv_shared_room){q->victims ? l->low : l->high, l->trusted};
	rc = kv_shared_put(s, q->id, q->bytes, q->server, &room);
	if (rc != -ENOSPC)
		return rc;
	most = kv_policy_victims(policy, kv_shared_state(s).entries + q->victims);
	room.full = l->limited ? l->low : UINT64_MAX;
	for (uint64_t i = q->victims; rc == -ENOSPC && i < most; i++) {
		struct kv_victim *victim = &a->victims[a->count];

		if (a->count == KV_VICTIMS)
			return -EAGAIN;
		if (kv_shared_evict(s, &victim->id, &victim->bytes) < 0)
			break;
		a->count++;
		rc = kv_shared_put(s, q->id, q->bytes, q->server, &room);
	}
	if (rc == -ENOSPC && policy->forced)
		rc = kv_shared_put(s, q->id, q->bytes, q->server, &any);
	return rc;
}

void kv_divided_answer(struct kv_shared *s, const struct kv_policy *policy,
		       const struct kv_limits *limits, const struct kv_question *q,
		       struct kv_answer *a)
{
	a->bytes = 0;
	a->rc = 0;
	a->count = 0;
	switch ((enum kv_ask)q->kind) {
	case KV_ASK_READ:
		a->rc = kv_shared_read(s, q->id, q->server, policy->order == KV_LRU, &a->bytes);
		return;
	case KV_ASK_HAS:
		a->rc = kv_shared_has(s, q->id) ? 0 : -ENOENT;
		return;
	case KV_ASK_WRITE:
	case KV_ASK_COPY:
	case KV_ASK_MOVE:
		a->rc = divided_put(s, policy, limits, q, a);
		return;
	case KV_ASK_DELETE:
		a->rc = kv_shared_delete(s, q->id, &a->bytes);
		return;
	case KV_ASK_ENDED:
		kv_shared_ended(s, q->id, (enum kv_shared_end)q->end);
		return;
	}
}
