/* What tiers do, as rows of a trace: see events.h. */
#include "workloads/kvcache/trace/events.h"

#include <string.h>

#include "workloads/kvcache/tiers/key.h"
#include "workloads/kvcache/tiers/tiers.h"
#include "workloads/trace/names.h"

static void trace_event_row(const struct trace_events *t, const struct trace_row *row)
{
	if (t->to)
		trace_write(t->to, row);
	else
		t->row(t->argument, row);
}

static void trace_event_as(const struct trace_events *t, struct trace_row *row,
			   enum trace_operation operation, enum trace_phase phase, uint32_t tier)
{
	if (operation == TRACE_DELETE && !t->deletes)
		return;
	row->operation = operation;
	row->phase = phase;
	row->tier = tier;
	trace_event_row(t, row);
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
