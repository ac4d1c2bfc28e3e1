/* The phase "train": epochs of batches from a data set, emulated compute, synchronisation of ranks,
 * and where the time went. Its options, measures and figures; what it needs and how it is sized.
 *
 *	train.c           the workload: opens what the passes need, runs them, agrees on the outcome
 *	train_options.c   the options' tables, refusals
 *	train_size.c      what a phase asks of the machine; train_reads.c what a sample costs
 *	train_measures.c  the tables of measures, figures and histograms
 *	train_pass.c      the loop over epochs; train_step.c one step; train_count.c what workers counted
 *	train_cold.c     epochs whose data left the page cache before
 *	train_proof.c     each sample exactly once
 *	train_null.c      the same loop on null:// */
#ifndef HAUL_WORKLOADS_TRAIN_TRAIN_H
#define HAUL_WORKLOADS_TRAIN_TRAIN_H

#include "workloads/common/cold.h"
#include "workloads/dataset/dataset.h"
#include "workloads/train/columns.h"
#include "workloads/train/sampler/order.h"
#include "workloads/workload.h"

enum train_shuffle_order { SHUFFLE_NONE, SHUFFLE_EACH_EPOCH, SHUFFLE_ONCE };
enum train_sync { SYNC_STEP, SYNC_EPOCH, SYNC_NONE };
enum train_on_error { ON_ERROR_STOP, ON_ERROR_COUNT };

struct train_stream {
	uint64_t interleave, transfer;
};

struct train_loader {
	uint32_t kind;
	struct train_stream stream;
	uint64_t workers, prefetch;
	uint64_t depth; /* 0: train_depth says */
	uint64_t keep;  /* groups of samples, of the file a reader has open */
	bool pin_memory;
	uint64_t h2d; /* bytes a second; 0: not emulated */
};

struct train_shuffle {
	uint32_t order;
	bool files, samples; /* both: one permutation of all samples */
	bool whole_files;    /* ... but a file's samples stay together */
	uint64_t window;     /* samples come out of one of so many; 0: none */
};

struct train_evaluation {
	char dataset[JOB_NAME_BYTES];
	uint64_t every, batch;
	struct draw compute;
};

struct train_options {
	char dataset[JOB_NAME_BYTES];
	uint64_t epochs, steps, seconds_ns, batch;
	struct draw compute, preprocess;
	struct train_loader loader;
	struct train_shuffle shuffle;
	uint32_t sync;
	uint64_t warmup_steps;
	uint32_t decode, verify, on_error;
	uint64_t buffers;
	struct train_evaluation evaluation;
	struct cold_options cold;
	uint64_t null_steps;
};
extern const struct option train_options[];
extern const struct workload train_workload;

int train_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		struct err *err);
int train_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
int train_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	       uint32_t ranks_per_node, struct demand *out, struct err *err);
const struct tally_schema *train_schema_for(const struct job_phase *phase, struct arena *arena);

/* A data set as the phase uses it. */
int train_dataset(const struct job *job, const struct job_phase *phase, const char *name,
		  struct dataset *d, const struct job_store **store, struct err *err);

void train_order(const struct train_options *o, const struct dataset *d, uint64_t seed,
		 struct order *order);

/* Of a sample of mean size, in the mean over an epoch in that order. */
struct train_reads {
	double bytes; /* moved */
	double opens;
};
void train_reads(const struct train_options *o, const struct job_store *store,
		 const struct dataset *d, enum order_kind kind, uint64_t batch, uint32_t ranks,
		 struct train_reads *out);

/* Samples of the shuffle window; 0: none. */
uint64_t train_shuffle_samples(const struct train_options *o);

/* Files read side by side as streams; 0: samples are read one by one. */
uint32_t train_interleave(const struct train_options *o);

/* Steps of an epoch of d. */
uint64_t train_steps(const struct train_options *o, const struct dataset *d, uint64_t batch,
		     uint32_t ranks);

/* Requests that a worker has in flight, of this data set on this store. */
uint32_t train_depth(const struct train_options *o, const struct job_store *store,
		     const struct dataset *d);
/* Windows that a worker has, with so many requests in flight, and the bytes of each. */
uint32_t train_buffer_count(const struct train_options *o, uint32_t depth);
uint64_t train_buffer_bytes(const struct train_options *o, uint32_t depth);
/* The longest range read at once (UINT64_MAX: any); and room for what is checked of it. */
uint64_t train_longest(const struct train_options *o, const struct dataset *d);
uint64_t train_extent(const struct train_options *o, const struct dataset *d);
/* What the loader asks a store for at once, and the memory it has for that. */
struct train_sizes {
	uint64_t wanted;  /* by the store's range or the loader's piece */
	uint64_t request; /* what of it there is memory for; all of it where it is streamed */
	uint64_t window;  /* 0 where the store gives no bytes */
};
/* capabilities: the backend's; range: the store's; budget: what a window may take. */
void train_sizes(const struct train_options *o, const struct dataset *d, uint32_t capabilities,
		 uint64_t range, uint64_t budget, struct train_sizes *out);

#endif
