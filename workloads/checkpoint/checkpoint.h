/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "checkpoint": writes and reads checkpoints of a model, at the size and in the shape that a training has.
 *
 *	phase.c    the workload, and the same on a store that takes no time; session.c: store, threads, all checkpoints;
 *	           run.h: their state
 *	options.c  the table of options, refusals; size.c: what a phase asks of the machine, its stores, and what a plan
 *	           shows of it
 *	files.c    names, tensors and writers of files; ranges.c: what a rank of another mesh reads of them
 *	pass.c     one checkpoint written or read: the marker first and last; page caches; the last ones stay
 *	write.c    threads that share the files of a rank
 *	whole.c    one of these files; all bytes of a rank in memory, made before the first is written
 *	read.c     whole files, or ranges for a mesh of its own
 *	consolidate.c  Hugging Face's files, made of the shards of all ranks
 *	within.c   within another phase, which may go on meanwhile
 *	marker.c   .haul-checkpoint.json, by which a checkpoint is whole; clean.c: removal by it
 *	columns.c  measures, histograms, figures
 *
 * A run may have fewer ranks than the mesh: rank r then stands for rank r of the mesh, and the others write nothing. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_CHECKPOINT_H
#define HAUL_WORKLOADS_CHECKPOINT_CHECKPOINT_H

#include "core/measure/account.h"
#include "core/measure/tally.h"
#include "core/target.h"
#include "workloads/checkpoint/files.h"
#include "workloads/common/cold.h"
#include "workloads/common/options.h"
#include "workloads/common/repeat.h"
#include "workloads/workload.h"

enum checkpoint_operation { CHECKPOINT_WRITE, CHECKPOINT_READ, CHECKPOINT_BOTH };
enum checkpoint_purge {
	CHECKPOINT_PURGE_RANKS, /* each rank its files, before the next checkpoint */
	CHECKPOINT_PURGE_THREAD /* a thread of rank 0 all of them, meanwhile */
};
enum checkpoint_behind { CHECKPOINT_BEHIND_NONE, CHECKPOINT_BEHIND_DROP };
/* dcp, megatron: what ranks tell each other around a save. */
enum checkpoint_collectives {
	CHECKPOINT_COLLECTIVES_ALL,    /* plans and results, at each save */
	CHECKPOINT_COLLECTIVES_CACHED, /* plans at the first one only */
	CHECKPOINT_COLLECTIVES_NONE    /* nothing: each rank has metadata of its own */
};
enum checkpoint_fill { CHECKPOINT_FILL_STREAM, CHECKPOINT_FILL_WHOLE };
enum {
	CHECKPOINT_FOLDER_BYTES = 128,
	CHECKPOINT_COUNT_MAX = 10000,
	CHECKPOINT_CHUNK_MIN = 4096,
	CHECKPOINT_THREADS_MAX = 1024,
	CHECKPOINT_WRITERS_MAX = 64 /* each has a piece of the ring, at least */
};
extern const char *const checkpoint_behind_names[], *const checkpoint_fill_names[],
							    *const checkpoint_collectives_names[],
								    *const checkpoint_purge_names[];

struct checkpoint_options {
	char folder[CHECKPOINT_FOLDER_BYTES];
	uint32_t operation;   /* both: all are written, then all are read */
	uint64_t count;       /* checkpoints written, and read */
	uint64_t pause_ns;    /* between two checkpoints, counted nowhere */
	uint64_t null_passes; /* see common/repeat.h */
	uint64_t keep;        /* how many of the last ones stay; 0: all */
	uint32_t purge;       /* enum checkpoint_purge */
	/* What goodput is computed for: time between two checkpoints of a training, and between two failures; 0: not
	 * told. */
	uint64_t interval_ns, mtbf_ns;
	struct model model;
	struct mesh mesh;
	uint32_t layout, framing;
	uint32_t consolidate; /* enum checkpoint_consolidate */
	uint64_t consolidators, shard;
	/* The streaming ring of a rank: its bytes, and those of a chunk. */
	uint64_t buffers, chunk;
	uint64_t writers, fillers; /* threads of a rank */
	uint32_t collectives;      /* enum checkpoint_collectives */
	uint64_t readers; /* threads of a rank that read side by side, in pieces of chunk */
	uint32_t read_as; /* whose readers, chunk and buffers are the defaults */
	uint32_t fill, behind;
	struct mesh read_mesh; /* of the readers; all 0: as written */
	uint32_t replicas;
	uint32_t shift, verify, on_error;
	struct cold_options cold;
};
/* Options of whoever writes checkpoints, as rows for tables of options. FIELD(x) names member x of
 * the struct checkpoint_options in the struct that the table fills. */
