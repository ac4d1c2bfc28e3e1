/* SPDX-License-Identifier: Apache-2.0 */
/* What tiers do, as rows of a trace: see events.h. */
#include "workloads/kvcache/trace/events.h"

#include <errno.h>
#include <string.h>

#include "workloads/kvcache/tiers/key.h"
#include "workloads/kvcache/tiers/tiers.h"
#include "workloads/trace/names.h"

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
