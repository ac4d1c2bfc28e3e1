/* SPDX-License-Identifier: Apache-2.0 */
/* Store mem://: objects in memory, shared by the ranks of one node, for tests and for measuring
 * without a real store. All data are in one block of the node:
 *
 *	struct mem_block | entries[slots], open addressing by hash | heap of extents
 *
 * An extent is a header of MEM_UNIT bytes and its payload, in units of MEM_UNIT. Extents follow
 * each other without gaps. An extent is free when nothing refers to it: the table refers to
 * committed objects, an open object to what it reads, a begun one to what it writes. So a reader
 * keeps the version that it opened, whatever is committed or deleted meanwhile. The lock guards the
 * table and the headers of extents. Bytes are copied without it. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "backends/store.h"
#include "backends/stores.h"
#include "core/numbers.h"

enum { MEM_UNIT = 64, MEM_SLOTS_MIN = 1024, MEM_SLOTS_MAX = 1 << 20, MEM_SLOT_SHARE = 4096 };
enum { MEM_NEVER, MEM_GONE, MEM_USED }; /* a slot of the table */

/* What an object's state words hold between open and close, begin and commit. */
enum {
	STATE_EXTENT,     /* position of the extent + 1 */
	STATE_BYTES,      /* size of the object */
	MEM_STATE_WRITTEN /* end of the writes */
};

struct mem_options {
	struct store_options common;
	uint64_t capacity; /* bytes */
};

struct mem_entry {
	uint32_t used;
	uint64_t hash, extent, size;
	char key[OBJECT_KEY_BYTES];
};

struct mem_extent {
	uint64_t bytes; /* header included */
	uint64_t references;
};

struct mem_block {
	pthread_mutex_t lock;
	uint64_t capacity;
	uint64_t first_free; /* no free extent lies before this one */
	uint64_t slots;
	struct mem_entry entries[];
};

struct mem {
	struct mem_block *block;
	uint64_t root_hash; /* URIs of one list share the block, not the names */
};

static const struct option mem_options[] = {
	OPT_BYTES("capacity", struct mem_options, capacity, .def = 64 << 20, .min = MEM_UNIT * 2,
		  .max = 1ull << 40, .help = "bytes that it can hold; each object takes 64 more"),
	OPT_END,
};

static uint64_t slots_for(uint64_t capacity)
{
	uint64_t slots = capacity / MEM_SLOT_SHARE;

	if (slots < MEM_SLOTS_MIN)
		return MEM_SLOTS_MIN;
	return slots > MEM_SLOTS_MAX ? MEM_SLOTS_MAX : slots;
}

static struct mem_extent *extent_at(struct mem_block *b, uint64_t at)
{
	return (struct mem_extent *)((char *)&b->entries[b->slots] + at);
}

static char *payload_of(struct mem_block *b, const struct object *o)
{
	return (char *)extent_at(b, o->state[STATE_EXTENT] - 1) + MEM_UNIT;
}

