/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "load": loads a model for serving, as inference servers do when they start. Each tensor-parallel rank reads its
 * shard of the model's safetensors files, which haul need not have made.
 *
 *	phase.c    the workload: opens, drops caches, runs, measures
 *	options.c  the table of options, refusals, what a phase asks of the machine
 *	files.c    names of the model's files, from its index or a listing
 *	header.c   a file's header, read and taken apart by each rank; which bytes of a tensor a rank reads
 *	read.c     the threads of a rank
 *	hand.c     handing on, where one rank reads for others
 *	columns.c  measures, histograms, figures
 *
 * The names are found once, by rank 0. The headers are read by every rank each time, since real loaders do that: each of
 * their processes opens each file. Nothing in a file is trusted. */
#ifndef HAUL_WORKLOADS_LOAD_LOAD_H
#define HAUL_WORKLOADS_LOAD_LOAD_H

#include "workloads/common/cold.h"
#include "workloads/common/options.h"
#include "workloads/load/header.h"
#include "workloads/model/tensors.h"
#include "workloads/workload.h"

enum { LOAD_FOLDER_BYTES = 256 };

/* Who reads: each rank its shard, or the first rank of a tensor group everything, for all of
 * them. */
enum load_readers { LOAD_READERS_EACH, LOAD_READERS_FIRST };

struct load_options {
	char folder[LOAD_FOLDER_BYTES];
	uint64_t count;       /* times that the model is loaded */
	uint64_t pause_ns;    /* between two of them, counted nowhere */
	uint64_t null_passes; /* see common/null_pass.h */
	uint64_t tensor;      /* ranks that share a model; 0: cluster.tensor */
	uint64_t kv_heads;    /* see struct load_part */
	struct model model;   /* without layers: none is described */
	uint32_t readers;     /* enum load_readers */
	/* Memory of a rank through which the model streams, in pieces of chunk. */
	uint64_t buffers, chunk;
	uint64_t threads;
	uint32_t on_error;
	struct cold_options cold;
};
extern const struct option load_options_table[];
extern const struct workload load_workload;

/* Ranks that share a model. */
uint64_t load_tensor(const struct job *job, const struct load_options *o);
/* What the rank of the phase reads, if it reads. */
void load_part(const struct job *job, const struct load_options *o, uint64_t rank,
	       struct load_part *out);

/* Hooks of the workload. */
int load_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	       struct err *err);
int load_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	      uint32_t ranks_per_node, struct demand *out, struct err *err);
int load_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);

#endif
