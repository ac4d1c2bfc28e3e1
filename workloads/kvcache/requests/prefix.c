/* SPDX-License-Identifier: Apache-2.0 */
/* What caches of several sizes would find: see prefix.h. */
#include "workloads/kvcache/requests/prefix.h"

#include <errno.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "workloads/kvcache/requests/lru.h"

/* Lets all prompts through caches of the sizes from first to last. Returns 0 or a negative errno. */
static int prefix_pass(const struct kv_prompts_how *how, struct kv_prefix *out, unsigned first,
		       unsigned last, struct err *err)
{
	struct kv_lru caches[KV_PREFIX_SIZES] = {{.room = 0}};
	struct kv_prompt prompt = {.count = 0};
	struct kv_prompts p;
	int rc = kv_prompts_open(&p, how, err);

	out->requests = out->blocks = out->tokens = 0;
	out->block_tokens = p.block_tokens;
	for (unsigned i = first; rc == 0 && i <= last; i++)
		rc = kv_lru_init(&caches[i], out->size[i].room);
	while (rc == 0 && kv_prompts_due(&p) != KV_PROMPTS_NEVER) {
		rc = kv_prompts_next(&p, &prompt);
		out->requests++;
		out->blocks += prompt.count;
		out->tokens += prompt.context;
		for (unsigned i = first; rc == 0 && i <= last; i++) {
			uint32_t found = kv_lru_prompt(&caches[i], prompt.keys, prompt.count);

			rc = found == UINT32_MAX ? -ENOMEM : 0;
			out->size[i].found_blocks += found;
			out->size[i].found_tokens +=
				min_u64(found * p.block_tokens, prompt.context);
		}
	}
	if (rc == -ENOMEM)
		err_set(err, rc, "no memory for the blocks of the trace");
	if (first == 0)
		out->distinct = caches[0].entries.live;
	for (unsigned i = first; i <= last; i++)
		kv_lru_free(&caches[i]);
	kv_prompts_close(&p);
	free(prompt.keys);
	return rc;
}

int kv_prefix_of(const struct kv_prompts_how *how, struct kv_prefix *out, struct err *err)
{
	int rc;

	*out = (struct kv_prefix){.size = {{.room = UINT64_MAX}}};
	rc = prefix_pass(how, out, 0, 0, err);
	for (unsigned i = 1; i < KV_PREFIX_SIZES; i++)
		out->size[i].room = out->distinct >> i;
	return rc == 0 ? prefix_pass(how, out, 1, KV_PREFIX_SIZES - 1, err) : rc;
}
