/* Cold loads: the ranks of each node share the files to drop, and to look at. This happens before any rank reads, since
 * what the kernel reads ahead would be mistaken for an old copy. */
#include <errno.h>

#include "workloads/load/run.h"

static void load_cold_key(const void *argument, uint64_t number, uint32_t part,
			  char key[OBJECT_KEY_BYTES])
{
	const struct load_run *r = argument;

	(void)part;
	load_names_key(&r->names, r->options->folder, number, key);
}

/* Opens the file by requests that count nowhere. The reader reports one that is missing. */
static void load_look(struct load_run *r, struct residency *residency, uint64_t i)
{
	struct object o = {.size = 0};
	struct request req = {.op = REQ_OPEN, .object = &o};

	load_names_key(&r->names, r->options->folder, i, o.key);
	if (queue_do(&r->side, &req) < 0)
		return;
	residency_look(residency, &r->store, &o, 0, o.size);
	req = (struct request){.op = REQ_CLOSE, .object = &o};
	queue_do(&r->side, &req);
}

static void load_look_all(struct load_run *r)
{
	const struct rank_place *place = r->ctx->place;
	uint64_t *row = r->ctx->tally->rank_row;
	struct residency residency;

	residency_init(&residency, r->options->cold.evidence_bytes);
	for (uint64_t i = place->local_rank; i < r->names.count && !cold_ends(&r->cold);
	     i += place->local_ranks)
		load_look(r, &residency, i);
	row[LOAD_RESIDENT_SAMPLED_BYTES] += residency.sampled_bytes;
	row[LOAD_RESIDENT_BYTES] += residency.resident_bytes;
}

int load_cold_before(struct load_run *r, struct err *err)
{
	const struct cold_options *o = &r->options->cold;
	const struct cold_objects objects = {.store = &r->store,
					     .count = r->names.count,
					     .parts = 1,
					     .key = load_cold_key,
					     .argument = r};
	uint64_t *row = r->ctx->tally->rank_row, began_ns = clock_now(r->store.clock);
	int rc = 0;

	if (o->drop != DROP_NONE && (o->when != COLD_PHASE || !r->dropped))
		rc = cold_drop_all(&r->cold, &objects, err);
	r->dropped = true;
	row[LOAD_DROP_NS] += clock_now(r->store.clock) - began_ns;
	row[LOAD_STAYED_BYTES] = r->cold.stayed_bytes;
	if (rc == 0 && o->evidence_bytes && store_can(&r->store, BACKEND_CACHED))
		load_look_all(r);
	return rc;
}
