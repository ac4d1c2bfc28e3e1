/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of blocks in a store: see layout.h. */
#include "workloads/kvcache/serving/layout.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "core/numbers.h"
#include "core/time_ns.h"

/* Bits of LMCache's kv_rank: world << 24 | rank << 16 | local_world << 8 | local_rank. One rank of
 * one, since a rank of haul is a server. */
enum { LMCACHE_KV_RANK = 1 << 24 | 1 << 8 };

/* LMCache's index of slots: JSON, in which a block has 12 bytes in base64. */
enum { KV_INDEX_COPIES = 2, KV_INDEX_BASE = 512, KV_INDEX_BLOCK = 16 };

static const char *const bucket_endings[] = {
	[KV_BUCKET_DATA] = ".bucket", [KV_BUCKET_META] = ".meta"};

/* The model's name with each slash written as `slash`. */
static const char *layout_model(const char *model, const char *slash,
				char out[KV_LAYOUT_MODEL_BYTES])
{
	size_t n = 0;

	for (; *model && n + strlen(slash) + 1 < KV_LAYOUT_MODEL_BYTES; model++) {
		size_t bytes = *model == '/' ? strlen(slash) : 1;

		memcpy(out + n, *model == '/' ? slash : model, bytes);
		n += bytes;
	}
	out[n] = '\0';
	return out;
}

/* The last so many digits of a number. A name is made for each request: by printf that was more than half of the instructions which
 * haul itself took for a get. */
static char *key_hex(char *at, uint64_t number, unsigned digits)
{
	for (unsigned i = digits; i-- > 0; number >>= 4)
		at[i] = "0123456789abcdef"[number & 15];
	return at + digits;
}

/* Without zeroes in front. */
static char *key_hex_short(char *at, uint64_t number)
{
	unsigned digits = 1;

	while (digits < 16 && number >> 4 * digits)
		digits++;
	return key_hex(at, number, digits);
}

/* The folder and a slash. */
static char *key_begin(char key[OBJECT_KEY_BYTES], const char *folder)
{
	char *at = stpcpy(key, folder);

	*at++ = '/';
	return at;
}

static void haul_key(const char *folder, const char *model, struct kv_id id,
		     char key[OBJECT_KEY_BYTES])
{
	char *at = key_hex(key_begin(key, folder), id.low >> 56, 2);

	(void)model;
	*key_hex(stpcpy(at, "/block_"), id.low, 16) = '\0';
}

/* All in one folder. */
static void lmcache_fs_key(const char *folder, const char *model, struct kv_id id,
			   char key[OBJECT_KEY_BYTES])
{
	char name[KV_LAYOUT_MODEL_BYTES];

	char *at = stpcpy(key_begin(key, folder), layout_model(model, "-SEP->", name));

	at = key_hex(stpcpy(at, "@0x"), LMCACHE_KV_RANK, 8);
	strcpy(key_hex_short(stpcpy(at, "@0@"), id.low), ".data");
}

/* The number that a name has there, before that ending. */
static bool name_number(const char *at, int base, const char *ending, uint64_t *number)
{
	char *end;

	*number = strtoull(at, &end, base);
	return end != at && strcmp(end, ending) == 0;
}

static bool lmcache_fs_listed(const char *name, uint64_t *number)
{
	const char *hash = strrchr(name, '@');

	return hash && name_number(hash + 1, 16, ".data", number);
}

static void lmcache_s3_key(const char *folder, const char *model, struct kv_id id,
			   char key[OBJECT_KEY_BYTES])
{
	char *at = stpcpy(stpcpy(key_begin(key, folder), model), "@");

	*key_hex_short(stpcpy(key_hex(at, LMCACHE_KV_RANK, 8), "@0@"), id.low) = '\0';
}

/* The hash of a block has 256 bits there; here its 64 bits are spread over as many. */
static void vllm_fs_key(const char *folder, const char *model, struct kv_id id,
			char key[OBJECT_KEY_BYTES])
{
	uint64_t block = id.low, all = mix64(block), config = 0;
	char name[KV_LAYOUT_MODEL_BYTES], *at;

	layout_model(model, "_", name);
	for (const char *c = name; *c; c++)
		config = mix64(config ^ (uint8_t)*c);
	at = key_hex(stpcpy(stpcpy(key_begin(key, folder), name), "_"), config >> 16, 12);
	at = key_hex(stpcpy(at, "_r0/"), all >> 52, 3);
	at = key_hex(stpcpy(at, "/"), all >> 44, 2);
	at = key_hex(key_hex(stpcpy(at, "_g0/"), all, 16), block, 16);
	strcpy(key_hex(key_hex(at, mix64(all), 16), mix64(block ^ all), 16), ".bin");
}

static void vllm_disk_key(const char *folder, const char *model, struct kv_id id,
			  char key[OBJECT_KEY_BYTES])
{
	(void)model;
	snprintf(key, OBJECT_KEY_BYTES, "%s/blocks.rank_%" PRIu64, folder, id.low);
}

