/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts of the profile serving: see prompts.h. */
#include "workloads/kvcache/requests/prompts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/kvcache/requests/source.h"

static const uint64_t stream_talkers = 0x74616c6b, stream_arrive = 0x61727276,
		      stream_prompts = 0x70726f6d, stream_text = 0x74657874;

/* Requests so far apart that nobody waits for the next one. */
static const double gap_most_s = 1e9;

static uint64_t talker_draw(const struct kv_prompts *p, uint32_t user)
{
	uint64_t key = random_at(p->how.seed, stream_talkers + p->how.part, user);

	return random_at(key, 0, p->talkers[user].draws++);
}

static const struct kv_template *talker_template(const struct kv_prompts *p, uint32_t user)
{
	return &p->how.source->templates[p->talkers[user].template];
}

static uint64_t talker_think(const struct kv_prompts *p, uint32_t user)
{
	const struct kv_template *t = talker_template(p, user);

	return random_between(talker_draw(p, user), t->think_min_ns, t->think_max_ns);
}

static bool talker_before(const void *a, const void *b)
{
	const struct kv_talker *one = a, *other = b;

	return one->due_ns < other->due_ns || (one->due_ns == other->due_ns && one < other);
}

/* Users are of the templates in proportion to their shares, each part of the list alike. */
static uint8_t talker_choose(const struct kv_source_options *o, uint32_t user)
{
	double all = 0, at;
	uint8_t i = 0;

	for (uint32_t k = 0; k < o->template_count; k++)
		all += o->templates[k].share;
	at = all * random_unit(user * UINT64_C(0xbb67ae8584caa73b));
	while (i + 1u < o->template_count && at >= o->templates[i].share)
		at -= o->templates[i++].share;
	return i;
}

static int prompts_open_users(struct kv_prompts *p, struct err *err)
{
	const struct kv_source_options *o = p->how.source;

	p->talkers = calloc(o->users, sizeof(*p->talkers));
	p->thinking.items = calloc(o->users, sizeof(*p->thinking.items));
	if (!p->talkers || !p->thinking.items)
		return err_set(err, -ENOMEM, "no memory for the users");
	for (uint32_t user = 0; user < o->users; user++) {
		p->talkers[user].template = talker_choose(o, user);
		if (p->how.arrive != KV_ARRIVE_CLOSED)
			continue;
		p->talkers[user].due_ns =
			random_between(talker_draw(p, user), 0, talker_think(p, user));
		heap_add(&p->thinking, &p->talkers[user], talker_before);
	}
	return 0;
}

/* From one request to the next, on average 1 / rate. */
static uint64_t prompts_gap(const struct kv_prompts *p)
{
	uint64_t bits = random_at(random_at(p->how.seed, stream_arrive, p->how.part), 0, p->number);
	double gap_s = 1 / p->how.rate;

	if (p->how.arrive == KV_ARRIVE_POISSON)
		gap_s *= -log1p(-random_unit(bits));
	return (uint64_t)((gap_s < gap_most_s ? gap_s : gap_most_s) * (double)NS_PER_S);
}

int kv_prompts_open(struct kv_prompts *p, const struct kv_prompts_how *how, struct err *err)
{
	int rc = 0;

	*p = (struct kv_prompts){
		.how = *how, .recorded = how->source->arrivals.file[0], .conversation = UINT64_MAX};
	if (p->recorded)
		rc = kv_recorded_open(&p->arrivals, &how->source->arrivals, how->part, how->parts,
				      how->path, err);
	else
		rc = prompts_open_users(p, err);
	if (rc == 0 && kv_entries_init(&p->sessions, sizeof(struct kv_session)) < 0)
		rc = err_set(err, -ENOMEM, "no memory for sessions");
	if (rc < 0)
		return rc;
	p->block_tokens = how->block_tokens;
	if (!p->block_tokens && p->recorded)
		p->block_tokens = arrivals_block_tokens(&p->arrivals);
	if (!p->block_tokens)
		p->block_tokens = KV_BLOCK_TOKENS;
	if (!p->recorded && how->arrive != KV_ARRIVE_CLOSED)
		p->due_ns = prompts_gap(p);
	return 0;
}

