/* SPDX-License-Identifier: Apache-2.0 */
/* What a cache of blocks would find of recorded prompts, by its size, without any I/O: each prompt finds its leading blocks that
 * are there, and then all of its blocks are used, in their order. The cache loses the block that was used least recently. All
 * ranks share it, so the answer does not depend on how many there are. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_PREFIX_H
#define HAUL_WORKLOADS_KVCACHE_PREFIX_H

#include "workloads/kvcache/requests/prompts.h"

/* Without a limit, and with 1/2, 1/4, 1/8 and 1/16 of the different blocks. */
enum { KV_PREFIX_SIZES = 5 };

struct kv_prefix {
	uint64_t requests, blocks, distinct, tokens, block_tokens;
	struct {
		uint64_t room; /* blocks */
		uint64_t found_blocks, found_tokens;
	} size[KV_PREFIX_SIZES];
};

/* how: as for kv_prompts_open, of a trace. Returns 0 or a negative errno with a sentence. */
int kv_prefix_of(const struct kv_prompts_how *how, struct kv_prefix *out, struct err *err);

#endif
