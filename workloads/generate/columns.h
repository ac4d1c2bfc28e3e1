/* SPDX-License-Identifier: Apache-2.0 */
/* What making a data set counts: a rank's row, and the histograms. Each list makes an enum here and
 * a table in columns.c. */
#ifndef HAUL_WORKLOADS_GENERATE_COLUMNS_H
#define HAUL_WORKLOADS_GENERATE_COLUMNS_H

#include "core/measure/tally.h"

/* clang-format off */
#define GENERATE_COLUMN_LIST(X) \
	X(GENERATE_FILES_MADE, "files_made", "", SUM, "files made and committed") \
	X(GENERATE_FILES_KEPT, "files_kept", "", SUM, "files that were whole already") \
	X(GENERATE_BYTES_KEPT, "bytes_kept", "bytes", SUM, \
	  "bytes of the files that were whole already") \
	X(GENERATE_FILL_NS, "fill_ns", "ns", SUM, "time of all threads making bytes") \
	X(GENERATE_WRITE_NS, "write_ns", "ns", SUM, \
	  "time of all threads waiting for writes and commits")

#define GENERATE_HISTOGRAM_LIST(X) \
	X(GENERATE_HIST_WRITE, "write", "time of a write") \
	X(GENERATE_HIST_COMMIT, "commit", "time of a commit") \
	X(GENERATE_HIST_BEGIN, "begin", "time to begin a file") \
	X(GENERATE_HIST_STAT, "stat", "time to ask whether a file exists") \
	X(GENERATE_HIST_WRITE_FIRST_ATTEMPT, "write_first_attempt", \
	  "time of the first attempt at a write, on stores that are tried again") \
	X(GENERATE_HIST_SYNC, "sync", "part of a commit: making the bytes durable") \
	X(GENERATE_HIST_PUBLISH, "publish", \
	  "part of a commit: making the file visible under its name")
/* clang-format on */

enum generate_measure { TALLY_ENUM(GENERATE, GENERATE_COLUMN_LIST(MEASURE_ENUM)) };
enum generate_hist { GENERATE_HISTOGRAM_LIST(HIST_ENUM) GENERATE_HISTS };

extern const struct tally_schema generate_schema;

#endif
