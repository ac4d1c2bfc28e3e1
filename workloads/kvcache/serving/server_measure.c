/* SPDX-License-Identifier: Apache-2.0 */
/* From a server to the tally: see server.h. */
#include "core/time_ns.h"
#include "workloads/kvcache/serving/server.h"

/* How many of the prompt's first `blocks` are of its system prompt. */
static uint64_t measure_shared(const struct kv_prompt *p, uint32_t blocks)
{
	return min_u32(p->shared, blocks);
}

void kv_server_looked(struct kv_run *r, const struct kv_prefill *f)
{
	const struct kv_prompt *p = &f->prompt;
	uint64_t *row = r->ctx->tally->rank_row, found = f->found, all = p->count;
	bool recorded = p->user == UINT32_MAX;

	row[KV_BLOCKS_ASKED] += all;
	row[KV_BLOCKS_MEMORY] += f->memory;
	row[KV_BLOCKS_STORE] += found - f->memory;
	row[KV_HITS] += found;
	row[KV_MISSES] += all - found;
	row[KV_HIT_PROMPT] += measure_shared(p, f->found);
	row[KV_MISS_PROMPT] += measure_shared(p, p->count) - measure_shared(p, f->found);
	row[recorded ? KV_HIT_PREFILL : KV_HIT_TURN] += found - measure_shared(p, f->found);
	row[recorded ? KV_MISS_PREFILL : KV_MISS_TURN] +=
		all - found - measure_shared(p, p->count) + measure_shared(p, f->found);
	hist_record(&r->ctx->tally->hists[KV_HIST_LOOKUP], f->looked_ns - f->served_ns);
}

static void fetches_add(struct kv_fetches *f, double tokens, double ns)
{
	f->count++;
	f->tokens += tokens;
	f->ns += ns;
	f->tokens_tokens += tokens * tokens;
	f->tokens_ns += tokens * ns;
}

/* The line through the fetches. Returns false where they do not tell its slope. */
static bool fetches_line(const struct kv_fetches *f, double *fixed_ns, double *token_ns)
{
	double spread = f->count * f->tokens_tokens - f->tokens * f->tokens;

	if (f->count < 2 || spread < 1e-6 * f->tokens * f->tokens)
		return false;
	*token_ns = (f->count * f->tokens_ns - f->tokens * f->ns) / spread;
	*fixed_ns = (f->ns - *token_ns * f->tokens) / f->count;
	return true;
}

double kv_fetches_ns(const struct kv_fetches *f, double tokens)
{
	double fixed_ns, token_ns;

	if (fetches_line(f, &fixed_ns, &token_ns))
		return fixed_ns + token_ns * tokens;
	return f->tokens > 0 ? f->ns / f->tokens * tokens : -1;
}

uint64_t kv_fetches_pay(const struct kv_fetches *f, uint64_t prefill)
{
	double fixed_ns, token_ns, gain_ns;

	if (!prefill || !fetches_line(f, &fixed_ns, &token_ns))
		return UINT64_MAX;
	gain_ns = (double)NS_PER_S / (double)prefill - token_ns;
	if (gain_ns <= 0)
		return UINT64_MAX;
	return fixed_ns > 0 ? (uint64_t)(fixed_ns / gain_ns + 0.5) : 0;
}

void kv_server_first_token(struct kv_run *r, const struct kv_prefill *f)
{
	struct kv_server *s = r->server;
	uint64_t *row = r->ctx->tally->rank_row;
	struct hist *hists = r->ctx->tally->hists;
	uint64_t due_ns = r->start_ns + f->prompt.due_ns, ttft_ns = f->ends_ns - due_ns;
	uint64_t tokens = min_u64(f->fetched * s->prompts.block_tokens, f->prompt.context);
	uint64_t good_ns = s->options->good_ns;

	if (s->role == KV_ROLE_PREFILL) {
		row[KV_COMPUTE_NS] += f->missing_ns;
		return;
	}
	hist_record(&hists[KV_HIST_TTFT], ttft_ns);
	hist_record(&hists[KV_HIST_STALL], f->stall_ns);
	hist_record(&hists[KV_HIST_RECOMPUTE], f->missing_ns);
	row[KV_TTFT_NS] += ttft_ns;
	row[KV_STALL_NS] += f->stall_ns;
	row[KV_LOOKUP_NS] += f->looked_ns - f->served_ns;
	row[KV_COMPUTE_NS] += f->missing_ns;
	row[KV_CONTEXT_TOKENS] += f->prompt.context;
	row[KV_FETCHED_TOKENS] += tokens;
	row[KV_GOOD] += !good_ns || ttft_ns <= good_ns;
	if (s->options->prefill)
		row[KV_SAVED_NS] +=
			(uint64_t)((double)tokens * (double)NS_PER_S / (double)s->options->prefill);
	if (!f->fetched)
		return;
	hist_record(&hists[KV_HIST_FETCH], f->fetch_ns);
	row[KV_FETCH_NS] += f->fetch_ns;
	fetches_add(&s->fetches, (double)tokens, (double)f->fetch_ns);
}

void kv_server_served(struct kv_run *r, const struct kv_prefill *f)
{
	uint64_t *row = r->ctx->tally->rank_row;
	struct hist *hists = r->ctx->tally->hists;
	uint64_t due_ns = r->start_ns + f->prompt.due_ns, queue_ns = f->served_ns - due_ns;
	uint64_t storage_ns = f->looked_ns - f->served_ns + f->fetch_ns;

	row[KV_REQUESTS]++;
	row[KV_TOKENS] += f->prompt.generate;
	row[KV_QUEUE_NS] += queue_ns;
	row[KV_STORAGE_NS] += storage_ns;
	hist_record(&hists[KV_HIST_REQUEST], f->ends_ns - due_ns);
	hist_record(&hists[KV_HIST_REQUEST_QUEUE], queue_ns);
	hist_record(&hists[KV_HIST_REQUEST_STORAGE], storage_ns);
}

void kv_server_own(const struct kv_run *r, struct tally *t)
{
	const struct kv_server *s = r->server;
	uint64_t *row = t->rank_row, *tier = table_row(&t->tables[KV_TABLE_TIERS], 0), pays;

	if (s->prompts.recorded || s->options->arrive != KV_ARRIVE_CLOSED)
		row[KV_USERS] = 0;
	row[KV_WAITING_MOST] = s->waited_most;
	row[KV_START_UP_NS] = s->starting.ns;
	row[KV_START_UP_BLOCKS] = s->starting.blocks;
	row[KV_START_UP_LOST] = s->starting.lost;
	tier[KV_TIER_ENTRIES] += s->written.entries.live;
	tier[KV_TIER_USED_BYTES] += s->written.entries.live * s->block_bytes;
	pays = kv_fetches_pay(&s->fetches, s->options->prefill);
	row[KV_PAYS_TOKENS] = pays == UINT64_MAX ? 0 : max_u64(pays, 1);
}
