/* SPDX-License-Identifier: Apache-2.0 */
/* Request source of the profile mlperf-v3: see source.h. */
#include "workloads/kvcache/requests/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/numbers.h"
#include "core/time_ns.h"
#include "core/uri.h"

/* A model is large, and has shorter documents, from these dimensions on. */
enum { LARGE_HIDDEN = 8192, LARGE_LAYERS = 64 };
static const uint64_t small_tokens[] = {4000, 12000}, large_tokens[] = {1024, 4096};

static uint64_t documents_weight(const struct kv_documents *d, uint64_t chunk)
{
	return d->options->order == KV_RETRIEVE_ZIPF ? (1ull << 32) / (chunk + 1) : 1;
}

int kv_documents_open(struct kv_documents *d, const struct kv_rag_options *options,
		      const struct model *model, uint64_t seed, const char *path, struct err *err)
{
	bool large = model->hidden >= LARGE_HIDDEN || model->layers >= LARGE_LAYERS;
	const uint64_t *tokens = large ? large_tokens : small_tokens;
	uint64_t most = options->chunk_bytes / kv_model_token_bytes(model), chunks;

	*d = (struct kv_documents){.options = options, .seed = seed};
	d->tokens_min = options->tokens_min ? options->tokens_min : tokens[0];
	d->tokens_max = options->tokens_max ? options->tokens_max : tokens[1];
	d->chunk_tokens = options->chunk_tokens < most ? options->chunk_tokens : most;
	if (!d->chunk_tokens)
		d->chunk_tokens = 1;
	if (!options->documents)
		return 0;
	chunks = (d->tokens_max + d->chunk_tokens - 1) / d->chunk_tokens;
	if (chunks > KV_CHUNKS_MAX)
		return err_set(err, -EINVAL,
			       "%s/rag/chunk_tokens: a document has up to %" PRIu64
			       " chunks; at most %d are possible",
			       path, chunks, KV_CHUNKS_MAX);
	d->weights = malloc((chunks + 1) * sizeof(*d->weights));
	if (!d->weights)
		return err_set(err, -ENOMEM, "no memory for the documents");
	d->weights[0] = 0;
	for (uint64_t i = 0; i < chunks; i++)
		d->weights[i + 1] = d->weights[i] + documents_weight(d, i);
	return 0;
}

void kv_documents_close(struct kv_documents *d)
{
	free(d->weights);
	*d = (struct kv_documents){0};
}

static uint64_t document_tokens(const struct kv_documents *d, uint32_t document)
{
	return random_between(random_at(d->seed, document, 0), d->tokens_min, d->tokens_max);
}

uint64_t kv_document_chunks(const struct kv_documents *d, uint32_t document)
{
	return (document_tokens(d, document) + d->chunk_tokens - 1) / d->chunk_tokens;
}

uint64_t kv_document_chunk_tokens(const struct kv_documents *d, uint32_t document, uint32_t chunk)
{
	uint64_t rest = document_tokens(d, document) - chunk * d->chunk_tokens;

	return rest < d->chunk_tokens ? rest : d->chunk_tokens;
}

static bool retrieval_has(const struct kv_retrieval *r, uint32_t chunk)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (r->chunks[i] == chunk)
			return true;
	return false;
}

void kv_documents_retrieve(const struct kv_documents *d, uint32_t document, struct random *r,
			   struct kv_retrieval *out)
{
	uint64_t chunks = kv_document_chunks(d, document), left = d->weights[chunks];
	uint64_t wanted = d->options->retrieved < chunks ? d->options->retrieved : chunks;

	out->document = document;
	out->count = 0;
	while (out->count < wanted) {
		uint64_t at = random_between(random_next(r), 0, left - 1);
		uint32_t chunk = 0;

		for (;; chunk++) {
			if (retrieval_has(out, chunk))
				continue;
			if (at < documents_weight(d, chunk))
				break;
			at -= documents_weight(d, chunk);
		}
		out->chunks[out->count++] = chunk;
		left -= documents_weight(d, chunk);
	}
}

