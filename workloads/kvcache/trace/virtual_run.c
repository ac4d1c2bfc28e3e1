/* SPDX-License-Identifier: Apache-2.0 */
/* Run without I/O: see virtual_run.h. */
#include "workloads/kvcache/trace/virtual_run.h"

#include <errno.h>

#include "workloads/kvcache/tiers/key.h"

/* The time of the rows that follow, and who asks for what they do; request NULL: nobody. */
static void virtual_asks(struct virtual_run *r, uint64_t ns, const struct kv_request *request)
{
	if (!r->events)
		return;
	r->events->now_ns = r->epoch_ns + ns;
	r->events->origin = (struct trace_origin){.request = TRACE_NOBODY, .user = TRACE_NOBODY};
	if (!request)
		return;
	r->events->origin.request = request->number;
	r->events->origin.user = request->user;
}

static uint64_t virtual_bytes(const struct virtual_run *r, uint64_t tokens)
{
	return r->shards ? kv_model_shard_most(r->model, tokens, r->tensor)
			 : kv_model_even_bytes(r->model, tokens, r->tensor);
}

static int virtual_write(struct virtual_run *r, struct kv_id id, uint64_t tokens)
{
	int rc = kv_tiers_write(r->tiers, id, virtual_bytes(r, tokens));

	return rc == -ENOMEM ? rc : 0;
}

int virtual_run_fill(struct virtual_run *r, uint64_t fill_bytes, uint64_t fill_tokens)
{
	const struct kv_source_options *o = r->source->options;
	uint64_t bytes = virtual_bytes(r, fill_tokens), n;
	int rc = 0;

	virtual_asks(r, 0, NULL);
	for (n = 0; rc == 0 && bytes && n * bytes < fill_bytes; n++)
		rc = virtual_write(r, kv_id_make(KV_KEY_FILL, 0, 0, n), fill_tokens);
	if (o->mode != KV_MODE_DECODE)
		return rc;
	for (n = 0; rc == 0 && n < o->users * o->stored_per_user; n++)
		rc = virtual_write(r, kv_id_make(KV_KEY_STORED, 0, 0, n), o->stored_tokens);
	return rc;
}

static int virtual_request(struct virtual_run *r, const struct kv_request *request)
{
	struct kv_steps steps;
	struct kv_step step;
	bool hit = false;
	int rc = 0;

	kv_steps_begin(&steps, r->source, request);
	while (rc == 0 && kv_steps_next(&steps, hit, &step)) {
		switch (step.kind) {
		case KV_STEP_READ:
			hit = kv_tiers_read(r->tiers, step.id) >= 0;
			r->hits[step.cause] += hit;
			r->misses[step.cause] += !hit;
			break;
		case KV_STEP_WRITE:
			rc = virtual_write(r, step.id, step.tokens);
			break;
		case KV_STEP_DELETE:
			kv_tiers_delete(r->tiers, step.id);
			break;
		}
	}
	return rc;
}

bool virtual_run_over(const struct virtual_run *r)
{
	return (r->requests_most && r->requests >= r->requests_most) ||
	       kv_source_due(r->source) == KV_NEVER;
}

int virtual_run_until(struct virtual_run *r, uint64_t end_ns)
{
	struct kv_request request;
	int rc = 0;

	while (rc == 0 && !virtual_run_over(r) && kv_source_due(r->source) < end_ns) {
		kv_source_next(r->source, &request);
		virtual_asks(r, request.due_ns, &request);
		rc = virtual_request(r, &request);
		if (request.kind == KV_REQUEST_INGEST)
			continue;
		r->requests++;
		r->tokens += request.generate;
	}
	return rc;
}
