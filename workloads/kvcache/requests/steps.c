/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a request: see steps.h. */
#include "workloads/kvcache/requests/steps.h"

#include "workloads/kvcache/tiers/key.h"

enum steps_part {
	PART_PROMPT,
	PART_TURNS,
	PART_PREFILL,
	PART_RETRIEVAL,
	PART_DECODE,
	PART_FORGET, /* of an ingest: the document that makes room */
	PART_INGEST,
	PART_END
};

static struct kv_step step_make(enum kv_step_kind kind, enum kv_step_cause cause, struct kv_id id,
				uint64_t tokens)
{
	return (struct kv_step){kind, cause, id, tokens};
}

static void steps_part(struct kv_steps *s, enum steps_part part)
{
	s->part = part;
	s->next = 0;
}

void kv_steps_begin(struct kv_steps *s, const struct kv_source *source,
		    const struct kv_request *request)
{
	*s = (struct kv_steps){.source = source, .request = request, .context = request->context};
	steps_part(s, request->kind == KV_REQUEST_INGEST ? PART_FORGET : PART_PROMPT);
}

static bool steps_prompt(struct kv_steps *s, bool hit, struct kv_step *out)
{
	const struct kv_source_options *o = s->source->options;
	uint32_t tokens, prompt = s->request->prompt;
	struct kv_id id = kv_id_make(KV_KEY_PROMPT, 0, 0, prompt);

	if (!prompt)
		return false;
	tokens = kv_source_prompt_tokens(s->source, prompt);
	switch (s->next++) {
	case 0:
		s->context = s->context > tokens ? s->context - tokens : 1;
		if (tokens < o->prefix.shortest)
			return false;
		*out = step_make(KV_STEP_READ, KV_CAUSE_PROMPT, id, 0);
		return true;
	case 1:
		if (hit || o->mode == KV_MODE_DECODE)
			return false;
		*out = step_make(KV_STEP_WRITE, KV_CAUSE_PROMPT, id, tokens);
		return true;
	default:
		return false;
	}
}

static bool steps_turns(struct kv_steps *s, struct kv_step *out)
{
	const struct kv_request *r = s->request;

	if (s->source->options->mode == KV_MODE_DECODE || s->next + 1 >= r->turn)
		return false;
	*out = step_make(KV_STEP_READ, KV_CAUSE_TURN,
			 kv_id_make(KV_KEY_TURN, r->user, ++s->next, r->conversation), 0);
	return true;
}

static bool steps_prefill(struct kv_steps *s, struct kv_step *out)
{
	if (s->source->options->mode == KV_MODE_DECODE || s->request->kind == KV_REQUEST_DECODE ||
	    s->next++)
		return false;
	*out = step_make(KV_STEP_WRITE, KV_CAUSE_PREFILL, s->request->id, s->context);
	return true;
}

static bool steps_retrieval(struct kv_steps *s, struct kv_step *out)
{
	const struct kv_retrieval *r = &s->request->retrieval;

	if (s->next >= r->count)
		return false;
	*out = step_make(KV_STEP_READ, KV_CAUSE_RETRIEVAL,
			 kv_id_make(KV_KEY_CHUNK, r->document, r->chunks[s->next++], 0), 0);
	return true;
}

/* The first read decides: a miss is followed by a write, a hit by a read per batch of tokens. */
static bool steps_decode(struct kv_steps *s, bool hit, struct kv_step *out)
{
	const struct kv_source_options *o = s->source->options;
	const struct kv_request *r = s->request;
	uint64_t batches = (r->generate + o->decode_batch - 1) / o->decode_batch;
	struct kv_id id =
		o->mode == KV_MODE_DECODE ? kv_id_make(KV_KEY_STORED, 0, 0, r->stored) : r->id;

	if (o->mode == KV_MODE_PREFILL || r->kind == KV_REQUEST_PREFILL)
		return false;
	if (s->next == 1)
		s->missed = !hit;
	if (s->next > (s->missed ? 1 : batches ? batches : 1))
		return false;
	if (s->next++ && s->missed) {
		*out = step_make(KV_STEP_WRITE, KV_CAUSE_PREFILL, id, s->context);
		return o->mode != KV_MODE_DECODE;
	}
	*out = step_make(KV_STEP_READ, KV_CAUSE_DECODE, id, 0);
	return true;
}

/* The chunks of a document: those of the one that is no longer held are deleted first. */
static bool steps_document(struct kv_steps *s, enum kv_step_kind kind, uint32_t document,
			   struct kv_step *out)
{
	const struct kv_documents *d = &s->source->documents;

	if (s->next >= kv_document_chunks(d, document))
		return false;
	*out = step_make(kind, KV_CAUSE_INGEST, kv_id_make(KV_KEY_CHUNK, document, s->next, 0),
			 kv_document_chunk_tokens(d, document, s->next));
	s->next++;
	return true;
}

static bool steps_forget(struct kv_steps *s, struct kv_step *out)
{
	uint64_t held = s->source->options->rag.held, document = s->request->retrieval.document;

	return held && document >= held &&
	       steps_document(s, KV_STEP_DELETE, (uint32_t)(document - held), out);
}

static bool steps_of_part(struct kv_steps *s, bool hit, struct kv_step *out)
{
	switch ((enum steps_part)s->part) {
	case PART_PROMPT:
		return steps_prompt(s, hit, out);
	case PART_TURNS:
		return steps_turns(s, out);
	case PART_PREFILL:
		return steps_prefill(s, out);
	case PART_RETRIEVAL:
		return steps_retrieval(s, out);
	case PART_DECODE:
		return steps_decode(s, hit, out);
	case PART_FORGET:
		return steps_forget(s, out);
	case PART_INGEST:
		return steps_document(s, KV_STEP_WRITE, s->request->retrieval.document, out);
	case PART_END:
		break;
	}
	return false;
}

bool kv_steps_next(struct kv_steps *s, bool hit, struct kv_step *out)
{
	while (s->part != PART_END) {
		if (steps_of_part(s, hit, out))
			return true;
		steps_part(s, s->part == PART_DECODE ? PART_END : s->part + 1);
	}
	return false;
}