uint64_t kv_retrieval_tokens(const struct kv_documents *d, const struct kv_retrieval *r)
{
	uint64_t tokens = 0;

	for (uint32_t i = 0; i < r->count; i++)
		tokens += kv_document_chunk_tokens(d, r->document, r->chunks[i]);
	return tokens;
}

/* Streams of random numbers. */
static const uint64_t stream_users = 0x75736572, stream_lattice = 0x6c617474,
		      stream_documents = 0x646f6373, stream_arrivals = 0x61727269;

/* Fractional parts of the roots of 3, 5, 2, 7 and 13, in units of 2^-64. */
enum trait { TRAIT_TEMPLATE, TRAIT_CLASS, TRAIT_THINK, TRAIT_CONTEXT, TRAIT_GENERATE, TRAITS };
static const uint64_t lattice[TRAITS] = {0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu,
					 0x6a09e667f3bcc908u, 0xa54ff53a5f1d36f1u,
					 0x9b05688c2b3e6c1fu};

/* Bounds of random bits for choices with these shares; the last one gets what is left. */
static void source_bounds(uint64_t *bounds, const double *shares, size_t stride, uint32_t count)
{
	double sum = 0, before = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += *(const double *)((const char *)shares + i * stride);
	for (uint32_t i = 0; i < count; i++) {
		before += *(const double *)((const char *)shares + i * stride);
		bounds[i] = i + 1 < count ? random_bound(before / sum) : UINT64_MAX;
	}
}

int kv_source_open(struct kv_source *s, const struct kv_source_options *options,
		   const struct model *model, uint64_t seed, uint64_t epoch_ms, const char *path,
		   struct err *err)
{
	const struct kv_source_options *o = options;
	int rc;

	*s = (struct kv_source){.options = o, .seed = seed, .epoch_ms = epoch_ms};
	rc = kv_documents_open(&s->documents, &o->rag, model, random_at(seed, stream_documents, 0),
			       path, err);
	if (rc < 0)
		return rc;
	s->users = calloc(o->users_most, sizeof(*s->users));
	s->waiting.items = calloc(o->users_most, sizeof(*s->waiting.items));
	if (!s->users || !s->waiting.items) {
		kv_source_close(s);
		return err_set(err, -ENOMEM, "no memory for the users");
	}
	source_bounds(s->templates, &o->templates[0].share, sizeof(o->templates[0]),
		      o->template_count);
	source_bounds(s->classes, &o->classes[0].share, sizeof(o->classes[0]), o->class_count);
	s->conversation_ends = random_bound(o->conversation.end);
	s->has_prompt = o->prefix.enabled ? random_bound(o->prefix.probability) : 0;
	s->has_retrieval = o->rag.documents ? random_bound(o->rag.probability) : 0;
	if (!o->arrivals.file[0])
		kv_source_scale(s, (uint32_t)o->users, 0);
	return 0;
}

void kv_source_common(struct kv_source *s, uint64_t seed)
{
	s->documents.seed = random_at(seed, stream_documents, 0);
}

int kv_recorded_open(struct arrivals *a, const struct kv_arrivals_options *o, uint32_t part,
		     uint32_t parts, const char *path, struct err *err)
{
	const struct arrivals_window window = {.from_ns = o->from_ns,
					       .length_ns = o->window_ns,
					       .speed = o->speed,
					       .context_max = o->context_max,
					       .generate_max = o->generate_max,
					       .rate = o->rate,
					       .characters = o->characters,
					       .conversations_max = o->conversations,
					       .lenient = o->lenient,
					       .again = o->cycles - 1, /* 0: ARRIVALS_NEVER */
					       .part = part,
					       .parts = parts};
	char file[URI_BYTES];
	int rc = uri_expand(o->file, NULL, file, err);

	if (rc < 0)
		return err_wrap(err, rc, "%s/arrivals/file", path);
	rc = arrivals_open(a, file, NULL, 0, &window, err);
	return rc < 0 ? err_wrap(err, rc, "%s/arrivals/file: %s", path, file) : 0;
}