/* clang-format off */
#define CHECKPOINT_WRITE_OPTIONS(type, FIELD) \
	OPT_TABLE("model", type, FIELD(model), .table = model_options, \
		.help = "what is saved: a known model by its name, or dimensions, or a size in bytes"), \
	OPT_TABLE("mesh", type, FIELD(mesh), .table = mesh_options, \
		.help = "ranks that the checkpoint is of; a phase with fewer ranks writes their part of it"), \
	OPT_U64("keep", type, FIELD(keep), .def = 0, .max = CHECKPOINT_COUNT_MAX, \
		.help = "how many of the last checkpoints stay, while older ones are removed; 0: all stay"), \
	OPT_CHOICE("purge", type, FIELD(purge), \
		.def = CHECKPOINT_PURGE_RANKS, .choices = checkpoint_purge_names, \
		.help = "who removes older checkpoints: ranks: each its own files, before it goes on; thread: a thread of rank 0 all files of all ranks, while the next steps run, as torchtitan"), \
	OPT_TIME("interval", type, FIELD(interval_ns), .def = 0, .usual = 86400000000000, \
		.help = "time of training between two checkpoints, for which the share of time that is lost is computed; 0: not told"), \
	OPT_TIME("mtbf", type, FIELD(mtbf_ns), .def = 0, .usual = 31536000000000000, \
		.help = "mean time between failures of the training, for which that share and the best interval are computed; 0: not told"), \
	OPT_TEXT("folder", type, FIELD(folder), .def_text = "checkpoints", \
		.help = "where the checkpoints lie; phases of one folder work on the same ones"), \
	OPT_CHOICE("layout", type, FIELD(layout), \
		.def = CHECKPOINT_RANK, .choices = checkpoint_layout_names, \
		.help = "rank, layer: files of weights and of the optimizer as DeepSpeed and DLIO write them, the weights per rank or per layer; distributed: one file per rank, weights and optimizer together; shared: one file in which each rank has a region; dcp: torch's distributed checkpoints, item by item, with .metadata; megatron: the same with Megatron's states; hf: weights only, as torch writes shards of Hugging Face's files"), \
	OPT_CHOICE("consolidate", type, FIELD(consolidate), \
		.def = CHECKPOINT_CONSOLIDATE_NONE, .choices = checkpoint_consolidate_names, \
		.help = "hf: who makes the model's files of all shards when these are written: rank: rank 0; ranks: all, each some of the files; none: nobody"), \
	OPT_U64("consolidators", type, FIELD(consolidators), .def = 1, .min = 1, .max = CHECKPOINT_WRITERS_MAX, \
		.help = "threads per rank that do so, each a file at a time"), \
	OPT_BYTES("shard", type, FIELD(shard), .def = 0, .max = UINT64_MAX, \
		.help = "hf: most bytes of tensors in a file of the model; 0: 5 GB"), \
	OPT_CHOICE("collectives", type, FIELD(collectives), \
		.def = CHECKPOINT_COLLECTIVES_ALL, .choices = checkpoint_collectives_names, \
		.help = "dcp, megatron, hf: all: plans are gathered and scattered before each save, and results gathered after it; cached: plans at the first save only; none: each rank writes metadata of its own, which no other mesh can read"), \
	OPT_CHOICE("framing", type, FIELD(framing), .def = ARCHIVE_TORCH, .choices = archive_kind_names, \
		.help = "what a file holds around its tensors; raw: nothing"), \
	OPT_BYTES("buffers", type, FIELD(buffers), \
		.def = 128 << 20, .min = CHECKPOINT_CHUNK_MIN, .max = 1ull << 40, \
		.help = "memory per rank through which a checkpoint streams, however large it is"), \
	OPT_BYTES("chunk", type, FIELD(chunk), \
		.def = 32 << 20, .min = CHECKPOINT_CHUNK_MIN, .max = 1ull << 32, \
		.help = "bytes of a write or read; where objects are made in parts, of a part"), \
	OPT_U64("writers", type, FIELD(writers), .def = 1, .min = 1, .max = CHECKPOINT_WRITERS_MAX, \
		.help = "threads per rank that share the writes"), \
	OPT_U64("fillers", type, FIELD(fillers), .def = 1, .max = CHECKPOINT_THREADS_MAX, \
		.help = "threads per rank that make the bytes of chunks meanwhile; 0: a writer makes each chunk before it writes it"), \
	OPT_CHOICE("fill", type, FIELD(fill), .def = CHECKPOINT_FILL_STREAM, .choices = checkpoint_fill_names, \
		.help = "stream: bytes are made while others are written; whole: all bytes of a rank are made in memory, and then written"), \
	OPT_CHOICE("behind", type, FIELD(behind), .def = CHECKPOINT_BEHIND_NONE, .choices = checkpoint_behind_names, \
		.help = "drop: pages are written out and dropped from the page cache one chunk behind the writer")
