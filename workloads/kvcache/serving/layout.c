/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of blocks in a store: see layout.h. */
#include "workloads/kvcache/serving/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/content/random.h"

/* Bits of LMCache's kv_rank: world << 24 | rank << 16 | local_world << 8 | local_rank. One rank of
 * one, since a rank of haul is a server. */
enum { LMCACHE_KV_RANK = 1 << 24 | 1 << 8, NAME_BYTES = 128 };

/* The model's name with each slash written as `slash`. */
static const char *layout_model(const char *model, const char *slash, char out[NAME_BYTES])
{
	size_t n = 0;

	for (; *model && n + strlen(slash) + 1 < NAME_BYTES; model++)
		n += (size_t)snprintf(out + n, NAME_BYTES - n, *model == '/' ? "%s" : "%.1s",
				      *model == '/' ? slash : model);
	out[n] = '\0';
	return out;
}

static void haul_key(const char *folder, const char *model, uint64_t block,
		     char key[OBJECT_KEY_BYTES])
{
	(void)model;
	snprintf(key, OBJECT_KEY_BYTES, "%s/%02" PRIx64 "/block_%016" PRIx64, folder, block >> 56,
		 block);
}

/* All in one folder. */
static void lmcache_fs_key(const char *folder, const char *model, uint64_t block,
			   char key[OBJECT_KEY_BYTES])
{
	char name[NAME_BYTES];

	snprintf(key, OBJECT_KEY_BYTES, "%s/%s@0x%08x@0@%" PRIx64 ".data", folder,
		 layout_model(model, "-SEP->", name), LMCACHE_KV_RANK, block);
}

static void lmcache_s3_key(const char *folder, const char *model, uint64_t block,
			   char key[OBJECT_KEY_BYTES])
{
	snprintf(key, OBJECT_KEY_BYTES, "%s/%s@%08x@0@%" PRIx64, folder, model, LMCACHE_KV_RANK,
		 block);
}

/* The hash of a block has 256 bits there; here its 64 bits are spread over as many. */
static void vllm_fs_key(const char *folder, const char *model, uint64_t block,
			char key[OBJECT_KEY_BYTES])
{
	uint64_t all = mix64(block), config = 0;
	char name[NAME_BYTES];

	layout_model(model, "_", name);
	for (const char *c = name; *c; c++)
		config = mix64(config ^ (uint8_t)*c);
	snprintf(key, OBJECT_KEY_BYTES,
		 "%s/%s_%012" PRIx64 "_r0/%03" PRIx64 "/%02" PRIx64 "_g0/%016" PRIx64 "%016" PRIx64
		 "%016" PRIx64 "%016" PRIx64 ".bin",
		 folder, name, config >> 16, all >> 52, all >> 44 & 0xff, all, block, mix64(all),
		 mix64(block ^ all));
}

const struct kv_layout kv_layouts[KV_LAYOUTS] = {
	[KV_LAYOUT_HAUL] = {"haul", "", haul_key, NULL, false, false, 0, 1},
	[KV_LAYOUT_LMCACHE_FS] = {"lmcache_fs", "LMCache, fs_l2_adapter.py @02ebd8bb, July 2026",
				  lmcache_fs_key, ".tmp", false, false, 1, 0},
	[KV_LAYOUT_LMCACHE_S3] = {"lmcache_s3", "LMCache, s3_l2_adapter.py @000e877, 2026",
				  lmcache_s3_key, NULL, false, false, 0, 0},
	[KV_LAYOUT_VLLM_FS] = {"vllm_fs", "vLLM, fs/manager.py @0255eea, July to September 2026",
			       vllm_fs_key, ".tmp", true, true, 0, 3},
	[KV_LAYOUT_LMCACHE_FS_NATIVE] = {"lmcache_fs_native",
					 "LMCache, connector.cpp @121206a, 2026", lmcache_fs_key,
					 ".tmp", false, false, 0, 0},
};
const char *const kv_layout_names[] = {[KV_LAYOUT_HAUL] = "haul",
				       [KV_LAYOUT_LMCACHE_FS] = "lmcache_fs",
				       [KV_LAYOUT_LMCACHE_S3] = "lmcache_s3",
				       [KV_LAYOUT_VLLM_FS] = "vllm_fs",
				       [KV_LAYOUT_LMCACHE_FS_NATIVE] = "lmcache_fs_native",
				       [KV_LAYOUTS] = NULL};

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
	case KV_LAYOUTS:
		break;
	}
	return false;
}
