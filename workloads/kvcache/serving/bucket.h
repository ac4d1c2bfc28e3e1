/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets, as Mooncake's bucket backend writes them: blocks that were put together are one file, and a second file says where in it
 * each of them lies. Pure functions; any thread.
 *
 *	ID.bucket   | key, block | key, block | …     without padding
 *	ID.meta     a protobuf message: 1: bytes of the other file; 2: the key, of each block; 3: of each block again, a message
 *	            with 1: where its record begins (0 is left out); 2: bytes of the key; 3: bytes of the block
 */
#ifndef HAUL_WORKLOADS_KVCACHE_BUCKET_H
#define HAUL_WORKLOADS_KVCACHE_BUCKET_H

#include "core/content/pattern.h"
#include "workloads/kvcache/tiers/entries.h"

enum { KV_BUCKET_KEY_BYTES = 16 };

/* When a bucket is full. */
struct kv_buckets {
	uint64_t bytes, blocks; /* of blocks, without their keys, at most */
};

/* A bucket that is written. */
struct kv_bucket {
	uint64_t block_bytes;
	uint32_t count;
	uint64_t *keys; /* [count] */
	char *meta;     /* [kv_bucket_meta]: what its second file holds */
};

/* The file of a bucket of that rank, or the one that describes it. */
enum kv_bucket_file { KV_BUCKET_DATA, KV_BUCKET_META };
static inline struct kv_id kv_bucket_id(uint32_t rank, enum kv_bucket_file file, uint64_t number)
{
	return kv_id_make(KV_KEY_NAMED, rank, file, number);
}

/* Blocks of a full bucket; 0: not even one fits. */
uint32_t kv_bucket_blocks(const struct kv_buckets *b, uint64_t block_bytes);
/* The byte at which the record of a block begins; of the number of all blocks: the bytes of the file. */
uint64_t kv_bucket_at(uint32_t block, uint64_t block_bytes);
/* The bytes of the second file, which are written to b->meta unless that is NULL; then its keys are not looked at. */
uint64_t kv_bucket_meta(const struct kv_bucket *b);
/* Bytes of both files of a full bucket. */
uint64_t kv_bucket_whole(const struct kv_buckets *b, uint64_t block_bytes);
/* Makes bytes [at, at + length) of the file. p: without its key, which is that of each block with this seed. */
void kv_bucket_fill(const struct kv_bucket *b, enum kv_bucket_file file, struct pattern p,
		    uint64_t seed, uint64_t at, char *data, uint64_t length);

#endif
