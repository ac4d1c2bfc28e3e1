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

#include "workloads/train/sampler/order.h"
#include "workloads/train/sampler/shuffle_buffer.h"

struct rank_sequence {
	struct order order;
	uint64_t batch;
	/* Of the replicas (workloads/train/replica.h): ranks that share a batch have the same
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
			     struct arrival *in);

#endif