/* clang-format on */
extern const struct option checkpoint_options_table[];
extern const struct workload checkpoint_workload;

/* The shape that the options ask for on this cluster, complete. store: tells the part of a shared
 * file. */
void checkpoint_shape(const struct job *job, const struct checkpoint_options *o, uint32_t ranks,
		      const struct job_store *store, struct checkpoint_shape *out);
/* The mesh of those who read it. */
void checkpoint_reader_mesh(const struct checkpoint_options *o, const struct checkpoint_shape *s,
			    uint32_t ranks, struct mesh *out);
/* Whether readers ask for ranges, because they have a mesh of their own, or share the weights of a
 * data rank. Otherwise each reads the whole files that one rank wrote. */
bool checkpoint_reads_ranges(const struct checkpoint_options *o, const struct mesh *writers);
/* Checkpoints as a phase of their own, or another phase, asks for them. */
struct checkpoint_use {
	const struct job *job;
	const struct checkpoint_options *options;
	const struct job_store *store;
	const char *path; /* of the options, for messages */
	/* Within another phase: whether that goes on while a checkpoint is written, after a copy;
	 * and how many bytes per second go to the host (0: as many as memory allows). */
	uint32_t snapshot; /* enum checkpoint_snapshot */
	uint64_t d2h;
};
enum checkpoint_snapshot {
	CHECKPOINT_SNAPSHOT_NONE,
	CHECKPOINT_SNAPSHOT_COPY, /* all bytes pass through two windows, and none are kept */
	CHECKPOINT_SNAPSHOT_HOLD  /* all bytes are in memory until they are written */
};
extern const char *const checkpoint_snapshot_names[];

static inline bool checkpoint_writes(const struct checkpoint_options *o)
{
	return o->operation != CHECKPOINT_READ;
}
static inline bool checkpoint_reads(const struct checkpoint_options *o)
{
	return o->operation != CHECKPOINT_WRITE;
}
/* Threads of a rank that consolidate. */
static inline uint64_t checkpoint_consolidators(const struct checkpoint_options *o)
{
	return o->consolidate && checkpoint_writes(o) ? o->consolidators : 0;
}
/* Whether all bytes of a rank are in memory before the first is written. */
static inline bool checkpoint_is_whole(const struct checkpoint_options *o, uint32_t snapshot)
{
	return o->fill == CHECKPOINT_FILL_WHOLE || snapshot == CHECKPOINT_SNAPSHOT_HOLD;
}
/* Whether bytes pass through the ring: where the phase reads, consolidates, or writes what is not in
 * memory as a whole. */
