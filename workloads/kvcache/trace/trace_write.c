/* Writing traces of key-value caches: see trace.h. */
#include <stdio.h>
#include <string.h>

#include "core/text_writer.h"
#include "workloads/kvcache/tiers/key.h"
#include "workloads/kvcache/tiers/tiers.h"
#include "workloads/kvcache/trace/names.h"
#include "workloads/kvcache/trace/trace.h"

/* A row at most: its numbers and words, and a key of which each byte may be doubled and quoted. */
enum { TRACE_ROW_BYTES = 128 + 2 * TRACE_KEY_MAX, NS_PER_US = 1000, US_PER_S = 1000000 };

/* Quoted where it has a comma or a quote. */
static char *row_key(char *at, const struct trace_row *row)
{
	if (!strpbrk(row->key, ",\"\r\n"))
		return mempcpy(at, row->key, row->key_length);
	*at++ = '"';
	for (size_t i = 0; i < row->key_length; i++) {
		if (row->key[i] == '"')
			*at++ = '"';
		*at++ = row->key[i];
	}
	*at++ = '"';
	return at;
}

int trace_create(struct trace_writer *w, const char *path, bool force, struct err *err)
{
	static const char header[] = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\r\n";
	int rc;

	*w = (struct trace_writer){0};
	rc = text_writer_open(&w->text, path, force, err);
	if (rc == 0)
		text_writer_add(w->text, header, sizeof(header) - 1);
	return rc;
}

void trace_write(struct trace_writer *w, const struct trace_row *row)
{
	uint64_t us = row->ns / NS_PER_US;
	char text[TRACE_ROW_BYTES], *at = text;

	at = kv_key_number(at, us / US_PER_S, 1);
	*at++ = '.';
	at = kv_key_number(at, us % US_PER_S, 6);
	*at++ = ',';
	at = stpcpy(at, trace_operation_names[row->operation]);
	*at++ = ',';
	at = kv_key_number(at, row->bytes, 1);
	at = stpcpy(at, ",Tier-");
	at = kv_key_number(at, row->tier, 1);
	*at++ = ',';
	at = row_key(at, row);
	*at++ = ',';
	at = stpcpy(at, trace_phase_names[row->phase]);
	at = stpcpy(at, "\r\n");
	text_writer_add(w->text, text, (size_t)(at - text));
	w->rows++;
}

int trace_finish(struct trace_writer *w, const char *path, struct err *err)
{
	return text_writer_close(w->text, path, err);
}

static void trace_event_row(const struct trace_events *t, const struct trace_row *row)
{
	if (t->to)
		trace_write(t->to, row);
	else
		t->row(t->argument, row);
}

void trace_event(void *events, const struct kv_event *e)
{
	const struct trace_events *t = events;
	char key[KV_KEY_BYTES];
	struct trace_row row = {.ns = t->now_ns, .bytes = e->bytes, .key = key};

	if (kv_id_kind(e->id) == KV_KEY_NAMED) {
		row.key = kv_names_text(t->names, e->id.low);
		row.key_length = strlen(row.key);
	} else {
		row.key_length = kv_key_text(key, e->id);
	}
	row.tier = e->from;
	switch (e->kind) {
	case KV_EVENT_WRITE:
		row.operation = TRACE_WRITE;
		row.phase = TRACE_PREFILL;
		break;
	case KV_EVENT_READ:
		row.operation = TRACE_READ;
		row.phase = TRACE_DECODE;
		break;
	case KV_EVENT_DEMOTE:
		row.operation = TRACE_READ;
		row.phase = TRACE_EVICT;
		trace_event_row(t, &row);
		row.operation = TRACE_WRITE;
		row.tier = e->to;
		break;
	case KV_EVENT_PROMOTE: /* it has just been read */
		row.operation = TRACE_WRITE;
		row.phase = TRACE_EVICT;
		row.tier = e->to;
		break;
	case KV_EVENT_EVICT:
	case KV_EVENT_DELETE:
		return;
	}
	trace_event_row(t, &row);
}
