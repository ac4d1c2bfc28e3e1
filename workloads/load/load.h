/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "load": loads a model for serving, as inference servers do when they start. Each tensor-parallel rank reads its
 * shard of the model's safetensors files, which haul need not have made.
 *
 *	phase.c    the workload: opens, drops caches, runs, measures
 *	options.c  the table of options, refusals, what a phase asks of the machine
 *	files.c    names of the model's files, from its index or a listing
 *	header.c   a file's header, read and taken apart by each rank; which bytes of a tensor a rank needs and reads
 *	read.c     the threads of a rank
 *	hand.c     handing on, where one rank reads for others
 *	server.c   what servers would do where the phase runs
 *	columns.c  measures, histograms, figures
 *
 * The names are found once, by rank 0. The headers are read by every rank each time, since real loaders do that: each of
 * their processes opens each file. Nothing in a file is trusted. */
#ifndef HAUL_WORKLOADS_LOAD_LOAD_H
#define HAUL_WORKLOADS_LOAD_LOAD_H

#include "core/measure/account.h"
#include "core/measure/tally.h"
#include "core/target.h"
#include "workloads/common/cold.h"
#include "workloads/common/options.h"
#include "workloads/common/repeat.h"
#include "workloads/load/header.h"
#include "workloads/model/tensors.h"
#include "workloads/workload.h"

enum { LOAD_FOLDER_BYTES = 256 };

/* Who reads: each rank its shard, or the first rank of a tensor group everything, for all of
 * them. */
enum load_readers { LOAD_READERS_EACH, LOAD_READERS_FIRST };

/* The way in which a program loads a model: a row of load_patterns (options.c). All go the same way:
 * headers, ranges that the rank reads, pieces of them, threads. */
struct load_pattern {
	const char *name;
	enum load_reads reads;
	/* A thread reads a file from its header to its end before it takes the next one; else the
	 * headers of all files come first, and threads share the pieces of all files. */
	bool by_file;
	bool touch;  /* files are mapped, and read by page faults */
	bool whole;  /* a file is read by one request, into memory of its size */
	bool direct; /* without the page cache, where the store has one */
	bool ahead; /* the threads read whole files into the page cache, while one more loads them */
	bool dealt; /* ranks that share the model divide its pieces, and hand them on among accelerators */
	bool own; /* each rank has files of its own */
	/* As the program has them, where the job does not say. */
	uint64_t threads, chunk, buffers;
	/* What to type; "": the program cannot. */
	const char *vllm, *sglang, *transformers;
};
extern const struct load_pattern load_patterns[];

struct load_options {
	uint32_t pattern;
	char folder[LOAD_FOLDER_BYTES];
	uint64_t count;       /* times that the model is loaded */
	uint64_t pause_ns;    /* between two of them, counted nowhere */
	uint64_t null_passes; /* see common/repeat.h */
	/* Ranks that share a model: tensor * pipeline, or, if there are more of them, experts *
	 * pipeline. tensor 0: cluster.tensor; experts 0: ranks cut each expert as all else. */
	uint64_t tensor, pipeline, experts;
	uint64_t kv_heads;  /* see struct load_part */
	struct model model; /* without layers: none is described */
	uint32_t readers;   /* enum load_readers */
	/* Memory of a rank through which the model streams, in pieces of chunk. */
	uint64_t buffers, chunk;
	uint64_t threads;
	uint64_t gap;       /* struct load_rule */
	uint64_t readahead; /* of a page fault, where the store is a model */
	uint32_t on_error;
	struct cold_options cold;
};
extern const struct option load_options_table[];
extern const struct workload load_workload;

static inline const struct load_pattern *load_pattern(const struct load_options *o)
{
	return &load_patterns[o->pattern];
}

/* Ranks that share a model. */
uint64_t load_sharers(const struct job *job, const struct load_options *o);
/* What the rank of the phase reads, if it reads. */
void load_part(const struct job *job, const struct load_options *o, uint64_t rank,
	       struct load_part *out);

/* Whether the files of the phase are those with which its model is published, on a store that keeps no
 * content (sim://). */
bool load_modelled(const struct job_phase *phase, const struct job_store *store);

/* Hooks of the workload. */
int load_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	       struct err *err);
int load_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	      uint32_t ranks_per_node, struct demand *out, struct err *err);
int load_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);

/* columns.c. What a phase "load" counts: a rank's row, a row for each time that the model is loaded, and the
 * histograms. Each list makes an enum here and a table in columns.c.
 *
 * A rank loads from the time when all ranks begin to the time when its own last byte has come; the
 * model is loaded when the slowest rank has its shard. */

