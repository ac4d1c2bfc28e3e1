/* SPDX-License-Identifier: Apache-2.0 */
/* Entry table: what is found by the id of an entry of a key-value cache, such as the entry itself.
 *
 * Entries have numbers, which stay the same while the entry lives. They are in blocks that are never moved. The hash
 * table is Litwin's linear hashing: it has as many buckets as there are entries, and grows by one bucket at each new
 * entry. So no operation pays for the growth of the table, and with eight tiers an entry takes less than 128 bytes:
 *
 *	| id 16 | next 8 | bytes 8 | age 8 | uses 4 | tiers 1 | homes 8 | link 8 x tiers |  and 4 of the hash table
 *
 * Memory of removed entries is used again, but given back only by kv_entries_free. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_ENTRIES_H
#define HAUL_WORKLOADS_KVCACHE_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

enum { KV_TIERS_MAX = 8, KV_BLOCK_ENTRIES = 1 << 12, KV_SEGMENT_BUCKETS = 1 << 12 };
#define KV_NONE UINT32_MAX /* the number of no entry */

/* What an entry is: enum kv_key_kind says what the bits mean. */
struct kv_id {
	uint64_t high, low;
};

static inline int kv_id_same(struct kv_id a, struct kv_id b)
{
	return a.high == b.high && a.low == b.low;
}

uint64_t kv_id_hash(struct kv_id id);

/* The numbers of the neighbours in a list of a tier. */
struct kv_link {
	uint32_t older, newer;
};

/* What the members of every table begin with. */
struct kv_item {
	struct kv_id id;
	uint32_t next; /* in its bucket, or among the free ones */
};

/* A member of the table of a cache's tiers. */
struct kv_entry {
	struct kv_item item;
	uint64_t bytes;
	uint64_t age;  /* the tiers' count of accesses when it was last used: larger is younger */
	uint32_t uses; /* accesses since it was made */
	uint8_t tiers; /* bit k: tier k has a copy */
	uint8_t home[KV_TIERS_MAX]; /* of the copy in tier k: the tier in which it was last used */
	struct kv_link link[];      /* [tiers]: of the copy in tier k */
};

struct kv_entries {
	size_t stride; /* bytes of an entry */
	void **blocks;
	uint64_t block_room, segment_room;
	uint32_t block_count, segment_count;
	uint32_t made, live, free; /* numbers given out; entries; the first free entry */
	void **segments;
	uint32_t buckets,
		level; /* buckets = level + those that have been split; level: a power of two */
};

static inline size_t kv_entry_bytes(uint32_t tiers)
{
	return offsetof(struct kv_entry, link) + tiers * sizeof(struct kv_link);
}

/* bytes: of a member, which begins with a struct kv_item. Returns 0 or -ENOMEM. */
int kv_entries_init(struct kv_entries *e, size_t bytes);
void kv_entries_free(struct kv_entries *e);

static inline void *kv_entries_at(const struct kv_entries *e, uint32_t number)
{
	char *block = e->blocks[number / KV_BLOCK_ENTRIES];

	return block + number % KV_BLOCK_ENTRIES * e->stride;
}

static inline struct kv_entry *kv_entry_at(const struct kv_entries *e, uint32_t number)
{
	return kv_entries_at(e, number);
}

/* The number of an entry; KV_NONE: there is none with that id. */
uint32_t kv_entries_find(const struct kv_entries *e, struct kv_id id);

/* Adds an entry that is not there yet. All but its id is 0. KV_NONE: no memory. */
uint32_t kv_entries_add(struct kv_entries *e, struct kv_id id);
void kv_entries_remove(struct kv_entries *e, uint32_t number);

/* Bytes of memory. */
uint64_t kv_entries_memory(const struct kv_entries *e);

/* Names of cache entries: an id of 16 bytes, and the key that an object of a store or a row of a trace has for it. Keys
 * are those of MLPerf's benchmark, so its traces and these can be compared:
 *
 *	high   kind 8 | first 32 | second 24          low   number 64
 *
 * Pure functions; any thread. */

enum { KV_KEY_BYTES = 64, KV_KEY_SECOND_MAX = (1 << 24) - 1 };

enum kv_key_kind {
	KV_KEY_TURN, /* conv_user_{first:04}_{number}_turn_{second}: number is when the conversation began, in ms */
	KV_KEY_REQUEST,  /* user_{first:04}_req_{number:06}: a request outside of conversations */
	KV_KEY_PROMPT,   /* kv_system_{number} */
	KV_KEY_CHUNK,    /* rag_doc_{first:04}_chunk_{second} */
	KV_KEY_DOCUMENT, /* rag_doc_{first:04}: what was retrieved of it */
	KV_KEY_FILL,     /* precond_{number}: preconditioning */
	KV_KEY_STORED,   /* prepop_{number}: there before a decode-only run */
	KV_KEY_NAMED, /* the number of a name that somebody else keeps, such as the key of a trace */
	KV_KEY_BLOCK, /* number: a block of tokens and all before it (requests/lru.h) */
	KV_KEY_KINDS
};

static inline struct kv_id kv_id_make(enum kv_key_kind kind, uint32_t first, uint32_t second,
				      uint64_t number)
{
	return (struct kv_id){(uint64_t)kind << 56 | (uint64_t)first << 24 | second, number};
}

static inline enum kv_key_kind kv_id_kind(struct kv_id id)
{
	return (enum kv_key_kind)(id.high >> 56);
}

static inline uint32_t kv_id_first(struct kv_id id)
{
	return (uint32_t)(id.high >> 24);
}

static inline uint32_t kv_id_second(struct kv_id id)
{
	return id.high & KV_KEY_SECOND_MAX;
}

/* Writes the key, and returns its length. Not for KV_KEY_NAMED and KV_KEY_BLOCK. */
size_t kv_key_text(char out[KV_KEY_BYTES], struct kv_id id);

#endif
