/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "generate": makes a data set, or the files of a model, in parallel, resumable, the same
 * bytes for any number of ranks and threads. */
#ifndef HAUL_WORKLOADS_GENERATE_GENERATE_H
#define HAUL_WORKLOADS_GENERATE_GENERATE_H

#include "core/measure/tally.h"
#include "workloads/archive/published.h"
#include "workloads/common/crew.h"
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
/* The name of an object of a data set: for clean, and for uploads that were left of it. */
void generate_clean_key(const void *dataset, uint64_t i, uint32_t name, char key[OBJECT_KEY_BYTES]);

/* size.c. What making a data set needs of the machine, for the plan and for the phase itself. */

enum { GENERATE_FOLDER_BYTES = 256 };
enum generate_fill { GENERATE_FULL, GENERATE_SPARSE };

struct generate_options {
	char dataset[JOB_NAME_BYTES]; /* "": the job's one */
	/* A model in place of a data set. Without layers and bytes: none. */
	struct model model;
	char folder[GENERATE_FOLDER_BYTES];
	uint64_t shard;            /* see published_make */
	uint32_t fill;             /* enum generate_fill */
	uint64_t threads, fillers; /* of a rank */
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

/* model.c. The files of a model. */
struct generate_model {
	const struct generate_options *options;
	struct published files;
	struct arena arena;
	uint64_t seed;
};
bool generate_makes_model(const struct generate_options *o);
int generate_model_check(const struct generate_options *o, const struct job_store *store,
			 const char *phase, struct err *err);
int generate_model_open(struct generate_model *x, const struct generate_options *o, uint64_t seed,
			struct err *err);
void generate_model_close(struct generate_model *x);
void generate_model_file(const struct generate_model *x, uint64_t i, char key[OBJECT_KEY_BYTES],
			 uint64_t *size);
/* For a writer: bytes of a file. */
struct generate_model_piece {
	const struct generate_model *of;
	uint64_t file;
};
void generate_model_image(const void *piece, uint64_t at, void *to, uint64_t bytes);
/* The file, begun, gets its header and its size, and nothing else. */
int generate_model_holes(const struct generate_model *x, struct crew_thread *w, struct object *o,
			 uint64_t i);
/* What is made is noted before it is, and the index written behind. *resumes: it was begun before. Both
 * collective; q: of rank 0. */
int generate_model_begin(struct generate_model *x, struct queue *q, struct group *group,
			 bool *resumes, struct err *err);
int generate_model_end(const struct generate_model *x, struct queue *q, struct group *group,
		       struct err *err);
int generate_model_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

/* What a thread writes with. */
struct generate_buffers {
	uint64_t bytes; /* of each buffer */
	uint32_t count, depth;
	bool filled; /* files are so large that fillers can make their bytes ahead */
};

/* mean: bytes of a file, on average. part: of an object of unknown length. */
struct generate_buffers generate_buffers(const struct generate_options *o, uint64_t mean,
					 const struct backend_ops *ops, uint64_t part,
					 uint32_t depth);
uint64_t generate_mean(const struct dataset *d);

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
	X(GENERATE_HIST_STAT, "stat", "time to ask whether a file exists", .use = HIST_RARE) \
	X(GENERATE_HIST_WRITE_FIRST_ATTEMPT, "write_first_attempt", \
	  "time of the first attempt at a write, on stores that are tried again", .use = HIST_RARE) \
	X(GENERATE_HIST_SYNC, "sync", "part of a commit: making the bytes durable", .use = HIST_RARE) \
	X(GENERATE_HIST_PUBLISH, "publish", \
	  "part of a commit: making the file visible under its name", .use = HIST_OF_COMMITS)
/* clang-format on */

enum generate_measure { TALLY_ENUM(GENERATE, GENERATE_COLUMN_LIST(MEASURE_ENUM)) };
enum generate_hist { GENERATE_HISTOGRAM_LIST(HIST_ENUM) GENERATE_HISTS };

extern const struct tally_schema generate_schema;

extern const struct workload generate_workload;

#endif