static inline bool checkpoint_has_ring(const struct checkpoint_options *o, uint32_t snapshot)
{
	return checkpoint_reads(o) || checkpoint_consolidators(o) ||
	       !checkpoint_is_whole(o, snapshot);
}

int checkpoint_use_of(const struct job *job, const struct job_phase *phase,
		      struct checkpoint_use *out, struct err *err);

/* What checkpoint_check, checkpoint_size and checkpoint_stores do, for whoever uses checkpoints. */
int checkpoint_check_use(const struct checkpoint_use *use, uint32_t ranks, struct err *err);
int checkpoint_size_use(const struct checkpoint_use *use, uint32_t ranks, uint32_t ranks_per_node,
			struct demand *out, struct err *err);
int checkpoint_stores_use(const struct checkpoint_use *use, uint32_t ranks,
			  struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
			  struct err *err);

/* Checkpoints within another phase, which are a phase of their own in the results. */
struct checkpoint_run;
/* Opens the store and the threads, on every rank. use must live as long. *out NULL: an error. */
int checkpoint_within_open(struct checkpoint_run **out, struct phase_context *ctx,
			   const struct checkpoint_use *use, struct err *err);
/* Writes the next one. Waits until it is whole; or, with a snapshot, until its bytes are copied and
 * the one before is whole. *stopped: why it was not written to its end. No status round may be
 * under way. Collective, main thread, as is the rest but for the two questions. */
int checkpoint_within_write(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);
/* Whether one is being written, on all ranks alike; and whether this rank's threads still write it.
 * r may be NULL. */
bool checkpoint_within_flies(const struct checkpoint_run *r);
bool checkpoint_within_works(const struct checkpoint_run *r);
/* Waits for it and makes it whole, or, with halt, drops what is not written yet. */
int checkpoint_within_land(struct checkpoint_run *r, bool halt, struct err *err);
/* After the last one: waits for the thread that removes older ones, and tells what it could not. r may be NULL. */
int checkpoint_within_end(struct checkpoint_run *r, struct err *err);
/* Its results go into the part. r may be NULL. */
void checkpoint_within_close(struct checkpoint_run *r);

/* Hooks of the workload. */
int checkpoint_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     struct err *err);
/* See struct workload; and the same of the options of whoever uses checkpoints. */
void checkpoint_settle(const struct job *job, struct job_phase *phase, uint32_t ranks);
void checkpoint_settle_use(const struct job *job, struct checkpoint_options *o, uint32_t ranks);
int checkpoint_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		    uint32_t ranks_per_node, struct demand *out, struct err *err);
int checkpoint_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
int checkpoint_tell(const struct job *job, const struct job_phase *phase,
		    const struct rank_place *places, uint32_t ranks, struct arena *arena,
		    struct plan_told *out, struct err *err);

/* columns.c. What a phase "checkpoint" counts: a rank's row, a row per checkpoint, and the histograms. Each
 * list makes an enum here and a table in columns.c.
 *
 * A rank writes (or reads) a checkpoint from the time when all ranks begin to the time when its own
 * last file is published (or its last byte has come); the checkpoint takes as long as the slowest
 * rank. */

