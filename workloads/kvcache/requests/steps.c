/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a request: see steps.h. */
#include "workloads/kvcache/requests/steps.h"

#include <errno.h>
#include <stdlib.h>

#include "core/measure/hist.h"
#include "core/measure/quantile.h"
#include "workloads/kvcache/tiers/entries.h"

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
	uint64_t tokens = r->generate ? r->generate : 1;
	uint64_t batches = o->decode_reads ? (tokens + o->decode_batch - 1) / o->decode_batch : 0;
	struct kv_id id =
		o->mode == KV_MODE_DECODE ? kv_id_make(KV_KEY_STORED, 0, 0, r->stored) : r->id;

	if (o->mode == KV_MODE_PREFILL || r->kind == KV_REQUEST_PREFILL)
		return false;
	/* What this request has written is where it decodes. */
	if (!o->decode_reads && o->mode == KV_MODE_BOTH && r->kind != KV_REQUEST_DECODE)
		return false;
	if (s->next == 1)
		s->missed = !hit;
	if (s->next > (s->missed ? 1 : batches))
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

enum { DEMAND_USERS_MAX = 1024, DEMAND_REQUESTS_MAX = 1 << 16 };

struct demand_sums {
	const struct model *model;
	uint64_t read, written;
	uint64_t earlier[DEMAND_USERS_MAX]; /* bytes of the turns before this one */
	struct hist requests;               /* bytes, in place of ns */
};

/* The bytes of what a step reads. Each entry has its own: what is behind a window is not kept. */
static uint64_t demand_read(const struct demand_sums *d, const struct kv_steps *s,
			    const struct kv_step *step)
{
	const struct kv_source *source = s->source;
	const struct kv_request *r = s->request;

	switch (step->cause) {
	case KV_CAUSE_PROMPT:
		return kv_model_bytes(d->model, kv_source_prompt_tokens(source, r->prompt));
	case KV_CAUSE_TURN:
		/* All of them are counted with the first. */
		return s->next == 1 ? d->earlier[r->user] : 0;
	case KV_CAUSE_RETRIEVAL:
		return kv_model_bytes(d->model, kv_document_chunk_tokens(
							&source->documents, r->retrieval.document,
							r->retrieval.chunks[s->next - 1]));
	case KV_CAUSE_DECODE:
		return kv_model_bytes(d->model, source->options->mode == KV_MODE_DECODE
							? source->options->stored_tokens
							: s->context);
	case KV_CAUSE_PREFILL:
	case KV_CAUSE_INGEST:
	case KV_CAUSES:
		break;
	}
	return 0;
}

static void demand_count(struct demand_sums *d, const struct kv_source *s,
			 const struct kv_request *r)
{
	uint64_t read = 0, written = 0, entry = 0;
	struct kv_steps steps;
	struct kv_step step;

	if (r->turn == 1)
		d->earlier[r->user] = 0;
	kv_steps_begin(&steps, s, r);
	while (kv_steps_next(&steps, true, &step)) {
		if (step.kind == KV_STEP_READ)
			read += demand_read(d, &steps, &step);
		if (step.kind == KV_STEP_WRITE)
			written += kv_model_bytes(d->model, step.tokens);
		if (step.cause == KV_CAUSE_PREFILL)
			entry = kv_model_bytes(d->model, step.tokens);
	}
	if (r->turn)
		d->earlier[r->user] += entry;
	d->read += read;
	d->written += written;
	hist_record(&d->requests, read + written);
}

int kv_demand_of(const struct kv_source_options *options, const struct model *model, uint64_t seed,
		 uint64_t duration_ns, const char *path, struct kv_demand *out, struct err *err)
{
	struct kv_source_options few = *options;
	struct demand_sums *d;
	struct kv_request request;
	struct kv_source source;
	uint64_t last_ns = duration_ns;
	unsigned count = 0;
	int rc;

	*out = (struct kv_demand){0};
	if (options->arrivals.file[0])
		return 0;
	if (few.users > DEMAND_USERS_MAX)
		few.users = DEMAND_USERS_MAX;
	few.users_most = few.users;
	rc = kv_source_open(&source, &few, model, seed, 0, path, err);
	if (rc < 0)
		return rc;
	d = calloc(1, sizeof(*d));
	if (d)
		d->model = model;
	while (d && count < DEMAND_REQUESTS_MAX && kv_source_due(&source) < duration_ns) {
		kv_source_next(&source, &request);
		/* Documents are written before users ask for them. */
		if (request.kind == KV_REQUEST_INGEST)
			continue;
		demand_count(d, &source, &request);
		if (++count == DEMAND_REQUESTS_MAX)
			last_ns = request.due_ns;
	}
	if (d && count && last_ns) {
		double user_seconds = (double)few.users * (double)last_ns / 1e9;

		out->read = (double)d->read / user_seconds;
		out->written = (double)d->written / user_seconds;
		out->request = quantile_ns(&d->requests, QUANTILE_P95);
	}
	kv_source_close(&source);
	rc = d ? 0 : err_set(err, -ENOMEM, "no memory for the requests of users");
	free(d);
	return rc;
}
