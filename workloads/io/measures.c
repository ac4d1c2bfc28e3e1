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

static double rate(const uint64_t *row, unsigned what, unsigned when)
{
	return row[what] && row[when] ? (double)row[what] * 1e9 / (double)row[when] : NAN;
}

static double bytes_first(const uint64_t *row)
{
	return rate(row, IO_FIRST_DONE_BYTES, IO_FIRST_DONE_NS);
}

static double bytes_last(const uint64_t *row)
{
	return rate(row, IO_DONE_BYTES, IO_LAST_DONE_NS);
}

static double done_first(const uint64_t *row)
{
	return rate(row, IO_FIRST_DONE, IO_FIRST_DONE_NS);
}

static double done_last(const uint64_t *row)
{
	return rate(row, IO_DONE, IO_LAST_DONE_NS);
}

static double entries_last(const uint64_t *row)
{
	return rate(row, IO_ENTRIES, IO_LAST_DONE_NS);
}

static double cached_share(const uint64_t *row)
{
	return row[IO_RESIDENT_SAMPLED_BYTES]
		       ? (double)row[IO_RESIDENT_BYTES] / (double)row[IO_RESIDENT_SAMPLED_BYTES]
		       : NAN;
}

static const struct figure figures[] = {
	{"bytes_rate_first_done", "B/s", bytes_first,
	 "bytes a second until the first thread had done its part"},
	{"bytes_rate_last_done", "B/s", bytes_last, "bytes a second until the last one had"},
	{"rate_first_done", "1/s", done_first,
	 "operations a second until the first thread had done its part"},
	{"rate_last_done", "1/s", done_last, "operations a second until the last one had"},
	{"entries_rate", "1/s", entries_last, "objects listed in a second"},
	TALLY_COMMON_FIGURES,
	COLD_FIGURE(cached_share),
};

static const struct hist_kind hists[] = {
	{"read", "a read"},
	{"write", "a write"},
	{"stat", "a stat"},
	{"rename", "a rename"},
	{"list", "a page of a listing"},
	{"delete", "a delete"},
	{"create", "a begin, or an open for writing in place"},
	{"open", "an open for reading"},
	{"close", "a close or commit"},
	{"read_response", "a read, from when it was due"},
	{"write_response", "a write, from when it was due"},
	{"stat_response", "a stat, from when it was due"},
	{"rename_response", "a rename, from when it was due"},
	{"list_response", "a page of a listing, from when it was due"},
	{"delete_response", "a delete, from when it was due"},
	{"read_first_attempt", "the first attempt at a read, where a store is tried again"},
	{"write_first_attempt", "the first attempt at a write, where a store is tried again"},
	{"operation", "an operation with its opens and closes, from when it was due"},
};
enum { HISTS = sizeof(hists) / sizeof(hists[0]), KINDS = 9, RESPONSES = 6, FIRSTS = 2 };

const struct tally_schema io_schema = {
	.rank = {.measures = measures,
		 .measure_count = IO_MEASURES,
		 .figures = figures,
		 .figure_count = sizeof(figures) / sizeof(figures[0])},
	.hists = hists,
	.hist_count = HISTS,
};

/* In the order of the first histograms; each with the measure that counts it. */
static const struct {
	enum request_op ops[2];
	unsigned measure;
} kinds[KINDS] = {
	{{REQ_READ, REQ_READ}, IO_READS},      {{REQ_WRITE, REQ_WRITE}, IO_WRITES},
	{{REQ_STAT, REQ_STAT}, IO_STATS},      {{REQ_RENAME, REQ_RENAME}, IO_RENAMES},
	{{REQ_LIST, REQ_LIST}, IO_LISTS},      {{REQ_DELETE, REQ_DELETE}, IO_DELETES},
	{{REQ_BEGIN, REQ_UPDATE}, IO_CREATES}, {{REQ_OPEN, REQ_OPEN}, IO_OPENS},
	{{REQ_CLOSE, REQ_COMMIT}, IO_CLOSES},
};

