/* SPDX-License-Identifier: Apache-2.0 */
/* Table of the figures that outputs show: see figure.h. */
#include "report/figure.h"

#define MEASURED "what is measured: without a warm-up, until the last rank had done its part"
#define WHOLE    "the whole phase, with a warm-up"

/* clang-format off */
const struct shown_figure shown_figures[] = {
	{"time", "seconds", "seconds", "seconds", "seconds",
	 "what bytes and operations are divided by: from the start to the end; of plain I/O and searches, what is measured", MEASURED, "the slowest"},
	{"time of the phase", "", "wall_seconds", "wall_seconds", "",
	 "from its start to its end", WHOLE, "the slowest"},
	{"AU", "AU", "rates.au", "au", "au",
	 "compute that was asked for, over the time of the steps",
	 "steps beyond `warmup_steps`, without the time that checkpoints block", "all together"},
	{"AU of the least and the most busy rank", "", "au.min", "au_min", "",
	 "the same of one rank", "the same", "one"},
	{"bytes per second", "GB/s", "rates.bytes_per_second", "bytes_per_second", "GB_per_s",
	 "bytes of objects that were read and written; of a training and `generate`, those of their own direction. What moves none has no rate",
	 MEASURED "; of checkpoints and loads, the time of each until its last rank had done its part", "all together"},
	{"bytes written per second, bytes read per second", "written, read",
	 "rates.bytes_written_per_second", "bytes_written_per_second", "",
	 "the same of one direction, of checkpoints, caches and replays",
	 MEASURED "; of checkpoints, the time of each write or read until its last rank had done its part", "all together"},
	{"operations per second", "ops/s last", "rates.operations_per_second", "operations_per_second",
	 "operations_per_s",
	 "what plain I/O, a replay or a cache was asked for: blocks, objects or listings; rows of a trace; entries. Other kinds have none",
	 MEASURED, "all together"},
	{"items per second", "samples/s …", "rates.samples_per_second", "samples_per_second", "",
	 "samples of a training, requests that a cache served, rows of a trace, objects listed", WHOLE, "all together"},
	{"until the first had done its part", "GB/s first, ops/s first", "figures.bytes_rate_first_done", "", "",
	 "the same bytes and operations, of plain I/O, checkpoints and loads",
	 "what is measured, until the first thread (plain I/O) or rank had done its part", "all together"},
	{"percentiles", "p50 …", "rates.p99_ns", "p99_ns", "p99_ms",
	 "requests of the kind that `latency` names, with all attempts: from begin to end; with `arrivals`, from when they were due", MEASURED, "all together"},
	{"errors", "errors", "errors", "errors", "errors",
	 "requests that failed for good, and data that was wrong", MEASURED, "all together"},
	{"retries", "", "retries", "retries", "",
	 "attempts beyond the first of each request", MEASURED, "all together"},
	{"operations", "", "operations", "operations", "",
	 "what the phase was asked for, as above; of other kinds reads, writes, stats and deletes",
	 MEASURED, "all together"},
	{"requests to the store", "", "measures.store_requests", "", "",
	 "requests of every kind, opens and closes, too", MEASURED, "all together"},
	{"bytes read, bytes written", "", "bytes_read", "bytes_read", "",
	 "bytes of objects that the store gave or took, without those of failed attempts", MEASURED, "all together"},
	{"share from the page cache", "", "rates.cached_share", "cached_share", "",
	 "of the bytes that were looked at before they were read: those in this client's page cache", WHOLE, "all together"},
	{"over time", "", "timeline.bytes_read_per_second", "", "",
	 "bytes and operations, as above, that ended in an interval, over its length; the last interval is as long as the phase was in it",
	 "what is measured", "all together"},
	{"CPU s/GB", "CPU s/GB", "figures.cpu_s_per_GB", "", "",
	 "processor time of haul for 10^9 bytes read or written", "what is measured", "all together"},
	{"client", "cores busy …", "client.nodes", "", "",
	 "what a whole node did, haul and others", WHOLE, "each node; the text has the busiest"},
	{0}};
/* clang-format on */