/* clang-format off */
#define CHECKPOINT_RANK_LIST(X, BLOCK) \
	X(CHECKPOINT_WRITTEN, "written", "", MAX, "checkpoints written") \
	X(CHECKPOINT_READ_BACK, "read", "", MAX, "checkpoints read") \
	X(CHECKPOINT_FILES_WRITTEN, "files_written", "", SUM, "files written, without markers") \
	X(CHECKPOINT_FILES_READ, "files_read", "", SUM, "files read, or read a part of") \
	REPEAT_LIST(X, CHECKPOINT_WRITE, "write", "all checkpoints written") \
	REPEAT_LIST(X, CHECKPOINT_READ, "read", "all checkpoints read") \
	X(CHECKPOINT_NS_PER_GB, "ns_per_gb", "ns", MAX, \
	  "what the slowest rank took for 10^9 bytes of its own part, written and read") \
	X(CHECKPOINT_WRITE_RATES, "write_rates", "B/s", SUM, \
	  "bytes per second of each checkpoint written, until its slowest rank had done its part; added up") \
	X(CHECKPOINT_READ_RATES, "read_rates", "B/s", SUM, "the same of checkpoints read") \
	X(CHECKPOINT_FILL_NS, "fill_ns", "ns", SUM, \
	  "time in which bytes were made for the writer of each rank that ended last") \
	X(CHECKPOINT_STORE_NS, "store_ns", "ns", SUM, \
	  "time in which that writer had a write, begin or commit under way") \
	X(CHECKPOINT_VERIFY_NS, "verify_ns", "ns", SUM, "time of all threads comparing bytes") \
	X(CHECKPOINT_MARKER_NS, "marker_ns", "ns", MAX, \
	  "publishing markers, by which a checkpoint is whole; in the account of waiting for ranks") \
	X(CHECKPOINT_MEMORY_BYTES, "memory_bytes", "bytes", MAX, \
	  "the most memory that a rank had for bytes of checkpoints: the ring, windows of a copy, or all that is held", \
	  .role = ROLE_MEMORY) \
	X(CHECKPOINT_REMOVED, "removed", "", SUM, "files of older checkpoints removed") \
	X(CHECKPOINT_STALL_NS, "stall_ns", "ns", MAX, \
	  "what whoever asked for checkpoints waited, added over all written") \
	X(CHECKPOINT_DURABLE_NS, "durable_ns", "ns", MAX, \
	  "from when a checkpoint was asked for until all ranks had committed their files, added over all written") \
	X(CHECKPOINT_VISIBLE_NS, "visible_ns", "ns", MAX, \
	  "from when a checkpoint was asked for until its marker, or .metadata, was published, added over all written") \
	X(CHECKPOINT_PURGE_NS, "purge_ns", "ns", MAX, "removing files of older checkpoints") \
	X(CHECKPOINT_INTERVAL_NS, "interval_ns", "ns", MAX, "the option interval") \
	X(CHECKPOINT_MTBF_NS, "mtbf_ns", "ns", MAX, "the option mtbf") \
	X(CHECKPOINT_NEEDED_BYTES, "needed_bytes", "bytes", SUM, \
	  "bytes of tensors that ranks restored from the checkpoints that they read") \
	X(CHECKPOINT_METADATA_READ_NS, "metadata_read_ns", "ns", MAX, \
	  "reading .metadata, of the slowest rank, before it reads items") \
	X(CHECKPOINT_COLLECTIVE_NS, "collective_ns", "ns", MAX, \
	  "plans gathered and scattered, results gathered, of the slowest rank: the messages, which the account collectives has") \
	X(CHECKPOINT_COLLECTIVE_BYTES, "collective_bytes", "bytes", SUM, "bytes that ranks sent for these") \
	X(CHECKPOINT_COLLECTIVES, "collectives", "", MAX, "how many of them there were") \
	X(CHECKPOINT_CONSOLIDATE_NS, "consolidate_ns", "ns", MAX, \
	  "making Hugging Face's files of the shards, until the slowest rank had, added over all written") \
	X(CHECKPOINT_CONSOLIDATE_WRITES, "consolidate_writes", "", SUM, "writes into these files, one per row where columns are shared") \
	X(CHECKPOINT_CONSOLIDATE_BYTES, "consolidate_bytes", "bytes", SUM, "bytes of these writes") \
	X(CHECKPOINT_PAYLOAD_ERRORS, "payload_errors", "", SUM, "reads whose bytes were wrong") \
	NULL_PASS_LIST(X, CHECKPOINT_) \
	COLD_LIST(X, CHECKPOINT_) \
	BLOCK(CHECKPOINT_ACCOUNTS, ACCOUNTS, ACCOUNT_MEASURES)

