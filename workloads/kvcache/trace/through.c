/* A trace as requests: see through.h. */
#include "workloads/kvcache/trace/through.h"

#include <errno.h>

#include "workloads/kvcache/tiers/key.h"

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
	if (rc == 0 && row.operation == TRACE_WRITE)
		rc = kv_tiers_write(t->tiers, kv_id_make(KV_KEY_NAMED, 0, 0, number), row.bytes);
	else if (rc == 0)
		rc = kv_tiers_read(t->tiers, kv_id_make(KV_KEY_NAMED, 0, 0, number));
	return rc == -ENOMEM ? err_set(err, rc, "no memory for the entries of the trace") : 1;
}
