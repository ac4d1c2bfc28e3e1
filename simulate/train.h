/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "train" in virtual time: what its files share. It follows workloads/train/ step by step: where that
 * has a thread, there is an actor here.
 *
 *	train.c          the phase: what it needs, its epochs, its barriers
 *	train_step.c     the main thread of a rank: batches, compute, what is counted
 *	train_loader.c   which reader takes which work, and when a batch is whole
 *	train_reader.c   a reader: samples, their requests, preprocessing */
#ifndef HAUL_SIMULATE_TRAIN_H
#define HAUL_SIMULATE_TRAIN_H

#include "simulate/checkpoint.h"
#include "simulate/simulate.h"
#include "workloads/formats/reader_cache.h"
#include "workloads/train/loader/loader.h"
#include "workloads/train/train.h"

enum { SOURCE_TRAIN, SOURCE_EVALUATION, SOURCES };

struct train_model;
struct model_rank;
struct model_reader;

/* A data set on its store. */
struct model_input {
	struct dataset dataset;
	const struct job_store *described;
	struct virtual_store *store;
	uint32_t depth;
	uint64_t request_bytes;
	struct rank_sequence sequence; /* without the rank */
};

enum model_slot_state { MODEL_LEAVE, MODEL_OPEN, MODEL_READ, MODEL_CLOSE, MODEL_OVER };

/* A sample on its way: struct sample_read. */
struct model_slot {
	enum model_slot_state state;
	bool ready, failed;
	uint32_t opened, flying, extent, extent_count, extent_room;
	uint64_t next, sample, at, began_ns;
	uint64_t stream_end;
	uint64_t keys[FORMAT_OBJECTS_MAX];
	struct extent *extents;
	struct reader_cache cache;
	struct layout layout;
};

/* A request on its way. */
struct model_flight {
	struct actor actor;
	struct model_reader *reader;
	struct model_slot *slot;
	struct sim_ask ask;
	struct sim_answer answer;
};

struct model_reader {
	struct actor actor; /* woken when preprocessing ends */
	struct model_rank *rank;
	uint32_t index;
	bool waits; /* for a credit */
	struct model_slot *slots, **idle, **ready;
	struct model_flight *flights, **free;
	uint32_t idle_count, ready_count, free_count;
	struct random random;
	/* The work at hand: [next, to) of the sequence, for batch `step`. */
	uint64_t step, next, to, position, sample, undone, mark_ns;
	struct model_part *part;
};

/* What a reader has of a batch. */
struct model_part {
	uint64_t number, samples, failed, bytes, blamed[ACCOUNTS];
};
struct model_batch {
	uint64_t left; /* work items that have not ended */
	bool filled;
	uint32_t last; /* the reader that ended it */
};
struct model_queue {
	uint64_t credits, next;
};

struct model_rank {
	struct actor actor; /* woken when compute ends */
	struct train_model *m;
	uint32_t rank; /* in the phase */
	enum replica_role role;
	struct rank_sequence sequence; /* of the epoch */
	struct model_reader *readers;
	struct model_batch *batches;
	struct model_part *parts;
	struct model_queue *queues;
	struct random random;
	struct accounts accounts, before;
	/* The row under way. */
	uint32_t row_index, source;
	uint64_t epoch, steps, k, steps_done;
	uint64_t epoch_row[EPOCH_MEASURES];
	uint64_t began_ns, first_ns, blocked_ns;
	/* The step under way. */
	uint64_t start_ns, batch_ns, asked_ns, computed_ns;
	uint64_t awaited; /* number of the batch, + 1; 0: it waits for none */
	uint64_t first_number;
	bool ended;
	/* Of a replica's reader: batches that it has handed over in this row. */
	uint64_t handed;
	struct model_part handed_part;
};

struct train_model {
	struct engine engine;
	const struct simulation *s;
	struct simulated *out;
	const struct job_phase *phase;
	const struct train_options *o;
	struct model_input inputs[SOURCES];
	struct replicas replicas;
	uint32_t ranks;
	struct model_rank *rank;
	/* A reader has ended its work; the batch that a rank waits for is whole. */
	void (*ended)(struct model_reader *w);
	void (*filled)(struct model_rank *r);
	/* Of the loader of a rank. */
	uint32_t readers, read_slots, depth, queues, parts, batches;
	uint64_t queue_items, batch_items;
	struct extent scratch[FORMAT_EXTENTS_MAX];
	/* The barrier of a step, or of an epoch. */
	uint32_t arrived;
	uint64_t limit_ns;
	bool stopped;
	struct checkpoint_model *checkpoint; /* NULL: none are written */
	struct actor checkpoint_done, copied;
	uint64_t checkpoint_began_ns;
	bool waits_for_whole; /* a checkpoint is due, and the one before is not whole */
};

/* train_loader.c: the loader of a rank; begins an epoch; the batch k was taken. */
int model_loader_open(struct model_rank *r, struct err *err);
void model_loader_close(struct model_rank *r);
void model_loader_begin(struct model_rank *r);
void model_loader_give(struct model_rank *r, uint64_t k);
/* Whether batch k is whole, and then what it has. Without workers, its building begins. */
bool model_loader_take(struct model_rank *r, uint64_t k, struct model_part *out);
/* A reader has ended its work item, and takes the next. */
void model_loader_ended(struct model_reader *w);

/* train_reader.c */
int model_reader_open(struct model_reader *w, struct err *err);
void model_reader_close(struct model_reader *w);
/* Reads [from, to) of the sequence for batch k. */
void model_reader_build(struct model_reader *w, uint64_t k, uint64_t from, uint64_t to);
void model_reader_epoch(struct model_reader *w);

/* train_step.c */
void model_step_begin(struct model_rank *r);
/* The batch that r waits for is there. */
void model_step_batch(struct model_rank *r);
/* All ranks have come to the barrier of the step, at now. */
void model_step_met(struct model_rank *r, uint64_t met_ns);
void model_row_begin(struct model_rank *r, uint64_t now_ns);
void model_row_end(struct model_rank *r, uint64_t ended_ns);
void model_rank_count(struct model_rank *r);

/* train.c: r has come to the barrier of its step, or to the end of its row. */
void model_arrive(struct model_rank *r);
void model_row_over(struct model_rank *r);

static inline struct model_input *model_input(const struct model_rank *r)
{
	return &r->m->inputs[r->source];
}

#endif
