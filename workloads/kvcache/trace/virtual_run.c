/* SPDX-License-Identifier: Apache-2.0 */
/* Run without I/O: see virtual_run.h. */
#include "workloads/kvcache/trace/virtual_run.h"

#include <errno.h>
#include <string.h>

#include "workloads/kvcache/tiers/entries.h"

static void trace_event_as(const struct trace_events *t, struct trace_row *row,
			   enum trace_operation operation, enum trace_phase phase, uint32_t tier)
{
	if (operation == TRACE_DELETE && !t->deletes)
		return;
	row->operation = operation;
	row->phase = phase;
	row->tier = tier;
	if (t->to)
		trace_write(t->to, row);
	else
		t->row(t->argument, row);
}

void trace_event(void *events, const struct kv_event *e)
{
	const struct trace_events *t = events;
	char key[KV_KEY_BYTES];
	struct trace_row row = {
		.ns = t->now_ns, .bytes = e->bytes, .key = key, .origin = t->origin};

	if (kv_id_kind(e->id) == KV_KEY_NAMED) {
		row.key = trace_names_text(t->names, e->id.low);
		row.key_length = strlen(row.key);
	} else {
		row.key_length = kv_key_text(key, e->id);
	}
	switch (e->kind) {
	case KV_EVENT_WRITE:
		trace_event_as(t, &row, TRACE_WRITE, TRACE_PREFILL, e->to);
		return;
	case KV_EVENT_READ:
		trace_event_as(t, &row, TRACE_READ, TRACE_DECODE, e->from);
		return;
	case KV_EVENT_DEMOTE:
		trace_event_as(t, &row, TRACE_READ, TRACE_EVICT, e->from);
		trace_event_as(t, &row, TRACE_WRITE, TRACE_EVICT, e->to);
		trace_event_as(t, &row, TRACE_DELETE, TRACE_EVICT, e->from);
		return;
	case KV_EVENT_PROMOTE: /* it has just been read */
		trace_event_as(t, &row, TRACE_WRITE, TRACE_EVICT, e->to);
		if (t->promotes_whole)
			trace_event_as(t, &row, TRACE_DELETE, TRACE_EVICT, e->from);
		return;
	case KV_EVENT_EVICT:
	case KV_EVENT_DELETE:
		trace_event_as(t, &row, TRACE_DELETE, TRACE_EVICT, e->from);
		return;
	}
}

/* An entry may be there already, or not be there. Returns -ENOMEM, or what does not end the run. */
static int through_request(struct through *t, const struct trace_row *row, struct kv_id id)
{
	switch ((enum trace_operation)row->operation) {
	case TRACE_WRITE:
		return kv_tiers_write(t->tiers, id, row->bytes);
	case TRACE_DELETE:
		return kv_tiers_delete(t->tiers, id);
	default:
		return kv_tiers_read(t->tiers, id);
	}
}

int through_next(struct through *t, struct err *err)
{
	struct trace_row row;
	uint32_t number;
	int rc = trace_next(t->from, &row, err);

	if (rc <= 0 || row.phase == TRACE_EVICT)
		return rc;
	rc = trace_names_add(t->names, row.key, row.key_length, &number);
	if (t->events)
		t->events->now_ns = row.ns;
	if (rc == 0)
		rc = through_request(t, &row, kv_id_make(KV_KEY_NAMED, 0, 0, number));
	return rc == -ENOMEM ? err_set(err, rc, "no memory for the entries of the trace") : 1;
}

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
