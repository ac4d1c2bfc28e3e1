/* Cold reads of checkpoints: see cold.h. */
#include "workloads/checkpoint/cold.h"

#include "workloads/checkpoint/read.h"
#include <errno.h>
#include <stdio.h>

/* The walk over what this rank reads. */
struct checkpoint_look {
	struct checkpoint_run *run;
	int (*file)(struct checkpoint_look *x);
	struct residency residency;
	uint64_t rank; /* of the last range, and its file */
	uint32_t number;
	bool some;
	struct object object; /* that file's key */
	struct err *err;
};

/* Calls file once for all ranges of a file, which come together. */
static int checkpoint_look_range(void *argument, const struct checkpoint_range *g)
{
	struct checkpoint_look *x = argument;
	struct checkpoint_file f;

	if (x->some && x->rank == g->rank && x->number == g->file)
		return 0;
	if (cold_ends(&x->run->cold))
		return -ECANCELED;
	x->some = true;
	x->rank = g->rank;
	x->number = g->file;
	checkpoint_file(&x->run->shape, g->rank, g->file, &f);
	x->object = (struct object){.size = 0};
	marker_file_key(x->run->options->folder, x->run->number, &f, x->object.key);
	return x->file(x);
}

static int checkpoint_drop_file(struct checkpoint_look *x)
{
	int64_t stayed = store_evict(&x->run->store, &x->object, 0, 0);

	/* The reader reports a missing file when it comes to it. */
	if (stayed < 0 && stayed != -ENOENT)
		return err_set(x->err, (int)stayed, "%s/%s: its pages could not be dropped: %s",
			       x->run->store.uri, x->object.key, request_status_text((int)stayed));
	if (stayed > 0)
		x->run->cold.stayed_bytes += (uint64_t)stayed;
	return 0;
}

static int checkpoint_look_file(struct checkpoint_look *x)
{
	struct queue *q = &x->run->side;
	struct request req = {.op = REQ_OPEN, .object = &x->object};

	if (queue_do(q, &req) < 0)
		return 0; /* the reader reports it */
	residency_look(&x->residency, &x->run->store, &x->object, 0, x->object.size);
	req = (struct request){.op = REQ_CLOSE, .object = &x->object};
	queue_do(q, &req);
	return 0;
}

static int checkpoint_cold_drop(struct checkpoint_run *r, struct err *err)
{
	struct checkpoint_look x = {.run = r, .file = checkpoint_drop_file, .err = err};
	int rc;

	if (r->options->cold.drop == DROP_CACHES)
		return cold_drop_caches(&r->cold, err);
	rc = checkpoint_read_walk(r, checkpoint_look_range, &x);
	return group_agree(r->ctx->group, rc == -ECANCELED ? 0 : rc, err);
}

/* All checkpoints at once, before the first one is read. */
static int checkpoint_cold_drop_all(struct checkpoint_run *r, struct err *err)
{
	uint64_t number = r->number;
	int rc = 0;

	if (r->dropped)
		return 0;
	r->dropped = true;
	if (r->options->cold.drop == DROP_CACHES)
		return checkpoint_cold_drop(r, err);
	for (; rc == 0 && r->number < r->options->count; r->number++)
		rc = checkpoint_cold_drop(r, err);
	r->number = number;
	return rc;
}

int checkpoint_cold_before(struct checkpoint_run *r, struct err *err)
{
	const struct cold_options *o = &r->options->cold;
	struct checkpoint_look x = {.run = r, .file = checkpoint_look_file, .err = err};
	uint64_t *row = r->ctx->tally->rank_row, began_ns = clock_now(r->store.clock);
	int rc = 0;

	if (o->drop != DROP_NONE)
		rc = o->when == COLD_PHASE ? checkpoint_cold_drop_all(r, err)
					   : checkpoint_cold_drop(r, err);
	row[CHECKPOINT_DROP_NS] += clock_now(r->store.clock) - began_ns;
	row[CHECKPOINT_STAYED_BYTES] = r->cold.stayed_bytes;
	if (rc < 0 || !o->evidence_bytes || !store_can(&r->store, BACKEND_CACHED))
		return rc;
	residency_init(&x.residency, o->evidence_bytes);
	checkpoint_read_walk(r, checkpoint_look_range, &x);
	row[CHECKPOINT_RESIDENT_SAMPLED_BYTES] += x.residency.sampled_bytes;
	row[CHECKPOINT_RESIDENT_BYTES] += x.residency.resident_bytes;
	return 0;
}