/* clang-format off */
#define LOAD_RANK_LIST(X, BLOCK) \
	X(LOAD_LOADED, "loaded", "", MAX, "times that the model was loaded") \
	X(LOAD_FILES, "files", "", MAX, "files that the model consists of") \
	X(LOAD_HEADER_BYTES, "header_bytes", "bytes", SUM, \
	  "of the bytes read: headers of files, which each rank reads each time") \
	REPEAT_LIST(X, LOAD_LOAD, "load", "all loads") \
	X(LOAD_HEADER_NS, "header_ns", "ns", SUM, \
	  "of the time of loading: until the rank's threads had read all headers") \
	X(LOAD_PARSE_NS, "parse_ns", "ns", SUM, "time of all threads taking headers apart") \
	X(LOAD_MODEL_BYTES, "model_bytes", "bytes", SUM, \
	  "bytes of the tensors of all loads, whoever reads them; counted by the first of the ranks that share a model") \
	X(LOAD_NEEDED_BYTES, "needed_bytes", "bytes", SUM, \
	  "of the tensors: what each rank needs, over all loads") \
	X(LOAD_STORE_BYTES, "store_bytes", "bytes", SUM, \
	  "bytes asked of the store; of files that others read ahead, what was touched is not among them") \
	X(LOAD_READ_PPM, "read_per_needed_ppm", "", MAX, \
	  "millionths: bytes that a rank asked of the store, of what it needs; the rank with the most") \
	X(LOAD_DEVICE_BYTES, "device_bytes", "bytes", SUM, \
	  "bytes that the kernel fetched from storage for the ranks (/proc/self/io), as far as its file system tells") \
	X(LOAD_MAJOR_FAULTS, "major_faults", "", SUM, \
	  "page faults that waited for storage; on a store that is a model, reads of the size of a read-ahead") \
	X(LOAD_MINOR_FAULTS, "minor_faults", "", SUM, "page faults that did not") \
	X(LOAD_MEMORY_BYTES, "memory_most_bytes", "bytes", MAX, "memory of a rank at its highest, since the run began") \
	X(LOAD_HANDED_BYTES, "handed_bytes", "bytes", SUM, "bytes that ranks got from the rank that read them") \
	X(LOAD_HAND_NS, "hand_ns", "ns", SUM, \
	  "time of all reading threads handing on: copying, and waiting for ranks that had no room") \
	NULL_PASS_LIST(X, LOAD_) \
	COLD_LIST(X, LOAD_) \
	BLOCK(LOAD_ACCOUNTS, ACCOUNTS, ACCOUNT_MEASURES)

/* Rows by the number of the load, from 1. */
#define LOAD_ROW_LIST(X) \
	X(LOAD_ROW_START_NS, "start_ns", "ns", MAX, "when loading began, since the phase's start") \
	X(LOAD_ROW_LOAD_NS, "load_ns", "ns", MAX, "what the slowest rank took") \
	X(LOAD_ROW_FIRST_NS, "first_ns", "ns", MAX, "what the first rank took to have its shard") \
	X(LOAD_ROW_FIRST_BYTES, "first_bytes", "bytes", SUM, "bytes that all ranks had read by then") \
	X(LOAD_ROW_HEADER_NS, "header_ns", "ns", MAX, "of that, until a rank had read all headers; the slowest") \
	X(LOAD_ROW_BYTES, "bytes", "bytes", SUM, "bytes that all ranks read from the store") \
	X(LOAD_ROW_HANDED_BYTES, "handed_bytes", "bytes", SUM, "bytes that ranks got from the rank that read them")

#define LOAD_HISTOGRAM_LIST(X) \
	X(LOAD_HIST_READ, "read", "time of a read", .role = ROLE_READ_LATENCY) \
	X(LOAD_HIST_OPEN, "open", "an open for reading") \
	X(LOAD_HIST_READ_FIRST_ATTEMPT, "read_first_attempt", \
	  "the first attempt at a read, on stores that are tried again", .use = HIST_RARE)
/* clang-format on */

enum load_measure { TALLY_ENUM(LOAD, LOAD_RANK_LIST(MEASURE_ENUM, MEASURE_BLOCK_ENUM)) };
enum load_row { LOAD_ROW_LIST(MEASURE_ENUM) LOAD_ROW_MEASURES };
enum load_hist { LOAD_HISTOGRAM_LIST(HIST_ENUM) LOAD_HISTS };

enum { LOAD_TABLE_ROWS, LOAD_TABLE_ENDPOINTS, LOAD_TABLES };
extern const struct tally_schema load_schema;
extern const struct target load_targets[];

#endif
