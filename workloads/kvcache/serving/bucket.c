/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets: see bucket.h. */
#include "workloads/kvcache/serving/bucket.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/content/fill.h"
#include "core/numbers.h"
#include "workloads/kvcache/requests/lru.h"

/* The first byte of a field of protobuf: its number << 3, and 2 where its length follows, else 0. */
enum { META_BYTES = 1 << 3, META_KEY = 2 << 3 | 2, META_BLOCK = 3 << 3 | 2 };
enum { BLOCK_AT = 1 << 3, BLOCK_KEY_BYTES = 2 << 3, BLOCK_BYTES = 3 << 3 };

uint32_t kv_bucket_blocks(const struct kv_buckets *b, uint64_t block_bytes)
{
	return (uint32_t)min_u64(b->blocks, b->bytes / block_bytes);
}

uint64_t kv_bucket_at(uint32_t block, uint64_t block_bytes)
{
	return block * (KV_BUCKET_KEY_BYTES + block_bytes);
}

static void bucket_key(uint64_t block, char out[KV_BUCKET_KEY_BYTES + 1])
{
	snprintf(out, KV_BUCKET_KEY_BYTES + 1, "%016" PRIx64, block);
}

/* A field, whose value is a number or the length of what follows. Returns its bytes. */
static uint64_t meta_field(char *out, char field, uint64_t value)
{
	uint64_t n = 1;

	if (out)
		out[0] = field;
	for (; value >= 0x80; value >>= 7, n++)
		if (out)
			out[n] = (char)(value | 0x80);
	if (out)
		out[n] = (char)value;
	return n + 1;
}

static uint64_t meta_block(char *out, uint64_t at, uint64_t block_bytes)
{
	uint64_t n = at ? meta_field(out, BLOCK_AT, at) : 0;

	n += meta_field(out ? out + n : NULL, BLOCK_KEY_BYTES, KV_BUCKET_KEY_BYTES);
	return n + meta_field(out ? out + n : NULL, BLOCK_BYTES, block_bytes);
}

uint64_t kv_bucket_meta(const struct kv_bucket *b)
{
	char *out = b->meta, key[KV_BUCKET_KEY_BYTES + 1];
	uint64_t n = meta_field(out, META_BYTES, kv_bucket_at(b->count, b->block_bytes));

	for (uint32_t i = 0; i < b->count; i++) {
		n += meta_field(out ? out + n : NULL, META_KEY, KV_BUCKET_KEY_BYTES);
		if (out) {
			bucket_key(b->keys[i], key);
			memcpy(out + n, key, KV_BUCKET_KEY_BYTES);
		}
		n += KV_BUCKET_KEY_BYTES;
	}
	for (uint32_t i = 0; i < b->count; i++) {
		uint64_t at = kv_bucket_at(i, b->block_bytes);
		uint64_t bytes = meta_block(NULL, at, b->block_bytes);

		n += meta_field(out ? out + n : NULL, META_BLOCK, bytes);
		n += out ? meta_block(out + n, at, b->block_bytes) : bytes;
	}
	return n;
}

uint64_t kv_bucket_whole(const struct kv_buckets *b, uint64_t block_bytes)
{
	const struct kv_bucket full = {.block_bytes = block_bytes,
				       .count = kv_bucket_blocks(b, block_bytes)};

	return kv_bucket_at(full.count, block_bytes) + kv_bucket_meta(&full);
}

void kv_bucket_fill(const struct kv_bucket *b, enum kv_bucket_file file, struct pattern p,
		    uint64_t seed, uint64_t at, char *data, uint64_t length)
{
	uint64_t record = kv_bucket_at(1, b->block_bytes), n;

	if (file == KV_BUCKET_META) {
		memcpy(data, b->meta + at, length);
		return;
	}
	for (; length; at += n, data += n, length -= n) {
		uint64_t block = b->keys[at / record], in = at % record;
		char key[KV_BUCKET_KEY_BYTES + 1];

		if (in < KV_BUCKET_KEY_BYTES) {
			bucket_key(block, key);
			n = min_u64(length, KV_BUCKET_KEY_BYTES - in);
			memcpy(data, key + in, n);
			continue;
		}
		n = min_u64(length, record - in);
		p.key = fill_key(seed, kv_id_hash(kv_block_id(block)));
		pattern_fill(&p, 0, in - KV_BUCKET_KEY_BYTES, data, n);
	}
}