int kv_source_recorded(struct kv_source *s, uint32_t part, uint32_t parts, const char *path,
		       struct err *err)
{
	return kv_recorded_open(&s->arrivals, &s->options->arrivals, part, parts, path, err);
}

int kv_source_tell(const struct kv_source_options *o, const char *path,
		   char out[ARRIVALS_TEXTS][ARRIVALS_TEXT_BYTES], struct err *err)
{
	char file[URI_BYTES];
	struct err none = {0};
	struct arrivals a;
	int rc;

	for (int i = 0; i < ARRIVALS_TEXTS; i++)
		out[i][0] = '\0';
	if (!o->arrivals.file[0] || uri_expand(o->arrivals.file, NULL, file, &none) < 0 ||
	    access(file, R_OK) < 0)
		return 0;
	rc = kv_recorded_open(&a, &o->arrivals, 0, 1, path, err);
	if (rc < 0)
		return rc;
	arrivals_text(&a, out);
	arrivals_close(&a);
	return 0;
}

void kv_source_close(struct kv_source *s)
{
	kv_documents_close(&s->documents);
	arrivals_close(&s->arrivals);
	free(s->users);
	free(s->waiting.items);
	*s = (struct kv_source){0};
}

/* Users with the same time ask in the order of their numbers. */
static bool due_before(const void *a, const void *b)
{
	const struct kv_user *one = a, *other = b;

	return one->due_ns < other->due_ns || (one->due_ns == other->due_ns && one < other);
}

/* The user who asks next. */
static struct kv_user *source_first(const struct kv_source *s)
{
	return s->waiting.items[0];
}

static uint64_t user_draw(const struct kv_source *s, uint32_t user)
{
	return random_at(random_at(s->seed, stream_users, user), 0, s->users[user].draws++);
}

/* The trait of a user as 64 bits, uniform over the users. */
static uint64_t user_trait(const struct kv_source *s, uint32_t user, enum trait trait)
{
	return random_at(s->seed, stream_lattice, trait) + user * lattice[trait];
}

static uint8_t source_choice(const uint64_t *bounds, uint32_t count, uint64_t bits)
{
	uint32_t i = 0;

	while (i + 1 < count && bits >= bounds[i])
		i++;
	return (uint8_t)i;
}

static void user_make(struct kv_source *s, uint32_t user)
{
	const struct kv_source_options *o = s->options;
	struct kv_user *u = &s->users[user];
	const struct kv_template *t;

	u->template =
		source_choice(s->templates, o->template_count, user_trait(s, user, TRAIT_TEMPLATE));
	u->class = source_choice(s->classes, o->class_count, user_trait(s, user, TRAIT_CLASS));
	t = &o->templates[u->template];
	u->think_ns =
		random_between(user_trait(s, user, TRAIT_THINK), t->think_min_ns, t->think_max_ns);
	u->context = (uint32_t)random_between(user_trait(s, user, TRAIT_CONTEXT), t->context_min,
					      t->context_max);
	u->generate = (uint32_t)random_between(user_trait(s, user, TRAIT_GENERATE), t->generate_min,
					       t->generate_max);
}

/* 80 to 120 % of the time that the user thinks. */
static uint64_t user_pause(const struct kv_source *s, uint32_t user)
{
	uint64_t think_ns = s->users[user].think_ns;

	return random_between(user_draw(s, user), think_ns / 10 * 8, think_ns / 10 * 12);
}

/* Users who no longer ask leave the heap when they would have asked. */
static void source_drop(struct kv_source *s)
{
	while (s->waiting.count && source_first(s) >= s->users + s->active) {
		struct kv_user *left = heap_take(&s->waiting, due_before);

		left->waiting = false;
	}
}

