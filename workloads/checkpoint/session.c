/* SPDX-License-Identifier: Apache-2.0 */
/* A run of checkpoints: see run.h. */
#include "core/numbers.h"

#include <errno.h>
#include <stdlib.h>

#include "workloads/checkpoint/run.h"
#include "workloads/common/options.h"

static const struct meter_map checkpoint_maps[] = {
	{REQ_WRITE, METER_NONE, CHECKPOINT_HIST_WRITE, METER_NONE,
	 CHECKPOINT_HIST_WRITE_FIRST_ATTEMPT},
	{REQ_READ, METER_NONE, CHECKPOINT_HIST_READ, METER_NONE,
	 CHECKPOINT_HIST_READ_FIRST_ATTEMPT},
	{REQ_BEGIN, METER_NONE, CHECKPOINT_HIST_BEGIN, METER_NONE, METER_NONE},
	{REQ_COMMIT, METER_NONE, CHECKPOINT_HIST_COMMIT, METER_NONE, METER_NONE},
	{REQ_OPEN, METER_NONE, CHECKPOINT_HIST_OPEN, METER_NONE, METER_NONE},
	{REQ_DELETE, CHECKPOINT_REMOVED, CHECKPOINT_HIST_DELETE, METER_NONE, METER_NONE},
};

static const int checkpoint_own[] = {CHECKPOINT_HIST_CONSOLIDATE_WRITE};

static const struct meter_layout checkpoint_meter = {
	METER_MAPS(checkpoint_schema, checkpoint_maps),
	.own = checkpoint_own,
	.own_count = COUNT(checkpoint_own),
	.sync = CHECKPOINT_HIST_SYNC,
	.publish = CHECKPOINT_HIST_PUBLISH,
	.live_op = REQ_WRITE,
};

/* Collective, as is all that it calls. */
static int checkpoint_write_all(struct checkpoint_run *r, enum stop_reason *stopped,
				struct err *err)
{
	const struct checkpoint_options *o = r->options;
	int rc = 0;

	r->crew.kind = "checkpoint, writing";
	for (r->number = 0; rc == 0 && *stopped == STOP_NONE && r->number < o->count; r->number++) {
		if (r->number)
			rc = repeat_pause(&r->repeat, o->pause_ns, stopped, err);
		if (rc == 0 && *stopped == STOP_NONE)
			rc = checkpoint_write_next(r, stopped, err);
	}
	return rc;
}

static int checkpoint_read_all(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err)
{
	const struct checkpoint_options *o = r->options;
	int rc = 0;

	r->crew.kind = "checkpoint, reading";
	for (r->number = 0; rc == 0 && *stopped == STOP_NONE && r->number < o->count; r->number++) {
		if (r->number || r->repeat.begun)
			rc = repeat_pause(&r->repeat, o->pause_ns, stopped, err);
		if (rc == 0 && *stopped == STOP_NONE)
			rc = checkpoint_read_next(r, stopped, err);
	}
	return rc;
}

int checkpoint_all(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err)
{
	int rc = 0;

	if (checkpoint_writes(r->options))
		rc = checkpoint_write_all(r, stopped, err);
	if (rc == 0)
		rc = checkpoint_purge_end(r, err);
	if (rc == 0 && *stopped == STOP_NONE && checkpoint_reads(r->options))
		rc = checkpoint_read_all(r, stopped, err);
	return rc;
}

/* The ring of the rank, shared among its writers, and then among its readers. */
static int checkpoint_open_ring(struct checkpoint_run *r, struct err *err)
{
	const struct checkpoint_options *o = r->options;
	uint32_t pieces = (uint32_t)(o->buffers / o->chunk), depth = backend_depth(r->described);

	r->chunk = o->chunk;
	r->window_bytes = queue_buffer_bytes(&r->store, r->chunk);
	if (checkpoint_writes(o) && o->writers) {
		r->write_pieces = pieces / (uint32_t)o->writers;
		/* One is made while the others are written. */
		r->write_depth = min_u32(r->write_pieces > 1 ? r->write_pieces - 1 : 1, depth);
	}
	if (checkpoint_reads(o) && o->readers)
		r->read_pieces = min_u32(pieces / (uint32_t)o->readers, depth);
	return buffers_init(&r->ring, r->content && checkpoint_has_ring(o, r->snapshot) ? 1 : 0,
			    pieces * r->window_bytes, err);
}

static int checkpoint_open_threads(struct checkpoint_run *r, struct err *err)
{
	const struct checkpoint_options *o = r->options;
	bool whole = checkpoint_is_whole(o, r->snapshot);
	bool fills = (r->content || whole) && checkpoint_writes(o);
	int rc = fillers_open(&r->fillers, fills ? (uint32_t)o->fillers : 0, r->crew.threads,
			      r->store.clock, err);

	r->members = calloc(r->crew.threads, sizeof(*r->members));
	if (!r->members)
		return err_set(err, -ENOMEM, "no memory for %u threads", r->crew.threads);
	if (rc == 0 && checkpoint_writes(o))
		rc = checkpoint_write_open(r, err);
	for (uint32_t i = 0; rc == 0 && i < r->crew.threads; i++) {
		queue_memory(&r->crew.members[i].queue, r->ring.base, r->ring.mapped_bytes);
		queue_memory(&r->crew.members[i].queue, r->whole.memory.base,
			     r->whole.memory.mapped_bytes);
		if (checkpoint_writes(o) && i < o->writers)
			rc = checkpoint_writer_open(r, i, err);
		if (rc == 0 && checkpoint_reads(o) && i < o->readers)
			rc = checkpoint_reader_open(r, i, err);
	}
	return rc;
}

