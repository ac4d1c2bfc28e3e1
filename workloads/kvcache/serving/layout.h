/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of blocks in a store: the names, temporary files and lookups of the cache servers that people run, as one table with
 * version and source. Pure functions; any thread.
 *
 * A block is an object; or it lies in a slot of the one file of its rank, whose own index says where:
 *
 *	| front: two copies of the index | slot 0: header, block, room | slot 1 | …
 *
 * or in a bucket, a file of blocks that were written together (bucket.h). */
#ifndef HAUL_WORKLOADS_KVCACHE_LAYOUT_H
#define HAUL_WORKLOADS_KVCACHE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/request.h"
#include "workloads/kvcache/serving/bucket.h"
#include "workloads/kvcache/tiers/entries.h"

enum {
	KV_ENDING_BYTES = 24,
	KV_LAYOUT_MODEL_BYTES = 128 /* of a model's name in that of a block */
};
enum kv_layout_kind {
	KV_LAYOUT_HAUL,
	KV_LAYOUT_LMCACHE_FS,
	KV_LAYOUT_LMCACHE_S3,
	KV_LAYOUT_VLLM_FS,
	KV_LAYOUT_LMCACHE_FS_NATIVE,
	KV_LAYOUT_VLLM_DISK,
	KV_LAYOUT_MOONCAKE_OFFSET,
	KV_LAYOUT_LMCACHE_RAW_BLOCK,
	KV_LAYOUT_MOONCAKE_BUCKET,
	KV_LAYOUTS
};

/* Slots, their headers and the index begin at multiples of KV_SLOT_PAGE bytes. */
enum { KV_SLOT_PAGE = 4096 };
struct kv_slots {
	uint64_t front, header, least; /* bytes; least: of a slot */
	uint64_t index_ns; /* how often the index is written, each copy in turn; 0: never */
	bool apart;        /* a header is written by a request of its own, before the block */
	bool checked;      /* a header is read, too, before the block */
	/* Makes the header of a block, or of the index (KV_KEY_NAMED, which copy it is): out is zeroed and has KV_SLOT_PAGE bytes. NULL: there is none. */
	void (*make)(struct kv_id id, uint64_t bytes, char *out);
};

/* What a server reads when it starts, before it serves (server_start.c). */
enum kv_start {
	KV_START_NOTHING, /* lookups ask the store */
	KV_START_EMPTY,   /* it has forgotten what its file holds */
	KV_START_FOLDER,  /* the names in the folder; then the size of each block's file */
	KV_START_SLOTS,   /* the index; then the header of each slot */
	/* the names in the rank's folder; of each bucket its .meta, and whether it is there; the names again */
	KV_START_BUCKETS
};

struct kv_layout {
	const char *name, *version; /* version: "haul": its own, in 256 folders */
	/* Writes the key of a block below the folder; with slots, of the file of the rank id.low; with buckets, of one of
	 * their files (kv_bucket_id). */
	void (*key)(const char *folder, const char *model, struct kv_id id,
		    char key[OBJECT_KEY_BYTES]);
	/* What follows the name of a file that is not whole, "": nothing; NULL: the store's own way. draws: a
	 * number comes before it. */
	const char *temporary;
	bool draws;
	bool only_exists; /* a lookup does not ask for the size: access in place of stat */
	uint64_t lookups; /* of a request at a time; 0: all */
	uint32_t depth;   /* folders below FOLDER */
	enum kv_start start;
	uint32_t starts; /* slots whose headers are read at a time */
	/* Reads the block or bucket of a file that a start-up looks at from its name. Returns false where it is another file. */
	bool (*listed)(const char *name, uint64_t *number);
	const struct kv_slots *slots;     /* NULL: no file is cut in slots */
	const struct kv_buckets *buckets; /* NULL: there are none */
};
extern const struct kv_layout kv_layouts[KV_LAYOUTS];
extern const char *const kv_layout_names[]; /* ends in NULL */

/* Where a copy of the index begins, behind its header; and its bytes with so many blocks. */
uint64_t kv_index_at(const struct kv_slots *s, uint64_t copy);
uint64_t kv_index_bytes(const struct kv_slots *s, uint64_t blocks);

/* Bytes of a slot; and how many there are in a file of that capacity. */
uint64_t kv_slot_bytes(const struct kv_slots *s, uint64_t block_bytes);
uint64_t kv_slots_count(const struct kv_slots *s, uint64_t capacity, uint64_t block_bytes);
/* The byte of the file at which the block of a slot begins, behind its header. */
uint64_t kv_slot_at(const struct kv_slots *s, uint64_t slot, uint64_t block_bytes);

/* The ending of a file that is not whole, with that number where the layout draws one; not where it is the
 * store's own. */
void kv_layout_ending(const struct kv_layout *l, uint32_t draw, char out[KV_ENDING_BYTES]);
/* Whether the last part of a name is that of a block in that layout, or of one that is not whole. */
bool kv_layout_named(enum kv_layout_kind kind, const char *name);

#endif