/* Rows by the number of the checkpoint, from 1. */
#define CHECKPOINT_ROW_LIST(X) \
	X(CHECKPOINT_ROW_WRITE_NS, "write_ns", "ns", MAX, "what the slowest rank took to write it", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_READ_NS, "read_ns", "ns", MAX, "what the slowest rank took to read it", \
	  .counted_by = "bytes_read") \
	X(CHECKPOINT_ROW_BLOCKED_NS, "blocked_ns", "ns", MAX, \
	  "what whoever asked for it waited, for the one before it, too", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_DURABLE_NS, "durable_ns", "ns", MAX, "from when it was asked for until all ranks had committed their files", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_VISIBLE_NS, "visible_ns", "ns", MAX, \
	  "from when it was asked for until its marker, or .metadata, was published", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_MARKER_NS, "marker_ns", "ns", MAX, "publishing the marker, after the slowest rank", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_WRITE_FIRST_NS, "write_first_ns", "ns", MAX, "what the first rank took to write its part", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_READ_FIRST_NS, "read_first_ns", "ns", MAX, "what the first rank took to read its part", \
	  .counted_by = "bytes_read") \
	X(CHECKPOINT_ROW_WRITE_FIRST_BYTES, "write_first_bytes", "bytes", SUM, \
	  "bytes written by all ranks by when the first one had done its part") \
	X(CHECKPOINT_ROW_READ_FIRST_BYTES, "read_first_bytes", "bytes", SUM, \
	  "bytes read by all ranks by when the first one had done its part") \
	X(CHECKPOINT_ROW_BYTES_WRITTEN, "bytes_written", "bytes", SUM, "bytes of its files written") \
	X(CHECKPOINT_ROW_BYTES_READ, "bytes_read", "bytes", SUM, "bytes of its files read") \
	X(CHECKPOINT_ROW_WRITE_START_NS, "write_start_ns", "ns", MAX, "when writing began, since the phase's start", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_READ_START_NS, "read_start_ns", "ns", MAX, "when reading began, since the phase's start", \
	  .counted_by = "bytes_read")

#define CHECKPOINT_HISTOGRAM_LIST(X) \
	X(CHECKPOINT_HIST_WRITE, "write", "time of a write") \
	X(CHECKPOINT_HIST_READ, "read", "time of a read", .role = ROLE_READ_LATENCY) \
	X(CHECKPOINT_HIST_BEGIN, "begin", "time to begin a file") \
	X(CHECKPOINT_HIST_COMMIT, "commit", "time of a commit") \
	X(CHECKPOINT_HIST_SYNC, "sync", "part of a commit: making the bytes durable", .use = HIST_RARE) \
	X(CHECKPOINT_HIST_PUBLISH, "publish", "part of a commit: making the file visible under its name", .use = HIST_OF_COMMITS) \
	X(CHECKPOINT_HIST_OPEN, "open", "an open for reading") \
	X(CHECKPOINT_HIST_DELETE, "delete", "a delete of a file of an older checkpoint", .use = HIST_RARE) \
	X(CHECKPOINT_HIST_CONSOLIDATE_WRITE, "consolidate_write", "a write into a file that is consolidated", .use = HIST_RARE) \
	X(CHECKPOINT_HIST_WRITE_FIRST_ATTEMPT, "write_first_attempt", \
	  "the first attempt at a write, on stores that are tried again", .use = HIST_RARE) \
	X(CHECKPOINT_HIST_READ_FIRST_ATTEMPT, "read_first_attempt", \
	  "the first attempt at a read, on stores that are tried again", .use = HIST_RARE)
/* clang-format on */

enum checkpoint_measure {
	TALLY_ENUM(CHECKPOINT, CHECKPOINT_RANK_LIST(MEASURE_ENUM, MEASURE_BLOCK_ENUM))
};
enum checkpoint_row { CHECKPOINT_ROW_LIST(MEASURE_ENUM) CHECKPOINT_ROW_MEASURES };
enum checkpoint_hist { CHECKPOINT_HISTOGRAM_LIST(HIST_ENUM) CHECKPOINT_HISTS };