void kv_source_scale(struct kv_source *s, uint32_t users, uint64_t now_ns)
{
	for (; s->made < users; s->made++)
		user_make(s, s->made);
	s->active = users;
	for (uint32_t i = 0; i < users; i++)
		if (!s->users[i].waiting) {
			s->users[i].due_ns = now_ns + user_pause(s, i);
			s->users[i].waiting = true;
			heap_add(&s->waiting, &s->users[i], due_before);
		}
	source_drop(s);
}

static bool source_ingests(const struct kv_source *s)
{
	return s->ingested < s->options->rag.documents;
}

uint64_t kv_source_due(const struct kv_source *s)
{
	if (source_ingests(s))
		return 0;
	if (s->extra)
		return s->next_extra.due_ns;
	if (s->arrivals.lines)
		return arrivals_due(&s->arrivals);
	return s->waiting.count ? source_first(s)->due_ns : KV_NEVER;
}

static void conversation_leave(struct kv_source *s, struct kv_user *u)
{
	list_remove(&s->by_last_turn, &u->conversation_link);
	s->conversations--;
}

/* The next turn of the user's conversation, or the first one of a new conversation. */
static void user_turn(struct kv_source *s, uint32_t user, uint64_t now_ns)
{
	const struct kv_conversation_options *o = &s->options->conversation;
	uint64_t now_ms = s->epoch_ms + now_ns / NS_PER_MS;
	struct kv_user *u = &s->users[user];
	bool ends = user_draw(s, user) < s->conversation_ends || u->turn >= o->turns;

	if (u->turn)
		conversation_leave(s, u);
	if (ends)
		u->turn = 0;
	if (!u->turn) {
		/* Two conversations of a user never have the same key. */
		u->conversation = max_u64(now_ms, u->conversation + 1);
		if (o->held && s->conversations >= o->held) {
			struct kv_user *oldest = list_member(s->by_last_turn.first, struct kv_user,
							     conversation_link);

			oldest->turn = 0;
			conversation_leave(s, oldest);
		}
	}
	u->turn++;
	list_append(&s->by_last_turn, &u->conversation_link);
	s->conversations++;
}

/* Some chunks of one of the documents that are still held. */
static void user_retrieve(struct kv_source *s, uint32_t user, struct kv_retrieval *out)
{
	const struct kv_rag_options *o = &s->options->rag;
	uint64_t first = o->held && o->documents > o->held ? o->documents - o->held : 0;
	struct random random = {.key = random_at(s->seed, stream_users, user),
				.counter = s->users[user].draws};
	uint64_t document = random_between(random_next(&random), first, o->documents - 1);

	kv_documents_retrieve(&s->documents, (uint32_t)document, &random, out);
	s->users[user].draws = random.counter;
}

/* What every request may have: a prompt that others share, chunks of a document; and what it reads
 * in a decode-only run. */
static void request_add(struct kv_source *s, struct kv_request *r)
{
	const struct kv_source_options *o = s->options;

	r->number = s->number++;
	if (s->has_prompt && user_draw(s, r->user) < s->has_prompt)
		r->prompt = 1 + (uint32_t)random_between(user_draw(s, r->user), 0,
							 o->prefix.prompts - 1);
	if (s->has_retrieval && user_draw(s, r->user) < s->has_retrieval)
		user_retrieve(s, r->user, &r->retrieval);
	if (o->mode == KV_MODE_DECODE)
		r->stored = (uint32_t)random_between(user_draw(s, r->user), 0,
						     o->users * o->stored_per_user - 1);
}

/* A request for a document: its context is what was retrieved of it. */
static void request_document(struct kv_source *s, const struct kv_request *asked)
{
	const struct kv_rag_options *o = &s->options->rag;
	struct kv_request *r = &s->next_extra;
	struct kv_retrieval chosen = {0};

	*r = (struct kv_request){.due_ns = asked->due_ns,
				 .user = asked->user,
				 .template = asked->template,
				 .class = asked->class,
				 .kind = KV_REQUEST_DECODE};
	user_retrieve(s, r->user, &chosen);
	r->id = kv_id_make(KV_KEY_DOCUMENT, chosen.document, 0, 0);
	r->context = (uint32_t)kv_retrieval_tokens(&s->documents, &chosen);
	r->generate =
		(uint32_t)random_between(user_draw(s, r->user), o->generate_min, o->generate_max);
	s->extra = true;
}

