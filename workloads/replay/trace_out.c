/* SPDX-License-Identifier: Apache-2.0 */
/* Trace of a phase "replay": the rows that it would do, written to a file, with no store opened.
 * This makes one format of another, and shows what tiers make of a trace. */
#include <errno.h>

#include "workloads/replay/replay.h"

enum { LOOK_ROWS = 1 << 16 }; /* rows from one look at whether the run shall stop to the next */

struct trace_out {
	struct phase_context *ctx;
	const struct replay_options *options;
	struct trace_reader reader;
	struct trace_writer writer;
	uint32_t tiers;
	uint64_t rows, other_tiers, misses;
	enum stop_reason stopped;
};

static int out_row(void *argument, const struct trace_row *row, struct err *err)
{
	struct trace_out *out = argument;
	struct trace_row to = *row;

	if (!(out->tiers >> row->tier & 1)) {
		out->other_tiers++;
		return 0;
	}
	if (row->operation == TRACE_DELETE && !trace_deletes(out->writer.format))
		return 0;
	if (++out->rows % LOOK_ROWS == 0 && out->ctx->stop)
		out->stopped = stop_asked(out->ctx->stop);
	if (out->stopped != STOP_NONE)
		return err_set(err, -ECANCELED, "the run was asked to stop");
	to.bytes = replay_bytes(out->options, row->bytes);
	trace_write(&out->writer, &to);
	return 0;
}

/* For rank 0. */
static int out_write(struct trace_out *out, struct err *err)
{
	const struct replay_options *o = out->options;
	enum trace_format format = (enum trace_format)o->trace_format;
	const struct replay_through through = replay_through_of(o, trace_deletes(format));
	int rc = trace_open(&out->reader, o->trace, o->lenient, err), closed;

	if (rc < 0)
		return err_wrap(err, rc, "%s/trace: %s", out->ctx->phase->path, o->trace);
	rc = trace_create(&out->writer, o->trace_out, format, o->chunk, out->ctx->replaces, err);
	if (rc == 0) {
		rc = replay_through_all(&through, &out->reader, out_row, out, &out->misses, err);
		if (rc < 0 && out->stopped == STOP_NONE)
			err_wrap(err, rc, "%s/trace: %s", out->ctx->phase->path, o->trace);
		closed = trace_finish(&out->writer, o->trace_out, rc < 0 ? NULL : err);
		rc = out->stopped != STOP_NONE ? 0 : rc < 0 ? rc : closed;
	}
	trace_close(&out->reader);
	return rc;
}

static void out_count(const struct trace_out *out, uint64_t begin_ns)
{
	struct phase_context *ctx = out->ctx;
	char skipped[TRACE_SKIPPED_BYTES];
	uint64_t *row = ctx->tally->rank_row;

	row[TALLY_WALL_NS] = clock_now(ctx->clock) - begin_ns;
	if (ctx->group->rank)
		return;
	row[REPLAY_ROWS] = out->rows;
	row[REPLAY_OTHER_TIERS] = out->other_tiers;
	row[REPLAY_MISSES] = out->misses;
	row[REPLAY_PASSED] = out->reader.passed;
	for (int i = 0; i < TRACE_FAULT_COUNT; i++)
		row[REPLAY_WRONG] += out->reader.skipped[i];
	trace_skipped_text(&out->reader, skipped, sizeof(skipped));
	if (skipped[0])
		workload_say(ctx, "%s", skipped);
	trace_passed_text(&out->reader, skipped, sizeof(skipped));
	if (skipped[0])
		workload_say(ctx, "%s", skipped);
}

int replay_trace_out(struct phase_context *ctx, enum stop_reason *stopped, struct err *err)
{
	const struct replay_options *o = ctx->phase->options;
	struct trace_out out = {.ctx = ctx, .options = o, .tiers = replay_tiers(o->tiers)};
	uint64_t begin_ns = workload_begin(ctx), stop;
	int rc = ctx->group->rank == 0 ? out_write(&out, err) : 0;

	rc = group_agree(ctx->group, rc, err);
	stop = out.stopped;
	if (rc == 0)
		rc = group_allreduce(ctx->group, MERGE_MAX, &stop, 1);
	*stopped = (enum stop_reason)stop;
	if (rc == 0)
		out_count(&out, begin_ns);
	return rc;
}
