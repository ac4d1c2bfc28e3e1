/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan says of the profile serving: see server.h. */
#include <errno.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/uri.h"
#include "workloads/kvcache/requests/prefix.h"
#include "workloads/kvcache/serving/server.h"

enum { TELL_BLOCKS, TELL_BYTES, TELL_FOUND_BLOCKS, TELL_FOUND_TOKENS, TELL_COLUMNS };

static const struct plan_column tell_columns[TELL_COLUMNS] = {
	{"cache_blocks", ""}, {"cache_bytes", "bytes"}, {"blocks_found", ""}, {"tokens_found", ""}};

/* Without a limit, the cache has all blocks in the end. */
static int tell_sizes(const struct kv_prefix *p, uint64_t block_bytes, struct arena *arena,
		      struct plan_told *out, struct err *err)
{
	uint64_t *cells = arena_alloc(arena, KV_PREFIX_SIZES * TELL_COLUMNS * sizeof(*cells));

	if (!cells)
		return err_set(err, -ENOMEM, "no memory for a table");
	for (unsigned i = 0; i < KV_PREFIX_SIZES; i++) {
		uint64_t *row = cells + i * TELL_COLUMNS;

		row[TELL_BLOCKS] = i ? p->size[i].room : p->distinct;
		row[TELL_BYTES] = row[TELL_BLOCKS] * block_bytes;
		row[TELL_FOUND_BLOCKS] = p->size[i].found_blocks;
		row[TELL_FOUND_TOKENS] = p->size[i].found_tokens;
	}
	out->tables[out->table_count++] =
		(struct plan_rows){"caches", tell_columns, TELL_COLUMNS, KV_PREFIX_SIZES, cells};
	return 0;
}

int kv_server_tell(const struct kv_setup *s, uint64_t seed, const char *path, struct arena *arena,
		   struct plan_told *out, struct err *err)
{
	const struct kv_prompts_how how = {.source = &s->source,
					   .block_tokens = s->options->serving.block_tokens,
					   .context_max = s->options->serving.context_max,
					   .seed = seed,
					   .parts = 1,
					   .path = path};
	struct kv_prefix p;
	struct err none = {0};
	char file[URI_BYTES];
	int rc;

	plan_total_add(out, "token_bytes", "bytes", (double)kv_model_token_bytes(&s->model));
	if (!s->source.arrivals.file[0] ||
	    uri_expand(s->source.arrivals.file, NULL, file, &none) < 0 || access(file, R_OK) < 0)
		return 0;
	rc = kv_prefix_of(&how, &p, err);
	if (rc < 0)
		return rc;
	plan_total_add(out, "block_tokens", "", (double)p.block_tokens);
	plan_total_add(out, "blocks", "", (double)p.blocks);
	plan_total_add(out, "distinct_blocks", "", (double)p.distinct);
	if (p.blocks)
		plan_total_add(out, "prefix_hit_rate", "fraction",
			       (double)p.size[0].found_blocks / (double)p.blocks);
	return tell_sizes(&p, kv_model_bytes(&s->model, p.block_tokens), arena, out, err);
}
