/* SPDX-License-Identifier: Apache-2.0 */
/* Serving requests: each takes its steps one after the other, waits for the operations of a step,
 * and at last for its tokens. */
#include "workloads/kvcache/phase.h"

#include <errno.h>

#include "workloads/kvcache/dispatch.h"
#include "workloads/kvcache/measures.h"
#include "workloads/kvcache/part.h"

static void serve_done(struct kv_run *r, struct kv_served *s)
{
	if (s->request.kind != KV_REQUEST_INGEST)
		kv_measure_request(r, s);
	kv_served_free(&r->serving, s);
}

void kv_serve_generated(struct kv_run *r)
{
	struct kv_served *s;

	while ((s = kv_served_generated(&r->serving, r->over ? UINT64_MAX : r->now_ns)))
		if (r->over)
			kv_served_free(&r->serving, s);
		else
			serve_done(r, s);
}

/* All steps have been taken. */
static void serve_generate(struct kv_run *r, struct kv_served *s)
{
	uint64_t ns = s->request.generate * r->setup.options->token_ns;

	if (ns && s->request.kind != KV_REQUEST_INGEST)
		kv_served_generate(&r->serving, s, r->now_ns + ns);
	else
		serve_done(r, s);
}

/* Only who makes room and writes needs a credit. Returns false where there is none. */
static bool serve_take_credit(struct kv_run *r, struct kv_served *s)
{
	if (!r->setup.options->allocations || s->step.kind != KV_STEP_WRITE || s->credit)
		return true;
	if (!r->serving.credits)
		return false;
	r->serving.credits--;
	s->credit = true;
	return true;
}

/* Asks the tiers. Returns whether the step is done, and false where operations or questions are
 * under way for it. */
static bool serve_ask(struct kv_run *r, struct kv_served *s)
{
	struct kv_id id = kv_part_id(r, s->step.id);
	uint64_t bytes;
	int rc = 0;

	switch (s->step.kind) {
	case KV_STEP_READ:
		rc = kv_tiers_read(&r->tiers, id);
		if (rc != -EINPROGRESS)
			kv_measure_found(r, s, rc >= 0);
		break;
	case KV_STEP_WRITE:
		bytes = kv_model_shard_most(&r->setup.model, s->step.tokens, r->setup.tensor);
		rc = kv_tiers_write(&r->tiers, id, bytes);
		break;
	case KV_STEP_DELETE:
		kv_tiers_delete(&r->tiers, id);
		break;
	}
	kv_dispatch_decided(r, s);
	if (rc == -ENOMEM)
		kv_run_fail(r, rc);
	if (s->under_way) {
		s->asked_ns = r->now_ns;
		return false;
	}
	kv_served_give_credit(&r->serving, s);
	return true;
}

/* Takes steps until one has to wait. */
static void serve_go_on(struct kv_run *r, struct kv_served *s)
{
	while (!r->over) {
		if (s->parked) {
			r->ctx->tally->rank_row[KV_CREDIT_NS] += r->now_ns - s->asked_ns;
		} else if (!kv_steps_next(&s->steps, s->hit, &s->step)) {
			serve_generate(r, s);
			return;
		}
		s->parked = !serve_take_credit(r, s);
		if (s->parked) {
			kv_served_park(&r->serving, s, r->now_ns);
			return;
		}
		if (!serve_ask(r, s))
			return;
	}
	kv_served_give_credit(&r->serving, s);
	kv_served_free(&r->serving, s);
}

bool kv_serve(struct kv_run *r)
{
	struct kv_serving *v = &r->serving;
	struct kv_request request;
	struct kv_served *s;
	bool any = false;

	while (!r->over && !list_empty(&v->free) && kv_waiting_take(&r->waiting, &request))
		kv_served_begin(v, &r->source, &request, r->now_ns);
	while (r->over && (s = kv_served_next(&v->parked)))
		kv_served_free(v, s);
	while ((s = kv_served_next(&v->ready))) {
		serve_go_on(r, s);
		any = true;
	}
	return any;
}
