#include "workloads/io/measures.h"

#include <math.h>

static const struct measure measures[] = {
	TALLY_COMMON_MEASURES,
	{"first_done_ns", "ns", MERGE_MIN,
	 "when the first thread of any rank had done its part, or its time was over"},
	{"last_done_ns", "ns", MERGE_MAX, "when the last one had"},
	{"done", "", MERGE_SUM, "operations done: blocks moved, objects or listings dealt with"},
	{"first_done", "", MERGE_SUM, "of those, done by when the first thread had done its part"},
	{"done_bytes", "bytes", MERGE_SUM, "bytes of the operations done"},
	{"first_done_bytes", "bytes", MERGE_SUM,
	 "of those, by when the first thread had done its part"},
	{"warmup_operations", "", MERGE_SUM, "requests of the warm-up, counted nowhere else"},
	{"opens", "", MERGE_SUM, "opens for reading"},
	{"reads", "", MERGE_SUM, "reads"},
	{"writes", "", MERGE_SUM, "writes"},
	{"closes", "", MERGE_SUM, "closes and commits"},
	{"stats", "", MERGE_SUM, "stats"},
	{"creates", "", MERGE_SUM, "begins of an object, and opens for writing in place"},
	{"renames", "", MERGE_SUM, "renames"},
	{"lists", "", MERGE_SUM, "pages of listings"},
	{"deletes", "", MERGE_SUM, "requests that delete, of one key or of several (batch)"},
	{"gets", "", MERGE_SUM, "whole objects read"},
	{"puts", "", MERGE_SUM, "whole objects written"},
	{"entries", "", MERGE_SUM, "objects listed"},
	{"absent", "", MERGE_SUM, "stats and deletes of objects that were not there"},
	{"payload_errors", "", MERGE_SUM, "reads whose bytes were wrong"},
	{"fill_ns", "ns", MERGE_SUM, "time of all threads making bytes"},
	{"verify_ns", "ns", MERGE_SUM, "time of all threads comparing bytes"},
	{"late_start_ns", "ns", MERGE_MAX,
	 "open loop: the longest that an operation started after it was due"},
	{"late", "", MERGE_SUM, "requests that took longer than the store's timeout"},
	{"short_transfers", "", MERGE_SUM, "reads and writes that the store served in pieces"},
	COLD_MEASURES,
};
_Static_assert(sizeof(measures) / sizeof(measures[0]) == IO_MEASURES, "one row a measure");

static double io_rate(const uint64_t *row, unsigned what, unsigned when)
{
	return row[what] && row[when] ? (double)row[what] * 1e9 / (double)row[when] : NAN;
}

static double io_bytes_first(const uint64_t *row)
{
	return io_rate(row, IO_FIRST_DONE_BYTES, IO_FIRST_DONE_NS);
}

static double io_bytes_last(const uint64_t *row)
{
	return io_rate(row, IO_DONE_BYTES, IO_LAST_DONE_NS);
}

static double io_done_first(const uint64_t *row)
{
	return io_rate(row, IO_FIRST_DONE, IO_FIRST_DONE_NS);
}

static double io_done_last(const uint64_t *row)
{
	return io_rate(row, IO_DONE, IO_LAST_DONE_NS);
}

static double io_entries_last(const uint64_t *row)
{
	return io_rate(row, IO_ENTRIES, IO_LAST_DONE_NS);
}

static double io_cached_share(const uint64_t *row)
{
	return row[IO_RESIDENT_SAMPLED_BYTES]
		       ? (double)row[IO_RESIDENT_BYTES] / (double)row[IO_RESIDENT_SAMPLED_BYTES]
		       : NAN;
}

static const struct figure figures[] = {
	{"bytes_rate_first_done", "B/s", io_bytes_first,
	 "bytes per second until the first thread had done its part"},
	{"bytes_rate_last_done", "B/s", io_bytes_last, "bytes per second until the last one had"},
	{"rate_first_done", "1/s", io_done_first,
	 "operations per second until the first thread had done its part"},
	{"rate_last_done", "1/s", io_done_last, "operations per second until the last one had"},
	{"entries_rate", "1/s", io_entries_last, "objects listed per second"},
	TALLY_COMMON_FIGURES,
	COLD_FIGURE(io_cached_share),
};