static void mooncake_offset_key(const char *folder, const char *model, struct kv_id id,
				char key[OBJECT_KEY_BYTES])
{
	(void)model;
	snprintf(key, OBJECT_KEY_BYTES, "%s/rank_%" PRIu64 "/kv_cache.data", folder, id.low);
}

/* Length of the key, length of the value, sequence, flags (1: there is a checksum), checksum; then the
 * key. Without a checksum, which is an option there. */
static void mooncake_offset_header(struct kv_id id, uint64_t bytes, char *out)
{
	enum { KEY_AT = 24, KEY_LENGTH = 16 };
	const uint32_t lengths[2] = {htole32(KEY_LENGTH), htole32((uint32_t)bytes)};

	memcpy(out, lengths, sizeof(lengths));
	snprintf(out + KEY_AT, KEY_LENGTH + 1, "%016" PRIx64, id.low);
}

static void lmcache_raw_block_key(const char *folder, const char *model, struct kv_id id,
				  char key[OBJECT_KEY_BYTES])
{
	(void)model;
	snprintf(key, OBJECT_KEY_BYTES, "%s/raw_block.rank_%" PRIu64, folder, id.low);
}

/* Magic, identity, length of the payload. What makes it a record for recovery is not there. */
static void lmcache_raw_block_header(struct kv_id id, uint64_t bytes, char *out)
{
	const uint64_t words[2] = {htole64(id.low), htole64(bytes)};

	memcpy(out, kv_id_kind(id) == KV_KEY_NAMED ? "LMCIDX01" : "LMCBLK01", 8);
	memcpy(out + 8, words, sizeof(words));
}

static void mooncake_bucket_key(const char *folder, const char *model, struct kv_id id,
				char key[OBJECT_KEY_BYTES])
{
	(void)model;
	snprintf(key, OBJECT_KEY_BYTES, "%s/rank_%" PRIu32 "/%" PRIu64 "%s", folder,
		 kv_id_first(id), id.low, bucket_endings[kv_id_second(id)]);
}

static bool mooncake_bucket_listed(const char *name, uint64_t *number)
{
	return name_number(name, 10, bucket_endings[KV_BUCKET_META], number);
}

static const struct kv_buckets mooncake_buckets = {.bytes = 256 << 20, .blocks = 500};
static const struct kv_slots vllm_disk_slots = {.front = 0};
static const struct kv_slots mooncake_offset_slots = {
	.header = KV_SLOT_PAGE, .checked = true, .make = mooncake_offset_header};
static const struct kv_slots lmcache_raw_block_slots = {.front = 256 << 20,
							.header = KV_SLOT_PAGE,
							.least = 1 << 20,
							.index_ns = 60 * NS_PER_S,
							.apart = true,
							.make = lmcache_raw_block_header};

const struct kv_layout kv_layouts[KV_LAYOUTS] = {
	[KV_LAYOUT_HAUL] = {.name = "haul", .version = "", .key = haul_key, .depth = 1},
	[KV_LAYOUT_LMCACHE_FS] = {.name = "lmcache_fs",
				  .version = "LMCache, fs_l2_adapter.py @02ebd8bb, July 2026",
				  .key = lmcache_fs_key,
				  .temporary = ".tmp",
				  .lookups = 1,
				  .start = KV_START_FOLDER,
				  .listed = lmcache_fs_listed},
	[KV_LAYOUT_LMCACHE_S3] = {.name = "lmcache_s3",
				  .version = "LMCache, s3_l2_adapter.py @000e877, 2026",
				  .key = lmcache_s3_key},
	[KV_LAYOUT_VLLM_FS] = {.name = "vllm_fs",
			       .version = "vLLM, fs/manager.py @0255eea, July to September 2026",
			       .key = vllm_fs_key,
			       .temporary = ".tmp",
			       .draws = true,
			       .only_exists = true,
			       .depth = 3},
	[KV_LAYOUT_LMCACHE_FS_NATIVE] = {.name = "lmcache_fs_native",
					 .version = "LMCache, connector.cpp @121206a, 2026",
					 .key = lmcache_fs_key,
					 .temporary = ".tmp",
					 .start = KV_START_FOLDER,
					 .listed = lmcache_fs_listed},
	[KV_LAYOUT_VLLM_DISK] = {.name = "vllm_disk",
				 .version = "vLLM, disk_backend.py @055e47c2, 2026",
				 .key = vllm_disk_key,
				 .start = KV_START_EMPTY,
				 .slots = &vllm_disk_slots},
	[KV_LAYOUT_MOONCAKE_OFFSET] = {.name = "mooncake_offset",
				       .version = "Mooncake, storage_backend.cpp @00fcaf72, 2026",
				       .key = mooncake_offset_key,
				       .depth = 1,
				       .start = KV_START_EMPTY,
				       .slots = &mooncake_offset_slots},
	[KV_LAYOUT_LMCACHE_RAW_BLOCK] = {.name = "lmcache_raw_block",
					 .version = "LMCache, raw_block/core.py @018b4426, 2026",
					 .key = lmcache_raw_block_key,
					 .start = KV_START_SLOTS,
					 .starts = 8,
					 .slots = &lmcache_raw_block_slots},
	[KV_LAYOUT_MOONCAKE_BUCKET] =
		{.name = "mooncake_bucket",
		 .version = "Mooncake, storage_backend.cpp @3b5a594, August 2026",
		 .key = mooncake_bucket_key,
		 .temporary = "",
		 .depth = 1,
		 .start = KV_START_BUCKETS,
		 .listed = mooncake_bucket_listed,
		 .buckets = &mooncake_buckets},
};
const char *const kv_layout_names[] = {[KV_LAYOUT_HAUL] = "haul",
				       [KV_LAYOUT_LMCACHE_FS] = "lmcache_fs",
				       [KV_LAYOUT_LMCACHE_S3] = "lmcache_s3",
				       [KV_LAYOUT_VLLM_FS] = "vllm_fs",
				       [KV_LAYOUT_LMCACHE_FS_NATIVE] = "lmcache_fs_native",
				       [KV_LAYOUT_VLLM_DISK] = "vllm_disk",
				       [KV_LAYOUT_MOONCAKE_OFFSET] = "mooncake_offset",
				       [KV_LAYOUT_LMCACHE_RAW_BLOCK] = "lmcache_raw_block",
				       [KV_LAYOUT_MOONCAKE_BUCKET] = "mooncake_bucket",
				       [KV_LAYOUTS] = NULL};