/* A holder that died left at worst a partly written object; the run then ends anyway. */
static void block_lock(struct mem_block *b)
{
	if (pthread_mutex_lock(&b->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&b->lock);
}

static void block_unlock(struct mem_block *b)
{
	pthread_mutex_unlock(&b->lock);
}

static uint64_t mem_capacity(const void *options)
{
	const struct mem_options *o = options;

	return o->capacity - o->capacity % MEM_UNIT;
}

static uint64_t mem_node_bytes(const void *options)
{
	uint64_t capacity = mem_capacity(options);

	return sizeof(struct mem_block) + slots_for(capacity) * sizeof(struct mem_entry) + capacity;
}

static void mem_node_init(void *block, const void *options)
{
	uint64_t capacity = mem_capacity(options);
	struct mem_block *b = block;
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&b->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	b->capacity = capacity;
	b->slots = slots_for(capacity);
	extent_at(b, 0)->bytes = capacity;
}

static int mem_open(struct store *store, struct err *err)
{
	struct mem *m = calloc(1, sizeof(*m));

	if (!m)
		return err_set(err, -ENOMEM, "%s: no memory", store->uri);
	m->block = store->node_block;
	m->root_hash = text_hash(store->root);
	store->state = m;
	return 0;
}

static void mem_describe(const struct store *store, struct store_facts *facts)
{
	(void)store;
	facts->copies_read = facts->copies_streamed = facts->copies_written = 1;
}

static void mem_close(struct store *store)
{
	free(store->state);
}

/* First fit. Free neighbours are joined on the way. Returns -ENOSPC where none is large enough. */
static int extent_take(struct mem_block *b, uint64_t bytes, uint64_t *found)
{
	uint64_t need = MEM_UNIT + (bytes + MEM_UNIT - 1) / MEM_UNIT * MEM_UNIT;
	uint64_t lowest = UINT64_MAX;
	struct mem_extent *e;

	if (bytes > b->capacity)
		return -ENOSPC;
	for (uint64_t at = b->first_free; at < b->capacity; at += e->bytes) {
		e = extent_at(b, at);
		if (e->references)
			continue;
		while (at + e->bytes < b->capacity && extent_at(b, at + e->bytes)->references == 0)
			e->bytes += extent_at(b, at + e->bytes)->bytes;
		if (e->bytes < need) {
			lowest = min_u64(at, lowest);
			continue;
		}
		if (e->bytes > need)
			*extent_at(b, at + need) = (struct mem_extent){.bytes = e->bytes - need};
		*e = (struct mem_extent){.bytes = need, .references = 1};
		b->first_free = lowest < at ? lowest : at + need;
		*found = at;
		return 0;
	}
	b->first_free = min_u64(lowest, b->capacity);
	return -ENOSPC;
}

static void extent_drop(struct mem_block *b, uint64_t at)
{
	if (--extent_at(b, at)->references == 0 && at < b->first_free)
		b->first_free = at;
}

/* The entry of that key, or NULL. Then *vacant is where it would go (NULL: the table is full). */
static struct mem_entry *entry_find(struct mem_block *b, uint64_t hash, const char *key,
				    struct mem_entry **vacant)
{
	*vacant = NULL;
	for (uint64_t i = 0; i < b->slots; i++) {
		struct mem_entry *e = &b->entries[(hash + i) % b->slots];

		if (e->used == MEM_USED) {
			if (e->hash == hash && strcmp(e->key, key) == 0)
				return e;
			continue;
		}
		if (!*vacant)
			*vacant = e;
		if (e->used == MEM_NEVER)
			break;
	}
	return NULL;
}

static int mem_begin(struct mem_block *b, struct request *req)
{
	struct object *o = req->object;
	uint64_t at;
	int rc;

	/* An extent cannot grow, so its length must be known. An object of unknown length stays
	 * empty. */
	rc = extent_take(b, req->length ? req->length : 1, &at);
	if (rc < 0)
		return rc;
	o->state[STATE_EXTENT] = at + 1;
	o->state[STATE_BYTES] = req->length;
	o->state[MEM_STATE_WRITTEN] = 0;
	return 0;
}

/* The reference of the object becomes that of the table. */
static int mem_commit(struct mem_block *b, struct request *req, uint64_t hash)
{
	struct object *o = req->object;
	struct mem_entry *vacant, *e = entry_find(b, hash, o->key, &vacant);

	if (!o->state[STATE_EXTENT])
		return -EBADF;
	if (!e && !vacant)
		return -ENOSPC;
	if (e) {
		extent_drop(b, e->extent);
	} else {
		e = vacant;
		e->used = MEM_USED;
		e->hash = hash;
		memcpy(e->key, o->key, sizeof(e->key));
	}
	e->extent = o->state[STATE_EXTENT] - 1;
	e->size = o->state[MEM_STATE_WRITTEN];
	req->answer.done_bytes = e->size;
	memset(o->state, 0, sizeof(o->state));
	return 0;
}

/* open, stat and delete, which need a committed object. */
static int mem_on_entry(struct mem_block *b, struct request *req, uint64_t hash)
{
	struct object *o = req->object;
	struct mem_entry *vacant, *e = entry_find(b, hash, o->key, &vacant);

	if (!e)
		return -ENOENT;
	if (req->op == REQ_DELETE) {
		extent_drop(b, e->extent);
		e->used = MEM_GONE;
		return 0;
	}
	o->size = e->size;
	if (req->op == REQ_STAT) {
		req->answer.done_bytes = e->size;
		return 0;
	}
	extent_at(b, e->extent)->references++;
	o->state[STATE_EXTENT] = e->extent + 1;
	o->state[STATE_BYTES] = e->size;
	return 0;
}

static uint64_t hash_of(const struct mem *m, const char *key)
{
	return mix64(m->root_hash) ^ text_hash(key);
}

/* Deletes several keys under one lock. */
static int mem_delete_keys(struct mem *m, struct request *req)
{
	struct object o = {0};
	struct request one = {.op = REQ_DELETE, .object = &o};

	for (uint32_t i = 0; i < req->batch.count; i++) {
		struct request_key *k = &req->batch.keys[i];

		memcpy(o.key, k->key, sizeof(o.key));
		k->status = mem_on_entry(m->block, &one, hash_of(m, k->key));
		k->again = false;
	}
	return 0;
}

/* The extent moves to another entry. In a full table the entry that it leaves is reused. */
static int mem_rename(struct mem *m, struct request *req, uint64_t hash)
{
	struct mem_block *b = m->block;
	struct mem_entry *vacant, *from = entry_find(b, hash, req->object->key, &vacant), *to;
	uint64_t target = hash_of(m, req->target);

	if (!from)
		return -ENOENT;
	to = entry_find(b, target, req->target, &vacant);
	if (to == from)
		return 0;
	from->used = MEM_GONE;
	if (to)
		extent_drop(b, to->extent);
	else
		to = vacant ? vacant : from;
	to->used = MEM_USED;
	to->hash = target;
	to->extent = from->extent;
	to->size = from->size;
	snprintf(to->key, sizeof(to->key), "%s", req->target);
	return 0;
}

/* Lists slots in their order. A slot that is filled between two pages may be missed. No entry comes
 * twice, unless it is renamed between two pages. The marker is the number of the slot. */
static int mem_list_page(struct mem *m, struct request *req)
{
	struct mem_block *b = m->block;
	uint64_t most = req->length ? req->length : LIST_PAGE_ENTRIES, i;
	size_t skip = strlen(req->object->key);
	int rc = 0;

	for (i = strtoull(req->listing->marker, NULL, 10); i < b->slots && rc >= 0; i++) {
		const struct mem_entry *e = &b->entries[i];

		if (e->used != MEM_USED || e->hash != hash_of(m, e->key) ||
		    strncmp(e->key, req->object->key, skip) != 0 || strchr(e->key + skip, '/') ||
		    !listing_wants(req->listing, e->key + skip))
			continue;
		if (req->answer.done_bytes == most)
			break;
		req->answer.done_bytes++;
		rc = req->listing->entry(req, e->key + skip, e->size);
	}
	req->listing->more = rc >= 0 && i < b->slots;
	snprintf(req->listing->marker, sizeof(req->listing->marker), "%" PRIu64, i);
	return rc < 0 ? rc : 0;
}

static int mem_under_lock(struct mem *m, struct request *req)
{
	struct object *o = req->object;
	uint64_t hash = hash_of(m, o->key);

	switch (req->op) {
	case REQ_RENAME:
		return mem_rename(m, req, hash);
	case REQ_LIST:
		return mem_list_page(m, req);
	case REQ_UPDATE: /* objects are written whole: no BACKEND_UPDATE */
		return -EOPNOTSUPP;
	case REQ_DELETE:
		if (req->batch.count)
			return mem_delete_keys(m, req);
		return mem_on_entry(m->block, req, hash);
	case REQ_OPEN:
	case REQ_STAT:
		return mem_on_entry(m->block, req, hash);
	case REQ_BEGIN:
		return mem_begin(m->block, req);
	case REQ_COMMIT:
		return mem_commit(m->block, req, hash);
	default: /* close and abort: drop the reference */
		if (!o->state[STATE_EXTENT])
			return -EBADF;
		extent_drop(m->block, o->state[STATE_EXTENT] - 1);
		memset(o->state, 0, sizeof(o->state));
		return 0;
	}
}

static int mem_move(struct mem_block *b, struct request *req)
{
	struct object *o = req->object;
	uint64_t at = req->offset + req->answer.done_bytes,
		 bytes = req->length - req->answer.done_bytes;
	uint64_t limit = o->state[STATE_BYTES];

	if (!o->state[STATE_EXTENT])
		return -EBADF;
	if (req->op == REQ_WRITE && (bytes > limit || at > limit - bytes))
		return -EFBIG;
	if (at >= limit)
		return 0;
	if (bytes > limit - at)
		bytes = limit - at;
	if (req->op == REQ_READ) {
		memcpy((char *)req->data + req->answer.done_bytes, payload_of(b, o) + at, bytes);
	} else {
		memcpy(payload_of(b, o) + at, (char *)req->data + req->answer.done_bytes, bytes);
		word_raise(&o->state[MEM_STATE_WRITTEN], at + bytes);
	}
	clock_wait_for_loads();
	req->answer.done_bytes += bytes;
	return 0;
}

static void mem_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	struct mem *m = c->store->state;

	for (uint32_t i = 0; i < n; i++) {
		struct request *req = reqs[i];

		if (req->op == REQ_READ || req->op == REQ_WRITE) {
			req->answer.status = mem_move(m->block, req);
			continue;
		}
		block_lock(m->block);
		req->answer.status = mem_under_lock(m, req);
		block_unlock(m->block);
	}
}

const struct backend_ops mem_backend = {
	.scheme = "mem",
	.help = "objects in the memory of one node, gone at its end: for tests",
	.section =
		{
			.name = "mem",
			.help = "objects in the memory of one node, gone at its end: for tests",
			.tables = {store_common_options, mem_options},
			.size = sizeof(struct mem_options),
			.owner = &mem_backend,
		},
	.capabilities = BACKEND_CONTENT | BACKEND_RANGES | BACKEND_ATOMIC_COMMIT |
			BACKEND_MISSING_IS_ERROR | BACKEND_DEPTH | BACKEND_RENAME | BACKEND_LIST |
			BACKEND_BATCH | BACKEND_LIST_PARTS | BACKEND_WRITES,
	.transfer = 4 << 20,
	.depth_max = QUEUE_DEPTH_MAX,
	.node_bytes = mem_node_bytes,
	.node_init = mem_node_init,
	.open = mem_open,
	.close = mem_close,
	.describe = mem_describe,
	.submit = mem_submit,
};