static const struct hist_kind hists[IO_HISTS] = {
	[IO_HIST_READ] = {"read", "a read"},
	[IO_HIST_WRITE] = {"write", "a write"},
	[IO_HIST_STAT] = {"stat", "a stat"},
	[IO_HIST_RENAME] = {"rename", "a rename"},
	[IO_HIST_LIST] = {"list", "a page of a listing"},
	[IO_HIST_DELETE] = {"delete", "a delete"},
	[IO_HIST_CREATE] = {"create", "a begin, or an open for writing in place"},
	[IO_HIST_OPEN] = {"open", "an open for reading"},
	[IO_HIST_CLOSE] = {"close", "a close or commit"},
	[IO_HIST_READ_RESPONSE] = {"read_response", "a read, from when it was due"},
	[IO_HIST_WRITE_RESPONSE] = {"write_response", "a write, from when it was due"},
	[IO_HIST_STAT_RESPONSE] = {"stat_response", "a stat, from when it was due"},
	[IO_HIST_RENAME_RESPONSE] = {"rename_response", "a rename, from when it was due"},
	[IO_HIST_LIST_RESPONSE] = {"list_response", "a page of a listing, from when it was due"},
	[IO_HIST_DELETE_RESPONSE] = {"delete_response", "a delete, from when it was due"},
	[IO_HIST_READ_FIRST_ATTEMPT] =
		{"read_first_attempt",
		 "the first attempt at a read, on stores that are tried again"},
	[IO_HIST_WRITE_FIRST_ATTEMPT] =
		{"write_first_attempt",
		 "the first attempt at a write, on stores that are tried again"},
	[IO_HIST_SYNC] = {"sync", "part of a commit or close: making the bytes durable"},
	[IO_HIST_PUBLISH] = {"publish",
			     "part of a commit: making the object visible under its name"},
	[IO_HIST_OPERATION] = {"operation",
			       "an operation with its opens and closes, from when it was due"},
	[IO_HIST_GET] = {"get", "a whole object read, from when it was due"},
	[IO_HIST_PUT] = {"put", "a whole object written, from when it was due"},
};

const struct tally_schema io_schema = {
	.rank = {.measures = measures,
		 .measure_count = IO_MEASURES,
		 .figures = figures,
		 .figure_count = sizeof(figures) / sizeof(figures[0])},
	.hists = hists,
	.hist_count = IO_HISTS,
};

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
		.schema = &io_schema, .maps = maps, .map_count = sizeof(maps) / sizeof(maps[0]), \
		.late = IO_LATE, .short_transfers = IO_SHORT_TRANSFERS, .sync = IO_HIST_SYNC, \
		.publish = IO_HIST_PUBLISH, .own = own, .own_count = 3, .live_op = (op) \
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

static void io_measure_thread(struct tally *t, const struct io_thread *thread, uint64_t first_ns)
{
	const struct io_options *o = thread->work->options;
	uint64_t first = io_series_until(&thread->series, first_ns), *row = t->rank_row;
	uint64_t first_bytes = io_moves(o) ? first * o->block : 0;

	if (!thread->warm)
		return; /* ended within its warm-up */
	if (thread->moved)
		first_bytes = io_series_until(thread->moved, first_ns);
	row[IO_DONE] += thread->done;
	row[IO_FIRST_DONE] += first;
	row[IO_DONE_BYTES] += thread->done_bytes;
	row[IO_FIRST_DONE_BYTES] +=
		first_bytes < thread->done_bytes ? first_bytes : thread->done_bytes;
	if (thread->end_ns > row[IO_LAST_DONE_NS])
		row[IO_LAST_DONE_NS] = thread->end_ns;
	if (thread->late_start_ns > row[IO_LATE_START_NS])
		row[IO_LATE_START_NS] = thread->late_start_ns;
}

void io_measure(const struct crew *crew, const struct io_work *work, uint64_t first_ns,
		struct tally *t)
{
	uint64_t *row = t->rank_row;

	row[IO_FIRST_DONE_NS] = first_ns;
	for (uint32_t i = 0; i < crew->threads; i++) {
		const struct io_thread *thread = &work->threads[i];

		io_measure_thread(t, thread, first_ns);
		row[IO_PAYLOAD_ERRORS] += thread->payload_errors;
		row[IO_WARMUP_OPERATIONS] += thread->warmup_operations;
		row[IO_GETS] += thread->gets;
		row[IO_PUTS] += thread->puts;
		row[IO_ENTRIES] += thread->entries;
		row[IO_ABSENT] += thread->absent;
		row[IO_FILL_NS] += thread->fill_ns;
		row[VERIFY_NS] += thread->verify_ns;
		row[IO_RESIDENT_SAMPLED_BYTES] += thread->residency.sampled_bytes;
		row[IO_RESIDENT_BYTES] += thread->residency.resident_bytes;
	}
	crew_merge(crew, t);
}
