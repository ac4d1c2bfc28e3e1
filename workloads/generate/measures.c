#include "workloads/generate/measures.h"

#include <math.h>

static const struct measure generate_measures[] = {
	TALLY_COMMON_MEASURES,
	{"files_made", "", MERGE_SUM, "files made and committed"},
	{"files_kept", "", MERGE_SUM, "files that were whole already"},
	{"bytes_kept", "bytes", MERGE_SUM, "bytes of the files that were whole already"},
	{"fill_ns", "ns", MERGE_SUM, "time of all threads making bytes"},
	{"write_ns", "ns", MERGE_SUM, "time of all threads waiting for writes and commits"},
};
_Static_assert(sizeof(generate_measures) / sizeof(generate_measures[0]) == GENERATE_MEASURES,
	       "one row a measure");

static double generate_write_rate(const uint64_t *row)
{
	return row[TALLY_WALL_NS]
		       ? (double)row[TALLY_BYTES_WRITTEN] * 1e9 / (double)row[TALLY_WALL_NS]
		       : NAN;
}

static double generate_fill_rate(const uint64_t *row)
{
	return row[GENERATE_FILL_NS]
		       ? (double)row[TALLY_BYTES_WRITTEN] * 1e9 / (double)row[GENERATE_FILL_NS]
		       : NAN;
}

static const struct figure generate_figures[] = {
	{"write_rate", "B/s", generate_write_rate, "bytes written per second of the phase"},
	{"fill_rate", "B/s", generate_fill_rate,
	 "bytes made per second of a thread that makes them"},
	TALLY_COMMON_FIGURES,
};

enum generate_hist {
	GENERATE_HIST_WRITE,
	GENERATE_HIST_COMMIT,
	GENERATE_HIST_BEGIN,
	GENERATE_HIST_STAT,
	GENERATE_HIST_WRITE_FIRST_ATTEMPT,
	GENERATE_HIST_SYNC,
	GENERATE_HIST_PUBLISH,
	GENERATE_HISTS
};

static const struct hist_kind generate_hists[GENERATE_HISTS] = {
	[GENERATE_HIST_WRITE] = {"write", "time of a write"},
	[GENERATE_HIST_COMMIT] = {"commit", "time of a commit"},
	[GENERATE_HIST_BEGIN] = {"begin", "time to begin a file"},
	[GENERATE_HIST_STAT] = {"stat", "time to ask whether a file exists"},
	[GENERATE_HIST_WRITE_FIRST_ATTEMPT] =
		{"write_first_attempt",
		 "time of the first attempt at a write, on stores that are tried again"},
	[GENERATE_HIST_SYNC] = {"sync", "part of a commit: making the bytes durable"},
	[GENERATE_HIST_PUBLISH] = {"publish",
				   "part of a commit: making the file visible under its name"},
};

const struct tally_schema generate_schema = {
	.rank =
		{
			.measures = generate_measures,
			.measure_count = GENERATE_MEASURES,
			.figures = generate_figures,
			.figure_count = sizeof(generate_figures) / sizeof(generate_figures[0]),
		},
	.hists = generate_hists,
	.hist_count = GENERATE_HISTS,
};

static const struct meter_map generate_maps[] = {
	{REQ_WRITE, METER_NONE, GENERATE_HIST_WRITE, METER_NONE, GENERATE_HIST_WRITE_FIRST_ATTEMPT},
	{REQ_COMMIT, METER_NONE, GENERATE_HIST_COMMIT, METER_NONE, METER_NONE},
	{REQ_BEGIN, METER_NONE, GENERATE_HIST_BEGIN, METER_NONE, METER_NONE},
	{REQ_STAT, METER_NONE, GENERATE_HIST_STAT, METER_NONE, METER_NONE},
};

const struct meter_layout generate_meter = {
	.schema = &generate_schema,
	.maps = generate_maps,
	.map_count = sizeof(generate_maps) / sizeof(generate_maps[0]),
	.late = METER_NONE,
	.short_transfers = METER_NONE,
	.sync = GENERATE_HIST_SYNC,
	.publish = GENERATE_HIST_PUBLISH,
	.live_op = REQ_WRITE,
};
