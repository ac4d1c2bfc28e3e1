/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints within another phase. It may wait until a checkpoint is whole. Or it waits only until
 * the bytes have been copied, and for the checkpoint before; the threads then write while the phase
 * goes on. The copy goes through two windows and keeps nothing: the same traffic as a real one, in
 * bounded memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "workloads/checkpoint/run.h"

int checkpoint_within_open(struct checkpoint_run **out, struct phase_context *ctx,
			   const struct checkpoint_use *use, struct err *err)
{
	struct checkpoint_run *r = calloc(1, sizeof(*r));
	struct tally *part;
	int rc = group_agree(ctx->group, r ? 0 : err_set(err, -ENOMEM, "no memory"), err);

	*out = r;
	if (rc < 0 || !r)
		return rc;
	part = workload_part(ctx, "checkpoint", NULL, &checkpoint_schema, use->store->name, err);
	if (!part)
		return err->code ? err->code : -ENOMEM;
	r->within = *ctx;
	r->within.tally = part;
	r->within.measure_from = NULL;
	r->within.publish_every_ns = 0;
	r->within.snapshot = NULL;
	r->ctx = &r->within;
	r->options = use->options;
	r->described = use->store;
	r->crew.kind = "checkpoint";
	r->snapshot = use->snapshot;
	r->d2h = use->d2h;
	rc = checkpoint_open(r, err);
	r->repeat.at_once = true;
	if (rc < 0 || use->snapshot != CHECKPOINT_SNAPSHOT_COPY)
		return rc;
	r->windows = malloc(2 * r->chunk);
	if (r->windows)
		memset(r->windows, 1, 2 * r->chunk);
	return group_agree(ctx->group,
			   r->windows ? 0 : err_set(err, -ENOMEM, "no memory for a snapshot"), err);
}

/* Copies as many bytes as this rank writes, no faster than to the host. */
static void checkpoint_copy(struct checkpoint_run *r)
{
	uint64_t began_ns = clock_now(r->store.clock), weights, optimizer, bytes, done = 0, piece;

	checkpoint_rank_bytes(&r->shape, r->ctx->group->rank, &weights, &optimizer);
	bytes = weights + optimizer;
	while (done < bytes) {
		piece = min_u64(bytes - done, r->chunk);
		memcpy((char *)r->windows + r->chunk, r->windows, piece);
		done += piece;
		checkpoint_pace(r, began_ns, done);
	}
}

static int checkpoint_hold_thread(struct crew_thread *w, uint64_t thread)
{
	struct checkpoint_run *r = w->crew->argument;

	return thread < r->options->writers ? checkpoint_whole_make(r, thread) : 0;
}

/* Takes memory for all bytes of this rank and makes them there, no faster than they come to the
 * host. The threads that write do it, and write none of them yet: what it takes is no part of their
 * time. */
static int checkpoint_hold(struct checkpoint_run *r, struct err *err)
{
	int rc = checkpoint_whole_take(r, err);

	checkpoint_count_memory(r);
	if (rc == 0)
		rc = checkpoint_whole_lay_out(r, err);
	if (rc == 0)
		rc = crew_launch(&r->crew, checkpoint_hold_thread, err);
	if (rc == 0)
		rc = crew_land(&r->crew, false, err);
	for (uint64_t i = 0; i < r->options->writers; i++)
		r->members[i].writer.fill_ns = 0;
	return rc;
}

int checkpoint_within_land(struct checkpoint_run *r, bool halt, struct err *err)
{
	enum stop_reason stopped = halt ? STOP_SIGNAL : STOP_NONE;
	int rc;

	if (!r || !r->flies)
		return 0;
	rc = group_agree(r->ctx->group, crew_land(&r->crew, halt, err), err);
	r->flies = false;
	/* What was held is written. */
	checkpoint_whole_free(r);
	rc = checkpoint_write_end(r, rc, &stopped, err);
	r->within.tally->finished_ns = clock_date_ns(r->store.clock);
	if (rc == 0 && stopped == STOP_NONE)
		rc = checkpoint_remove_old(r, err);
	r->number++;
	return rc;
}

/* The next one begins when the one before is whole. */
static int checkpoint_within_launch(struct checkpoint_run *r, struct err *err)
{
	uint64_t asked_ns = clock_now(r->store.clock);
	enum stop_reason stopped = STOP_NONE;
	int rc = checkpoint_within_land(r, false, err), launched = 0;

	if (r->repeat.begun)
		account_skip(&r->repeat.accounts, clock_now(r->store.clock));
	if (rc == 0)
		rc = checkpoint_write_begin(r, err);
	if (rc < 0)
		return rc;
	r->asked_ns = asked_ns;
	if (r->snapshot == CHECKPOINT_SNAPSHOT_HOLD)
		launched = checkpoint_hold(r, err);
	else
		checkpoint_copy(r);
	r->repeat.start_ns = clock_now(r->store.clock);
	account_skip(&r->repeat.accounts, r->repeat.start_ns);
	if (launched == 0)
		launched = crew_launch(&r->crew, checkpoint_write_thread, err);
	rc = group_agree(r->ctx->group, launched, err);
	r->flies = rc == 0;
	r->blocked_ns = clock_now(r->store.clock) - asked_ns;
	if (rc == 0)
		return 0;
	/* Another rank has failed, perhaps. */
	if (launched == 0)
		crew_land(&r->crew, true, NULL);
	return checkpoint_write_end(r, rc, &stopped, err);
}

int checkpoint_within_write(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err)
{
	struct tally *part = r->within.tally;
	int rc;

	*stopped = STOP_NONE;
	if (!part->started_ns)
		part->started_ns = clock_date_ns(r->store.clock);
	if (r->snapshot != CHECKPOINT_SNAPSHOT_NONE)
		return checkpoint_within_launch(r, err);
	if (r->repeat.begun)
		account_skip(&r->repeat.accounts, clock_now(r->store.clock));
	rc = checkpoint_write_next(r, stopped, err);
	part->finished_ns = clock_date_ns(r->store.clock);
	r->number++;
	return rc;
}

bool checkpoint_within_flies(const struct checkpoint_run *r)
{
	return r && r->flies;
}

bool checkpoint_within_works(const struct checkpoint_run *r)
{
	return r && r->flies && crew_flies(&r->crew);
}

int checkpoint_within_end(struct checkpoint_run *r, struct err *err)
{
	return r ? checkpoint_purge_end(r, err) : 0;
}

void checkpoint_within_close(struct checkpoint_run *r)
{
	if (!r)
		return;
	if (r->flies)
		crew_land(&r->crew, true, NULL);
	if (r->crew.members && r->repeat.begun)
		checkpoint_measure(r);
	checkpoint_close(r);
	free(r->windows);
	free(r);
}