static void measure_queue(struct tally *t, const struct queue_stats *stats)
{
	uint64_t *row = t->rank_row;

	for (unsigned op = 0; op < REQ_OPS; op++) {
		row[TALLY_OPERATIONS] += stats->op[op].operations;
		row[TALLY_ERRORS] += stats->op[op].errors;
		row[IO_LATE] += stats->op[op].late;
		row[IO_SHORT_TRANSFERS] += stats->op[op].short_transfers;
	}
	row[TALLY_BYTES_READ] += stats->op[REQ_READ].bytes;
	row[TALLY_BYTES_WRITTEN] += stats->op[REQ_WRITE].bytes;
	for (unsigned k = 0; k < KINDS; k++) {
		for (unsigned i = 0; i < 2; i++) {
			enum request_op op = kinds[k].ops[i];

			if (!stats->op[op].operations || (i && op == kinds[k].ops[0]))
				continue;
			row[kinds[k].measure] += stats->op[op].operations;
			hist_merge(&t->hists[k], &stats->service[op]);
			if (k < RESPONSES)
				hist_merge(&t->hists[KINDS + k], &stats->response[op]);
		}
	}
}

static void measure_thread(struct tally *t, const struct io_thread *thread, uint64_t first_ns)
{
	const struct io_options *o = thread->work->options;
	uint64_t bytes = io_moves(o) ? o->block : 0, *row = t->rank_row;
	uint64_t first = io_series_until(&thread->series, first_ns);
	uint64_t whole = bytes ? thread->done * bytes - thread->short_bytes : 0;

	if (!thread->warm)
		return; /* ended within its warm-up */
	row[IO_DONE] += thread->done;
	row[IO_FIRST_DONE] += first;
	row[IO_DONE_BYTES] += whole;
	row[IO_FIRST_DONE_BYTES] += first * bytes < whole ? first * bytes : whole;
	if (thread->end_ns > row[IO_LAST_DONE_NS])
		row[IO_LAST_DONE_NS] = thread->end_ns;
	if (thread->late_start_ns > row[IO_LATE_START_NS])
		row[IO_LATE_START_NS] = thread->late_start_ns;
	hist_merge(&t->hists[HISTS - 1], &thread->whole);
}

void io_measure(const struct crew *crew, const struct io_work *work, uint64_t first_ns,
		struct tally *t)
{
	uint64_t *row = t->rank_row;

	row[IO_FIRST_DONE_NS] = first_ns;
	for (uint32_t i = 0; i < crew->threads; i++) {
		const struct io_thread *thread = &work->threads[i];
		const struct crew_thread *w = &crew->members[i];

		measure_queue(t, w->queue.stats);
		queue_count_endpoints(&w->queue, t);
		for (unsigned k = 0; k < FIRSTS; k++)
			queue_add_first_attempts(&w->queue, kinds[k].ops[0],
						 &t->hists[KINDS + RESPONSES + k]);
		measure_thread(t, thread, first_ns);
		row[TALLY_RETRIES] += w->retries;
		/* What was wrong though the request succeeded. */
		row[TALLY_ERRORS] += thread->payload_errors + thread->missing;
		row[IO_PAYLOAD_ERRORS] += thread->payload_errors;
		row[IO_WARMUP_OPERATIONS] += thread->warmup_operations;
		row[IO_ENTRIES] += thread->entries;
		row[IO_ABSENT] += thread->absent;
		row[IO_FILL_NS] += thread->fill_ns;
		row[IO_VERIFY_NS] += thread->verify_ns;
		row[IO_RESIDENT_SAMPLED_BYTES] += thread->residency.sampled_bytes;
		row[IO_RESIDENT_BYTES] += thread->residency.resident_bytes;
		timeline_merge(t->timeline, &w->timeline);
		crew_failures(w, t);
	}
}