void kv_prompts_close(struct kv_prompts *p)
{
	if (p->recorded)
		arrivals_close(&p->arrivals);
	free(p->talkers);
	free(p->thinking.items);
	kv_entries_free(&p->sessions);
	*p = (struct kv_prompts){.number = 0};
}

uint64_t kv_prompts_due(const struct kv_prompts *p)
{
	if (p->recorded)
		return arrivals_due(&p->arrivals);
	if (p->how.arrive != KV_ARRIVE_CLOSED)
		return p->due_ns;
	return p->thinking.count ? ((const struct kv_talker *)p->thinking.items[0])->due_ns
				 : KV_PROMPTS_NEVER;
}

static int prompt_room(struct kv_prompt *out, uint64_t blocks)
{
	uint64_t *keys;

	if (blocks <= out->room)
		return 0;
	keys = realloc(out->keys, blocks * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	out->keys = keys;
	out->room = (uint32_t)blocks;
	return 0;
}

/* Adds the keys of the full blocks of so many tokens to those that are there. shared: tokens of a
 * system prompt; then those of the conversation follow. */
static int prompt_keys(const struct kv_prompts *p, struct kv_prompt *out, uint64_t tokens,
		       uint64_t shared, uint64_t shared_text, uint64_t own_text)
{
	uint64_t blocks = tokens / p->block_tokens, key = p->block_tokens;
	int rc = prompt_room(out, blocks);

	if (rc < 0)
		return rc;
	if (out->count)
		key = out->keys[out->count - 1];
	for (uint64_t i = out->count; i < blocks; i++) {
		bool common = (i + 1) * p->block_tokens <= shared;

		key = mix64(key ^ random_at(common ? shared_text : own_text, stream_text, i));
		out->keys[i] = key;
	}
	out->count = (uint32_t)blocks;
	return 0;
}

static uint64_t talker_prompt_tokens(const struct kv_prompts *p, uint32_t prompt)
{
	const struct kv_prefix_options *o = &p->how.source->prefix;

	return prompt ? random_between(random_at(p->how.seed, stream_prompts, prompt),
				       o->tokens_min, o->tokens_max)
		      : 0;
}

/* The next turn of the user's conversation says so many tokens more; or a new conversation
 * begins. */
static void talker_turn(struct kv_prompts *p, uint32_t user, uint64_t tokens)
{
	const struct kv_source_options *o = p->how.source;
	const struct kv_conversation_options *c = &o->conversation;
	struct kv_talker *t = &p->talkers[user];
	bool begins = !t->turn || !c->enabled || t->turn >= c->turns ||
		      random_unit(talker_draw(p, user)) < c->end ||
		      t->tokens + tokens > p->how.context_max;

	if (begins) {
		t->conversation++;
		t->turn = 0;
		t->prompt = 0;
		if (o->prefix.enabled && random_unit(talker_draw(p, user)) < o->prefix.probability)
			t->prompt = 1 + (uint32_t)random_between(talker_draw(p, user), 0,
								 o->prefix.prompts - 1);
		t->tokens = talker_prompt_tokens(p, t->prompt);
	}
	t->turn++;
	t->tokens += tokens;
}

static int talker_keys(const struct kv_prompts *p, struct kv_prompt *out, uint64_t tokens)
{
	uint64_t who = random_at(p->how.seed, stream_talkers + p->how.part, out->user);
	uint64_t shared = talker_prompt_tokens(p, out->prompt);

	out->shared = (uint32_t)(min_u64(shared, tokens) / p->block_tokens);
	return prompt_keys(p, out, tokens, shared,
			   random_at(p->how.seed, stream_prompts, out->prompt),
			   random_at(who, 1, out->conversation));
}

static int prompts_ask(struct kv_prompts *p, struct kv_prompt *out)
{
	const struct kv_template *t;
	uint32_t user;

	if (p->how.arrive == KV_ARRIVE_CLOSED) {
		struct kv_talker *first = heap_take(&p->thinking, talker_before);

		user = (uint32_t)(first - p->talkers);
		out->due_ns = first->due_ns;
	} else {
		user = (uint32_t)(p->number % p->how.source->users);
		out->due_ns = p->due_ns;
	}
	out->user = user;
	out->number = p->number++;
	t = talker_template(p, user);
	talker_turn(p, user, random_between(talker_draw(p, user), t->context_min, t->context_max));
	out->context = p->talkers[user].tokens;
	out->generate = random_between(talker_draw(p, user), t->generate_min, t->generate_max);
	out->prompt = p->talkers[user].prompt;
	out->conversation = p->talkers[user].conversation;
	out->count = 0;
	/* The answer is part of the next turn's prompt. */
	p->talkers[user].tokens += out->generate;
	if (p->how.arrive != KV_ARRIVE_CLOSED)
		p->due_ns += prompts_gap(p);
	return talker_keys(p, out, out->context);
}

/* The text of a session that a prompt of so many tokens has. */
static int session_text(struct kv_prompts *p, const struct arrival *row, uint64_t *text)
{
	const struct kv_id id = kv_id_make(KV_KEY_NAMED, 0, 0, row->session);
	uint32_t number = kv_entries_find(&p->sessions, id);
	struct kv_session *s;

	if (number == KV_NONE)
		number = kv_entries_add(&p->sessions, id);
	if (number == KV_NONE)
		return -ENOMEM;
	s = kv_entries_at(&p->sessions, number);
	s->begun += row->context + row->cut < s->said;
	s->said = row->context + row->cut + row->generate + row->cut_generate;
	*text = random_at(random_at(p->how.seed, stream_text + 2, row->session), 0, s->begun);
	return 0;
}

/* A recorded request: its blocks are those of the trace, or of its conversation, or its own. */
static int prompts_read(struct kv_prompts *p, struct kv_prompt *out)
{
	struct arrivals *a = &p->arrivals;
	struct arrival row;
	uint64_t text;
	int rc;

	arrivals_next(a, &row);
	out->number = row.number;
	out->due_ns = row.due_ns;
	out->user = UINT32_MAX;
	out->context = row.context;
	out->generate = row.generate;
	out->shared = out->count = 0;
	if (a->taken_ids.count) {
		uint64_t tokens = max_u64(arrivals_block_tokens(a), 1);

		/* Where a long context is cut, so are its blocks. */
		rc = prompt_room(out, a->taken_ids.count);
		if (rc < 0)
			return rc;
		memcpy(out->keys, a->taken_ids.id, a->taken_ids.count * sizeof(*out->keys));
		out->count = min_u32(a->taken_ids.count,
				     (uint32_t)((out->context + tokens - 1) / tokens));
		return a->rc;
	}
	if (row.session) {
		rc = session_text(p, &row, &text);
		if (rc == 0)
			rc = prompt_keys(p, out, out->context, 0, 0, text);
		return rc < 0 ? rc : a->rc;
	}
	/* A turn has only its own tokens; its prompt is all that was said before, too. */
	if (row.turn && row.conversation == p->conversation)
		out->context += p->tokens;
	p->conversation = row.conversation;
	p->tokens = out->context + row.generate;
	rc = prompt_keys(p, out, out->context, 0, 0,
			 random_at(p->how.seed, stream_text + 1,
				   row.turn ? row.conversation << 1 : row.number << 1 | 1));
	return rc < 0 ? rc : a->rc;
}

int kv_prompts_next(struct kv_prompts *p, struct kv_prompt *out)
{
	return p->recorded ? prompts_read(p, out) : prompts_ask(p, out);
}

int kv_prompt_answer(const struct kv_prompts *p, struct kv_prompt *prompt)
{
	return p->recorded ? 0 : talker_keys(p, prompt, prompt->context + prompt->generate);
}

void kv_prompts_answered(struct kv_prompts *p, const struct kv_prompt *prompt, uint64_t now_ns)
{
	struct kv_talker *t;

	if (p->recorded || p->how.arrive != KV_ARRIVE_CLOSED)
		return;
	t = &p->talkers[prompt->user];
	t->due_ns = now_ns + talker_think(p, prompt->user);
	heap_add(&p->thinking, t, talker_before);
}
