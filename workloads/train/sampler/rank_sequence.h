/* SPDX-License-Identifier: Apache-2.0 */
/* Rank sequence: what a rank reads in an epoch, in the order in which it reads it, as a function of q = 0, 1, 2, ...
 * Where batches come out of a shuffle buffer, it also says what has to be read for which batch.
 *
 *	one by one  q is the place q % B of the batch of step q / B (order_position)
 *	streams     q is a record of the rank's own files. `interleave` files are read side by side, one record
 *	            of each in turn, as tf.data's interleave does. All files have the same number of records, so
 *	            this is a function, too. A rank has every R-th file of the order, of R replicas, as
 *	            tf.data's shard gives them out. With fewer files than replicas it reads all files and takes
 *	            one of every R records, at a place that moves on, so that they are not all of one file
 *
 * Read-only after sequence_init and order_epoch; any thread may read. */
#ifndef HAUL_WORKLOADS_TRAIN_SAMPLER_RANK_SEQUENCE_H
#define HAUL_WORKLOADS_TRAIN_SAMPLER_RANK_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/content/permutation.h"

/* Order of an epoch: which sample stands at which position, as a function. It takes constant
 * memory, each position is computed on its own, and the order is the same for any number of ranks.
 *
 * In step s, the replica r (a rank, unless several ranks share a batch: workloads/train/parallel.c)
 * reads the positions s * G + r * B + j with j in [0, B). B is the batch, and G = B * replicas the
 * global batch. The tail that does not fill a last G is dropped.
 *
 * Read-only after order_epoch; any thread may read. */

enum order_kind {
	ORDER_AS_IS,   /* position k is sample k */
	ORDER_ALL,     /* one permutation of all samples */
	ORDER_FILES,   /* files are permuted, each read from its first sample to its last */
	ORDER_SAMPLES, /* files in their order, samples permuted inside each */
	ORDER_BOTH     /* files permuted, and samples inside each: a file's samples stay together */
};

struct order {
	enum order_kind kind;
	bool each_epoch; /* else all epochs have the order of the first */
	uint64_t seed;
	uint64_t files, samples_per_file, samples;
	uint64_t key;           /* of this epoch */
	struct permutation all; /* of all samples, or of all files */
};

/* Begins with epoch 1. files and samples_per_file are at least 1. */
void order_init(struct order *o, enum order_kind kind, bool each_epoch, uint64_t seed,
		uint64_t files, uint64_t samples_per_file);

void order_epoch(struct order *o, uint64_t epoch);

/* The sample (file * samples_per_file + k) at position. */
uint64_t order_at(const struct order *o, uint64_t position);

/* The same, where before is the sample at position - 1: cheaper where the two are neighbours in a
 * file. */
uint64_t order_next(const struct order *o, uint64_t position, uint64_t before);

/* Whole steps in an epoch of these samples. */
static inline uint64_t order_steps(uint64_t samples, uint64_t batch, uint32_t replicas)
{
	return samples / (batch * replicas);
}

static inline uint64_t order_position(uint64_t step, uint64_t batch, uint32_t replicas,
				      uint32_t replica, uint64_t j)
{
	return (step * replicas + replica) * batch + j;
}

/* Shuffle buffer, as tf.data's shuffle and DALI's reader have it. Samples go in as they are read.
 * While n samples are in it, or no more come, one of them is drawn at random and comes out. So a
 * sample comes out at most n - 1 places earlier than it was read; how much later is not bounded.
 * The draws depend on the key alone.
 *
 * It holds no bytes of samples, only what is known about them. Belongs to one thread. */

/* A sample that was read, or could not be read. */
struct brought_sample {
	uint64_t id;
	uint64_t logical_bytes;
	bool failed; /* then id is the planned one */
	bool id_from_bytes;
};

struct shuffle_buffer {
	struct brought_sample *in; /* [n] */
	uint64_t n, key;
	uint64_t count;     /* samples in the buffer now */
	uint64_t came, all; /* samples that have gone in so far, and that will in the whole epoch */
};

/* Begins an epoch of all samples. n is at least 1, and in has room for n. */
void shuffle_buffer_begin(struct shuffle_buffer *b, struct brought_sample *in, uint64_t n,
			  uint64_t key, uint64_t all);

/* How many samples are read before the first comes out; the caller puts them at in[0], in[1],
 * ... */
static inline uint64_t shuffle_buffer_ahead(uint64_t n, uint64_t all)
{
	return n - 1 < all ? n - 1 : all;
}

/* Whether samples are still to come. */
bool shuffle_buffer_more(const struct shuffle_buffer *b);

/* Takes one sample out. next: the sample that goes in for it, or NULL where none is to come. */
struct brought_sample shuffle_buffer_take(struct shuffle_buffer *b,
					  const struct brought_sample *next);

struct rank_sequence {
	struct order order;
	uint64_t batch;
	/* Of the replicas (workloads/train/parallel.c): ranks that share a batch have the same
	 * sequence. */
	uint32_t rank, ranks;
	uint32_t interleave;      /* 0: one by one */
	uint64_t shuffle_samples; /* of the shuffle buffer; 0: a batch is what is read for it */
	uint64_t samples;         /* in whole batches; the same for all replicas */
};

/* order, batch, rank, ranks, interleave and shuffle_samples are set. */
void sequence_init(struct rank_sequence *s);

/* Batches of an epoch. */
uint64_t sequence_batches(const struct order *o, bool streams, uint64_t batch, uint32_t ranks);

/* The sample (file * samples_per_file + k) at q < samples. */
uint64_t sequence_at(const struct rank_sequence *s, uint64_t q);
/* The same, where before is the sample at position q - 1: cheaper where the two are neighbours in a
 * file. */
uint64_t sequence_next(const struct rank_sequence *s, uint64_t q, uint64_t before);

/* Streams, 0 ... interleave - 1, are the files that are read side by side: the first position from q
 * on that belongs to stream, or end where there is none before end. */
uint64_t sequence_stream_next(const struct rank_sequence *s, uint32_t stream, uint64_t q,
			      uint64_t end);

/* What has to be read for batch k after all that was read for batch k - 1: [*from, *to). With a
 * shuffle buffer, batch 0 needs it full. */
void sequence_arrivals(const struct rank_sequence *s, uint64_t k, uint64_t *from, uint64_t *to);

/* Begins the epoch's shuffle buffer, where there is one, with its samples at in. */
void sequence_shuffle_buffer(const struct rank_sequence *s, struct shuffle_buffer *b,
			     struct brought_sample *in);

#endif
