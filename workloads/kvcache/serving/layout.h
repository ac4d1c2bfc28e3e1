/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of blocks in a store: the names, temporary files and lookups of the cache servers that people run, as one table with
 * version and source. Pure functions; any thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_LAYOUT_H
#define HAUL_WORKLOADS_KVCACHE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/request.h"

enum { KV_ENDING_BYTES = 24 };
enum kv_layout_kind {
	KV_LAYOUT_HAUL,
	KV_LAYOUT_LMCACHE_FS,
	KV_LAYOUT_LMCACHE_S3,
	KV_LAYOUT_VLLM_FS,
	KV_LAYOUT_LMCACHE_FS_NATIVE,
	KV_LAYOUTS
};

struct kv_layout {
	const char *name, *version; /* version: "haul": its own, in 256 folders */
	/* Writes the key of a block below the folder. */
	void (*key)(const char *folder, const char *model, uint64_t block,
		    char key[OBJECT_KEY_BYTES]);
	/* What follows the name of a file that is not whole; NULL: the store's own way. draws: a
	 * number comes before it. */
	const char *temporary;
	bool draws;
	bool only_exists; /* a lookup does not ask for the size: access in place of stat */
	uint64_t lookups; /* of a request at a time; 0: all */
	uint32_t depth;   /* folders below FOLDER */
};
extern const struct kv_layout kv_layouts[KV_LAYOUTS];
extern const char *const kv_layout_names[]; /* ends in NULL */

/* The ending of a file that is not whole, with that number where the layout draws one; "": the
 * store's own. */
void kv_layout_ending(const struct kv_layout *l, uint32_t draw, char out[KV_ENDING_BYTES]);
/* Whether the last part of a name is that of a block in that layout, or of one that is not whole. */
bool kv_layout_named(enum kv_layout_kind kind, const char *name);

#endif
