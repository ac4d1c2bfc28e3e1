/* The phase "io": plain reads, writes and operations on names, as IOR, mdtest, elbencho and fio do
 * them, on every store, with the accounts and results of the other phases.
 *
 *	io.c           the workload: opens, runs, agrees on the outcome
 *	io_options.c   the options' table, refusals; io_size.c what a phase asks of the machine
 *	io_measures.c  measures, figures, histograms; from the threads to the tally
 *	io_set.c       the objects that phases share: their names, and what of them stands
 *	io_clean.c     their removal by `haul clean`
 *	io_share.c     which part of a set is whose, and in which order
 *	io_work.c      a thread's loop; io_data.c reads and writes; io_names.c all else
 *	io_pace.c      when an operation starts; io_series.c how many were done when
 *	io_cold.c      reads from the storage and not from this client's page cache */
#ifndef HAUL_WORKLOADS_IO_IO_H
#define HAUL_WORKLOADS_IO_IO_H

#include "workloads/common/cold.h"
#include "workloads/io/columns.h"
#include "workloads/workload.h"

enum io_operation {
	IO_DO_WRITE,
	IO_DO_READ,
	IO_DO_MIXED,
	IO_DO_STAT,
	IO_DO_CREATE,
	IO_DO_RENAME,
	IO_DO_LIST,
	IO_DO_DELETE
};
enum io_layout { IO_OBJECTS, IO_SEGMENTED, IO_STRIDED };
enum io_order { IO_SEQUENTIAL, IO_RANDOM, IO_REPLACEMENT };
enum io_shift { IO_SHIFT_NODE, IO_SHIFT_RANK, IO_SHIFT_NONE };
enum io_verify { IO_VERIFY_NONE, IO_VERIFY_SAMPLED, IO_VERIFY_FULL };
enum io_on_error { IO_ERROR_STOP, IO_ERROR_COUNT };
enum io_arrivals { IO_PACED, IO_CONSTANT, IO_POISSON };

enum { IO_FOLDER_BYTES = 128, IO_PAYLOAD_SAMPLE = 4096 };

struct io_options {
	uint32_t operation;
	double read_share; /* mixed */
	char folder[IO_FOLDER_BYTES];
	uint32_t layout;
	bool folder_per_rank;
	uint64_t objects, size, block; /* objects: a rank */
	uint32_t order;
	uint64_t depth, threads, batch;
	uint64_t passes, count, bytes, seconds_ns, warmup_ns;
	bool stonewall;
	uint32_t shift, verify, on_error;
	bool discard;
	double compress, dedup;
	uint64_t dedup_distance;
	double rate; /* operations a second, all ranks */
	uint64_t bandwidth;
	uint32_t arrivals;
	struct cold_options cold;
};
extern const struct option io_options_table[];
extern const struct workload io_workload;

static inline bool io_moves(const struct io_options *o)
{
	return o->operation <= IO_DO_MIXED;
}

static inline bool io_reads(const struct io_options *o)
{
	return o->operation == IO_DO_READ || o->operation == IO_DO_MIXED;
}

static inline bool io_writes(const struct io_options *o)
{
	return o->operation == IO_DO_WRITE || o->operation == IO_DO_MIXED;
}

/* The store of the phase. -EINVAL with the phase's path. */
int io_store(const struct job *job, const struct job_phase *phase, const struct job_store **store,
	     struct err *err);

uint32_t io_needs(const void *options);
int io_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
int io_check(const struct job *job, const struct job_phase *phase, uint32_t ranks, struct err *err);
int io_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	    uint32_t ranks_per_node, struct demand *out, struct err *err);

/* Items of work that a rank has in one pass: blocks, objects, or its listing. */
uint64_t io_items(const struct io_options *o);
/* Operations of a thread at most, of items in a pass; UINT64_MAX: until its time is over. */
uint64_t io_limit(const struct io_options *o, uint64_t items);

#endif