uint64_t kv_index_at(const struct kv_slots *s, uint64_t copy)
{
	return copy % KV_INDEX_COPIES * (s->front / KV_INDEX_COPIES) + s->header;
}

uint64_t kv_index_bytes(const struct kv_slots *s, uint64_t blocks)
{
	return min_u64(KV_INDEX_BASE + blocks * KV_INDEX_BLOCK,
		       s->front / KV_INDEX_COPIES - s->header);
}

uint64_t kv_slot_bytes(const struct kv_slots *s, uint64_t block_bytes)
{
	uint64_t bytes = s->header + block_bytes;

	return max_u64((bytes + KV_SLOT_PAGE - 1) / KV_SLOT_PAGE * KV_SLOT_PAGE, s->least);
}

uint64_t kv_slots_count(const struct kv_slots *s, uint64_t capacity, uint64_t block_bytes)
{
	return excess_u64(capacity, s->front) / kv_slot_bytes(s, block_bytes);
}

uint64_t kv_slot_at(const struct kv_slots *s, uint64_t slot, uint64_t block_bytes)
{
	return s->front + slot * kv_slot_bytes(s, block_bytes) + s->header;
}

void kv_layout_ending(const struct kv_layout *l, uint32_t draw, char out[KV_ENDING_BYTES])
{
	out[0] = '\0';
	if (l->temporary && l->draws)
		snprintf(out, KV_ENDING_BYTES, "_%08" PRIx32 "%s", draw, l->temporary);
	else if (l->temporary)
		snprintf(out, KV_ENDING_BYTES, "%s", l->temporary);
}

static bool name_ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n >= m && strcmp(name + n - m, with) == 0;
}

static bool bucket_named(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return digits && (strcmp(name + digits, bucket_endings[KV_BUCKET_DATA]) == 0 ||
			  strcmp(name + digits, bucket_endings[KV_BUCKET_META]) == 0);
}

bool kv_layout_named(enum kv_layout_kind kind, const char *name)
{
	switch (kind) {
	case KV_LAYOUT_HAUL:
		return strncmp(name, "block_", 6) == 0;
	case KV_LAYOUT_LMCACHE_FS:
	case KV_LAYOUT_LMCACHE_FS_NATIVE:
		return strstr(name, "@0x") && (name_ends(name, ".data") || name_ends(name, ".tmp"));
	case KV_LAYOUT_LMCACHE_S3:
		return strstr(name, "@0@");
	case KV_LAYOUT_VLLM_FS:
		return strstr(name, ".bin") && (name_ends(name, ".bin") || name_ends(name, ".tmp"));
	case KV_LAYOUT_VLLM_DISK:
		return strncmp(name, "blocks.rank_", 12) == 0;
	case KV_LAYOUT_LMCACHE_RAW_BLOCK:
		return strncmp(name, "raw_block.rank_", 15) == 0;
	case KV_LAYOUT_MOONCAKE_OFFSET:
		return strcmp(name, "kv_cache.data") == 0;
	case KV_LAYOUT_MOONCAKE_BUCKET:
		return bucket_named(name);
	case KV_LAYOUTS:
		break;
	}
	return false;
}