enum { CHECKPOINT_TABLE_ROWS, CHECKPOINT_TABLE_ENDPOINTS, CHECKPOINT_TABLES };
extern const struct tally_schema checkpoint_schema;
extern const struct target checkpoint_targets[];

/* Adds a checkpoint that all ranks have written or read, of which bytes are this rank's, to its
 * row. block: CHECKPOINT_WRITE_NS or CHECKPOINT_READ_NS. */
void checkpoint_count_pass(const struct repeat_took *took, uint64_t bytes, unsigned block,
			   uint64_t *row);

/* columns.c. Goodput, from a phase's row of all ranks: C, what a training waits for a checkpoint; R, what a load takes (0
 * where none was measured); T, interval; M, mtbf. Lost is C/T + (T/2 + R)/M. The best interval in seconds is Daly's:
 * sqrt(2CM) (1 + sqrt(C/2M)/3 + C/2M/9) - C, which is M where C >= 2M. NAN: not known. Source: J. T. Daly, "A higher order
 * estimate of the optimum checkpoint interval for restart dumps", 2006; Young's is the first factor alone. */
double checkpoint_best_interval(const uint64_t *row);
double checkpoint_lost_at_best(const uint64_t *row);
double checkpoint_lost(const uint64_t *row);

/* size.c. What the ranks of a mesh write of a checkpoint, before any of it is written. Pure functions; any
 * thread. */

struct checkpoint_written {
	uint64_t weights, optimizer; /* bytes of tensors */
	uint64_t bytes;              /* of files or regions, with their framing */
	uint64_t files;              /* of their own; 0: none, or a region of the shared file */
	/* Memory that holds all files of the rank at once (whole.c); of several ranks, of the one
	 * that needs most. */
	uint64_t memory;
};

/* Each file in memory begins at a multiple of this. */
enum { CHECKPOINT_WHOLE_ALIGNMENT = 4096 };
static inline uint64_t checkpoint_whole_room(uint64_t bytes, uint64_t alignment)
{
	return (bytes + alignment - 1) / alignment * alignment;
}

/* What one rank of the mesh writes. */
int checkpoint_written_by(const struct checkpoint_shape *s, uint64_t rank,
			  struct checkpoint_written *out, struct err *err);

/* What the first ranks of the mesh write together; the shared file counts once. */
int checkpoint_written(const struct checkpoint_shape *s, uint64_t ranks,
		       struct checkpoint_written *out, struct err *err);

/* Ranks of the same pipeline stage hold tensors of the same sizes, but for those of the first data
 * rank, which may be the only ones that write weights. Returns a rank like this one: the first. */
uint64_t checkpoint_rank_like(const struct mesh *mesh, uint64_t rank);

/* Bytes of tensors that a rank of the readers' mesh restores. */
uint64_t checkpoint_restored_by(const struct checkpoint_options *o,
				const struct checkpoint_shape *s, const struct mesh *mesh,
				uint64_t rank);

/* clean.c. `haul clean` for checkpoints: lists the folders of the job's phases, and removes exactly what the
 * markers there describe.
 *
 * A file goes when its name and its size are the marker's; of a checkpoint that was not written to
 * its end, all files of those names go, and what is left of unfinished ones. Then its marker and
 * its folder go, and at last the folder of all, if nothing else is in it. Without a marker nothing
 * is touched. */

int checkpoint_clean_use(struct phase_context *ctx, const struct checkpoint_use *use,
			 struct clean_counts *counts, struct err *err);
/* For who has the lock of the folder: drops the uploads that runs which ended early have left of its checkpoints, whichever those had
 * come to, and says how many. Collective; q is used by rank 0. Where the store does not list uploads, nothing is done. */
void checkpoint_drop_uploads(struct queue *q, struct group *g, const char *folder);

/* The same for all phases "checkpoint" of the job. */
int checkpoint_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

#endif
