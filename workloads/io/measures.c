/* SPDX-License-Identifier: Apache-2.0 */
/* What the phase io counts, and the way from its threads to its tally. */
#include "core/measure/window.h"
#include "core/numbers.h"
#include "workloads/io/work.h"

static const struct meter_map maps[] = {
	{REQ_READ, IO_READS, IO_HIST_READ, IO_HIST_READ_RESPONSE, IO_HIST_READ_FIRST_ATTEMPT},
	{REQ_WRITE, IO_WRITES, IO_HIST_WRITE, IO_HIST_WRITE_RESPONSE, IO_HIST_WRITE_FIRST_ATTEMPT},
	{REQ_STAT, IO_STATS, IO_HIST_STAT, IO_HIST_STAT_RESPONSE, METER_NONE},
	{REQ_RENAME, IO_RENAMES, IO_HIST_RENAME, IO_HIST_RENAME_RESPONSE, METER_NONE},
	{REQ_LIST, IO_LISTS, IO_HIST_LIST, IO_HIST_LIST_RESPONSE, METER_NONE},
	{REQ_DELETE, IO_DELETES, IO_HIST_DELETE, IO_HIST_DELETE_RESPONSE, METER_NONE},
	{REQ_BEGIN, IO_CREATES, IO_HIST_CREATE, METER_NONE, METER_NONE},
	{REQ_UPDATE, IO_CREATES, IO_HIST_CREATE, METER_NONE, METER_NONE},
	{REQ_OPEN, IO_OPENS, IO_HIST_OPEN, METER_NONE, METER_NONE},
	{REQ_CLOSE, IO_CLOSES, IO_HIST_CLOSE, METER_NONE, METER_NONE},
	{REQ_COMMIT, IO_CLOSES, IO_HIST_CLOSE, METER_NONE, METER_NONE},
};
static const int own[] = {IO_HIST_OPERATION, IO_HIST_GET, IO_HIST_PUT};

#define IO_METER(op) \
	{ \
		METER_MAPS(io_schema, maps), \
			.late = IO_LATE, .short_transfers = IO_SHORT_TRANSFERS, \
			.sync = IO_HIST_SYNC, .publish = IO_HIST_PUBLISH, .own = own, \
			.own_count = 3, .counts_operations = true, .live_op = (op) \
	}
static const struct meter_layout meter_layouts[] = {
	[IO_DO_WRITE] = IO_METER(REQ_WRITE),   [IO_DO_READ] = IO_METER(REQ_READ),
	[IO_DO_MIXED] = IO_METER(REQ_READ),    [IO_DO_STAT] = IO_METER(REQ_STAT),
	[IO_DO_CREATE] = IO_METER(REQ_UPDATE), [IO_DO_RENAME] = IO_METER(REQ_RENAME),
	[IO_DO_LIST] = IO_METER(REQ_LIST),     [IO_DO_DELETE] = IO_METER(REQ_DELETE),
};

const struct meter_layout *io_meter(const struct io_options *o)
{
	return &meter_layouts[o->operation];
}

static void io_count_done(const struct io_thread *thread, struct tally *t)
{
	const struct io_options *o = thread->work->options;
	uint64_t first_ns = thread->work->first_ns;
	/* When the thread did its last operation so far. */
	uint64_t end_ns = thread->working ? excess_u64(thread->member->queue.now_ns,
						       thread->work->warmup.end_ns)
					  : thread->end_ns;
	uint64_t first = done_series_until(&thread->series, first_ns), *row = t->rank_row;
	uint64_t first_bytes =
		io_moves(o) ? (uint64_t)((unsigned __int128)first * o->block >> WINDOW_PARTS_BITS)
			    : 0;

	if (!thread->slots.warm)
		return; /* ended within its warm-up */
	if (thread->moved)
		first_bytes = done_series_until(thread->moved, first_ns);
	row[IO_DONE_PARTS] += thread->done_parts;
	row[IO_FIRST_DONE_PARTS] += first;
	row[IO_DONE_BYTES] += thread->done_bytes;
	row[IO_FIRST_DONE_BYTES] +=
		first_bytes < thread->done_bytes ? first_bytes : thread->done_bytes;
	row[IO_LAST_DONE_NS] = max_u64(row[IO_LAST_DONE_NS], end_ns);
	row[IO_LATE_START_NS] = max_u64(row[IO_LATE_START_NS], thread->slots.late_start_ns);
}

void io_count_thread(const struct crew_thread *w, struct tally *t)
{
	const struct io_thread *thread = w->slots ? w->slots->owner : NULL;
	uint64_t *row = t->rank_row;

	if (!thread)
		return;
	io_count_done(thread, t);
	row[IO_PAYLOAD_ERRORS] += thread->payload_errors;
	row[IO_WARMUP_OPERATIONS] += thread->warmup_operations + meter_outside(&w->meter);
	row[IO_GETS] += thread->gets;
	row[IO_PUTS] += thread->puts;
	row[IO_ENTRIES] += thread->entries;
	row[IO_ABSENT] += thread->absent;
	row[IO_FILL_NS] += thread->fill_ns;
	row[IO_VERIFY_NS] += thread->verify_ns;
	row[IO_RESIDENT_SAMPLED_BYTES] += thread->residency.sampled_bytes;
	row[IO_RESIDENT_BYTES] += thread->residency.resident_bytes;
}

/* Once all threads are in the row. */
static void io_measure_whole(uint64_t *row)
{
	row[IO_DONE] = window_whole(row[IO_DONE_PARTS]);
	row[IO_FIRST_DONE] = window_whole(row[IO_FIRST_DONE_PARTS]);
	row[TALLY_OPERATIONS] = row[IO_DONE];
}

void io_measure(const struct crew *crew, struct io_work *work, uint64_t first_ns, struct tally *t)
{
	work->first_ns = first_ns;
	t->rank_row[IO_FIRST_DONE_NS] = first_ns;
	crew_merge(crew, t);
	io_measure_whole(t->rank_row);
}

/* As long as nobody has done its part, the first has done as much as the last. */
void io_measure_so_far(void *argument, struct tally *t)
{
	const struct io_work *work = argument;
	uint64_t *row = t->rank_row, now_ns = clock_now(work->store->clock);

	row[TALLY_WALL_NS] = now_ns > work->start_ns ? now_ns - work->start_ns : 0;
	io_measure_whole(row);
	row[IO_FIRST_DONE_NS] = row[IO_LAST_DONE_NS];
	if (!row[IO_FIRST_DONE_NS] && now_ns > work->warmup.end_ns)
		row[IO_FIRST_DONE_NS] = now_ns - work->warmup.end_ns;
}