/* Between a quarter of it and all of it. */
static uint32_t user_length(const struct kv_source *s, uint32_t user, uint32_t length)
{
	return (uint32_t)random_between(user_draw(s, user), length / 4 ? length / 4 : 1, length);
}

static enum kv_request_kind request_kind(const struct kv_source *s, uint32_t context)
{
	return context >= s->options->prefill_from ? KV_REQUEST_PREFILL : KV_REQUEST_PREFILL_DECODE;
}

static void request_make(struct kv_source *s, uint32_t user, struct kv_request *r)
{
	const struct kv_source_options *o = s->options;
	struct kv_user *u = &s->users[user];

	*r = (struct kv_request){
		.due_ns = u->due_ns, .user = user, .template = u->template, .class = u->class};
	if (o->conversation.enabled)
		user_turn(s, user, u->due_ns);
	r->context = user_length(s, user, u->context);
	r->generate = user_length(s, user, u->generate);
	r->kind = request_kind(s, r->context);
	r->turn = u->turn;
	r->conversation = u->conversation;
	request_add(s, r);
	r->id = u->turn ? kv_id_make(KV_KEY_TURN, user, u->turn, u->conversation)
			: kv_id_make(KV_KEY_REQUEST, user, 0, r->number);
	if (s->has_retrieval && user_draw(s, user) < s->has_retrieval)
		request_document(s, r);
}

/* The user and the class of a recorded request are not recorded. A turn of a conversation has those
 * of the conversation. */
static void request_recorded(struct kv_source *s, struct kv_request *r)
{
	const struct kv_source_options *o = s->options;
	struct arrival row;
	uint64_t group;

	arrivals_next(&s->arrivals, &row);
	s->cut.requests += row.cut || row.cut_generate;
	s->cut.tokens += row.cut;
	s->cut.generate += row.cut_generate;
	group = row.turn ? row.conversation : row.number;
	*r = (struct kv_request){
		.due_ns = row.due_ns,
		.user = (uint32_t)(group % o->users),
		.class = source_choice(s->classes, o->class_count,
				       random_at(s->seed, stream_arrivals, group)),
		.context = (uint32_t)row.context,
		.generate = (uint32_t)row.generate,
		.kind = request_kind(s, (uint32_t)row.context),
	};
	if (o->conversation.enabled) {
		r->turn = row.turn;
		r->conversation = row.conversation;
	}
	request_add(s, r);
	r->id = r->turn ? kv_id_make(KV_KEY_TURN, r->user, r->turn, r->conversation)
			: kv_id_make(KV_KEY_REQUEST, r->user, 0, row.number);
	if (s->has_retrieval && user_draw(s, r->user) < s->has_retrieval)
		request_document(s, r);
}

void kv_source_next(struct kv_source *s, struct kv_request *out)
{
	struct kv_user *u;
	uint32_t user;

	if (source_ingests(s)) {
		*out = (struct kv_request){.kind = KV_REQUEST_INGEST};
		out->retrieval.document = s->ingested++;
		return;
	}
	if (s->extra) {
		*out = s->next_extra;
		request_add(s, out);
		s->extra = false;
		return;
	}
	if (s->arrivals.lines) {
		request_recorded(s, out);
		return;
	}
	u = source_first(s);
	user = (uint32_t)(u - s->users);
	request_make(s, user, out);
	u->due_ns += user_pause(s, user);
	heap_replace(&s->waiting, u, due_before);
	source_drop(s);
}

uint32_t kv_source_prompt_tokens(const struct kv_source *s, uint32_t prompt)
{
	const struct kv_prefix_options *o = &s->options->prefix;
	uint64_t steps = o->prompts > 1 ? o->prompts - 1 : 1;

	return (uint32_t)(o->tokens_min + (o->tokens_max - o->tokens_min) * (prompt - 1) / steps);
}