static int checkpoint_open_crew(struct checkpoint_run *r, struct err *err)
{
	const struct checkpoint_options *o = r->options;
	struct phase_context *ctx = r->ctx;
	uint64_t writers = checkpoint_writes(o) ? o->writers : 1;
	uint64_t readers = checkpoint_reads(o) ? o->readers : 1;
	int rc;

	rc = checkpoint_open_ring(r, err);
	if (rc == 0 && o->fill == CHECKPOINT_FILL_WHOLE)
		rc = checkpoint_whole_take(r, err);
	if (rc < 0)
		return rc;
	checkpoint_count_memory(r);
	r->crew = crew_of(ctx, &r->store, &checkpoint_meter,
			  max_u64(checkpoint_consolidators(o), max_u64(writers, readers)),
			  max_u32(r->write_depth, r->read_pieces), "checkpoint");
	r->crew.once = true;
	r->crew.argument = r;
	r->repeat =
		(struct repeat){.ctx = ctx, .crew = &r->crew, .accounts_at = CHECKPOINT_ACCOUNTS};
	rc = queue_open(&r->side, &r->store, 1, err);
	if (rc == 0)
		queue_unlogged(&r->side);
	if (rc == 0)
		rc = repeat_open(&r->repeat, err);
	return rc == 0 ? checkpoint_open_threads(r, err) : rc;
}

/* A plan may have fewer ranks than the mesh; a run may not, where the metadata is of the files of all of them. */
static int checkpoint_check_whole(const struct checkpoint_run *r, struct err *err)
{
	uint64_t ranks = mesh_ranks(&r->shape.mesh);

	if (!checkpoint_has_metadata(&r->shape) || !checkpoint_writes(r->options) ||
	    r->ctx->group->size >= ranks)
		return 0;
	return err_set(
		err, -EINVAL,
		"layout \"%s\" has metadata of the whole checkpoint, and needs all %llu ranks of "
		"the mesh; the phase has %u",
		checkpoint_layout_names[r->shape.layout], (unsigned long long)ranks,
		r->ctx->group->size);
}

int checkpoint_open(struct checkpoint_run *r, struct err *err)
{
	const struct checkpoint_options *o = r->options;
	struct phase_context *ctx = r->ctx;
	int rc;

	checkpoint_shape(ctx->job, o, ctx->group->size, r->described, &r->shape);
	rc = checkpoint_check_whole(r, err);
	if (rc == 0)
		rc = checkpoint_writes(o)
			     ? workload_store_open(ctx, r->described, &r->store, err)
			     : workload_store_open_to_read(ctx, r->described, &r->store, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc < 0)
		return rc;
	/* Each rank alike: its store is the same. */
	if (checkpoint_consolidators(o) && r->store.alignment > 1)
		return err_set(
			err, -EINVAL,
			"%s: consolidation writes rows, and direct I/O whole blocks; set \"direct\": false",
			r->store.uri);
	checkpoint_reader_mesh(o, &r->shape, ctx->group->size, &r->readers);
	r->ranges = checkpoint_reads_ranges(o, &r->shape.mesh);
	r->content = store_can(&r->store, BACKEND_CONTENT);
	/* A distributed checkpoint's files get their names at once: its metadata says when it is whole. */
	r->in_place = (o->layout == CHECKPOINT_SHARED || checkpoint_has_state_dict(&r->shape)) &&
		      store_can(&r->store, BACKEND_UPDATE);
	r->keeps = r->content && store_can(&r->store, BACKEND_PERSISTENT);
	if (r->keeps && checkpoint_writes(o))
		rc = place_take(&r->place, &r->store, o->folder, ctx->group, err);
	if (rc < 0)
		return rc;
	rc = checkpoint_open_crew(r, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc == 0 && r->keeps && checkpoint_writes(o))
		checkpoint_drop_uploads(&r->side, ctx->group, o->folder);
	if (rc == 0)
		rc = shift_rank(checkpoint_reads(o) ? (enum shift)o->shift : SHIFT_NONE, ctx->place,
				ctx->group, &r->read_rank);
	return rc == 0 ? cold_open(&r->cold, &o->cold, ctx, err) : rc;
}

void checkpoint_close(struct checkpoint_run *r)
{
	checkpoint_purge_close(r);
	cold_close(&r->cold);
	fillers_close(&r->fillers);
	for (uint32_t i = 0; r->members && i < r->crew.threads; i++) {
		writer_close(&r->members[i].writer);
		checkpoint_reader_close(r, i);
	}
	checkpoint_write_close(r);
	free(r->members);
	repeat_close(&r->repeat);
	checkpoint_whole_free(r);
	buffers_free(&r->ring);
	queue_close(&r->side);
	place_give(&r->place);
	store_close(&r->store);
}

void checkpoint_count_memory(struct checkpoint_run *r)
{
	uint64_t *most = &r->ctx->tally->rank_row[CHECKPOINT_MEMORY_BYTES];
	uint64_t windows = r->snapshot == CHECKPOINT_SNAPSHOT_COPY ? 2 * r->chunk : 0;
	uint64_t bytes = r->ring.mapped_bytes + r->whole.memory.mapped_bytes + windows;

	*most = max_u64(*most, bytes);
}

void checkpoint_measure(struct checkpoint_run *r)
{
	crew_merge(&r->crew, r->ctx->tally);
	repeat_measure(&r->repeat, r->ctx->tally);
}
