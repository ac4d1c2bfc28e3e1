/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "generate": makes a data set, in parallel, resumable, the same bytes for any number of
 * ranks and threads. */
#ifndef HAUL_WORKLOADS_GENERATE_GENERATE_H
#define HAUL_WORKLOADS_GENERATE_GENERATE_H

#include "core/measure/tally.h"
#include "workloads/common/meter.h"
#include "workloads/dataset/dataset.h"
#include "workloads/workload.h"

/* clean.c. `haul clean` for data sets: removes exactly what a data set's manifest describes.
 *
 * A file goes when its name and its size are the manifest's; one of another size stays and is
 * counted. What an interrupted generation left of those names goes too, then folders that are
 * empty, and the manifest. Without a manifest nothing is
 * touched; where nothing is there, nothing is to be cleaned. */

/* All data sets of the job. -ENOENT: one has no manifest, and files are there; -ENOTSUP: its store keeps nothing;
 * -EPERM: it exists without haul. */
int generate_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

/* size.c. What making a data set needs of the machine, for the plan and for the phase itself. */

struct generate_options {
	char dataset[JOB_NAME_BYTES]; /* "": the job's one */
	uint64_t threads, fillers;    /* of a rank */
};

/* Hooks of the workload. */
int generate_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		   struct err *err);
int generate_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		  uint32_t ranks_per_node, struct demand *out, struct err *err);
int generate_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		    struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);

/* The data set of the phase, and its store. Refuses one that exists without haul. */
int generate_dataset(const struct job *job, const struct job_phase *phase,
		     const struct job_store **store, struct dataset *d, struct err *err);

/* What a thread writes with. */
struct generate_buffers {
	uint64_t bytes; /* of each buffer */
	uint32_t count, depth;
	bool filled; /* files are so large that fillers can make their bytes ahead */
};

/* part: of an object of unknown length. */
struct generate_buffers generate_buffers(const struct generate_options *o, const struct dataset *d,
					 const struct backend_ops *ops, uint64_t part,
					 uint32_t depth);

/* Bytes of a write, where the store wants parts of that size. */
uint64_t generate_piece(const struct backend_ops *ops, uint64_t part);

/* Where the phase counts its requests. */
extern const struct meter_layout generate_meter;

/* size.c. What making a data set counts: a rank's row, and the histograms. Each list makes an enum here and
 * a table in size.c. */

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

extern const struct workload generate_workload;

#endif
