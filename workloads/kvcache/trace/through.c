/* A trace as requests: see through.h. */
#include "workloads/kvcache/trace/through.h"

#include <errno.h>

#include "workloads/kvcache/tiers/key.h"

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
