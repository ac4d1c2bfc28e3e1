/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "io": plain reads, writes and operations on names, as IOR, mdtest, elbencho, fio and warp do them, on every
 * store, with the accounts and results of the other phases.
 *
 *	phase.c     the workload: opens, runs, agrees on the outcome
 *	options.c   the table of options, refusals; size.c: what a phase asks of the machine
 *	measures.c  from the threads to the tally, and where their requests are counted
 *	set.c       the objects that phases share: their names, and which of them exist, `haul clean`;
 *	            sizes.c: their sizes
 *	share.c     which part of a set belongs to whom, and in which order
 *	work.c      a thread and its operations; data.c: blocks; whole.c: whole objects; mix.c: which operation on which of
 *	            them; names.c: all else
 *	cold.c      reads from the storage and not from this client's page cache */
#ifndef HAUL_WORKLOADS_IO_IO_H
#define HAUL_WORKLOADS_IO_IO_H

#include "workloads/common/cold.h"
#include "workloads/common/options.h"
#include "workloads/io/columns.h"
#include "workloads/io/sizes.h"
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

enum { IO_FOLDER_BYTES = 128 };
/* Objects that a thread may have open beyond one for each operation in flight. */
enum { IO_HANDLES_MIN = 64 };
#define IO_PASSES_ABSENT UINT64_MAX

/* Shares of the operations of a mix, in proportion to each other; all 0: none is given. */
struct io_mix_options {
	double get, put, stat, remove, list;
};

/* What an operation on a whole object is. */
enum io_kind { IO_GET, IO_PUT, IO_STAT, IO_DELETE, IO_LIST, IO_KINDS };

struct io_options {
	uint32_t operation;
	double read_share;         /* mixed */
	struct io_mix_options mix; /* mixed, of whole objects */
	char folder[IO_FOLDER_BYTES];
	uint32_t layout;
	bool folder_per_rank;
	uint64_t objects, block; /* objects: of a rank; block 0: not given, see io_complete */
	uint64_t size;           /* 0: not given, see io_size_of */
	struct io_size_option sizes[IO_SIZES_MAX];
	uint32_t size_count; /* 0: all objects have one size */
	uint32_t order;
	uint64_t depth, threads, batch, parts;
	uint64_t passes; /* IO_PASSES_ABSENT: not given, see io_complete */
	struct limit_options limits;
	bool stonewall;
	uint32_t shift, verify, on_error;
	bool discard;
	double compress, dedup;
	uint64_t dedup_distance;
	struct pace_options pace;
	struct cold_options cold;
};
extern const struct option io_options_table[];
extern const char *const io_layout_names[], *const io_order_names[];
extern const struct workload io_workload;

static inline bool io_moves(const struct io_options *o)
{
	return o->operation <= IO_DO_MIXED;
}

static inline bool io_reads(const struct io_options *o)
{
	return o->operation == IO_DO_READ || o->operation == IO_DO_MIXED;
}

/* Nothing of the store is changed. */
static inline bool io_only_reads(const struct io_options *o)
{
	return o->operation == IO_DO_READ || o->operation == IO_DO_STAT ||
	       o->operation == IO_DO_LIST;
}

static inline bool io_writes(const struct io_options *o)
{
	return o->operation == IO_DO_WRITE || o->operation == IO_DO_MIXED;
}

static inline bool io_mix_given(const struct io_options *o)
{
	return o->mix.get + o->mix.put + o->mix.stat + o->mix.remove + o->mix.list > 0;
}

/* Whether an operation is a whole object, read or written as one: where sizes are drawn, in a mix,
 * and where a mixed phase works on a store that writes nothing in place. Else it is a block.
 * capabilities: the store's. */
bool io_whole(const struct io_options *o, uint32_t capabilities);

/* Shares of the operations of a mixed phase on whole objects; they add up to 1. */
void io_mix_shares(const struct io_options *o, double shares[IO_KINDS]);

/* Bytes of an object where all have one size; and on average. */
uint64_t io_size_of(const struct io_options *o);
double io_size_mean(const struct io_options *o);
/* Bytes that an operation moves on average. */
double io_operation_bytes(const struct io_options *o, bool whole);

/* What was left out and depends on other things: the block, which the store decides, and the
 * passes: a mix that has "seconds" lasts as long, everything else is one pass. */
void io_complete(const struct job *job, struct job_phase *phase);
uint32_t io_needs(const void *options);
int io_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
int io_check(const struct job *job, const struct job_phase *phase, uint32_t ranks, struct err *err);
int io_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	    uint32_t ranks_per_node, struct demand *out, struct err *err);

/* set.c: for the folders of all io phases of the job. 0 also where there is no description, or the
 * store keeps nothing. */
int io_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

/* Items of work that a rank has in one pass: blocks, objects, or listings. Parts of the listing of
 * a folder that all ranks share are divided among them: all of these count here. */
uint64_t io_items(const struct io_options *o, bool whole);
/* Operations of a thread at most, for that number of items in a pass; UINT64_MAX: until its time is
 * over. A limit of bytes limits operations only where each of them is a block. */
uint64_t io_limit(const struct io_options *o, uint64_t items, bool whole);

#endif
