/* What a rank reads of an epoch, in the order in which it reads it: its sample at q = 0, 1, 2, ... as a
 * function. And when each arrives for which batch, where batches come out of a shuffle window.
 *
 *	one by one  q is the place q % B of the batch of step q / B (order_position)
 *	streams     q is a record of the rank's own files, `interleave` of them read side by side, a record
 *	            of each in turn: tf.data's interleave. All files have equally many records, so that this
 *	            too is a function. A rank has every P-th file of the order (P ranks), as tf.data's
 *	            shard; with fewer files than ranks it reads all, and takes one of every P records, another
 *	            in turn, so that they are not all of one file
 *
 * Read-only after sequence_init and order_epoch; any thread. */
#ifndef HAUL_WORKLOADS_TRAIN_SAMPLER_RANK_SEQUENCE_H
#define HAUL_WORKLOADS_TRAIN_SAMPLER_RANK_SEQUENCE_H

#include "workloads/train/sampler/order.h"
#include "workloads/train/sampler/shuffle_buffer.h"

struct rank_sequence {
	struct order order;
	uint64_t batch;
	uint32_t rank, ranks;
	uint32_t interleave; /* 0: one by one */
	uint64_t window;     /* samples; 0: batches are what is read */
	uint64_t samples;    /* of this rank, in whole batches: the same on all */
};

/* order, batch, rank, ranks, interleave and window are set. */
void sequence_init(struct rank_sequence *s);

/* Batches of an epoch. */
uint64_t sequence_batches(const struct order *o, bool streams, uint64_t batch, uint32_t ranks);

/* The sample (file * samples_per_file + k) at q < samples. */
uint64_t sequence_at(const struct rank_sequence *s, uint64_t q);

/* Streams: which of the files read side by side q is of, 0 … interleave - 1; and the first from q on that
 * is of that one, or end where there is none before end. */
uint32_t sequence_stream(const struct rank_sequence *s, uint64_t q);
uint64_t sequence_stream_next(const struct rank_sequence *s, uint32_t stream, uint64_t q,
			      uint64_t end);

/* What has to be read for batch k after that of batch k - 1: [*from, *to). With a window batch 0 needs it
 * full. */
void sequence_arrivals(const struct rank_sequence *s, uint64_t k, uint64_t *from, uint64_t *to);

/* The epoch's window, where there is one, with its samples at in. */
void sequence_shuffle_buffer(const struct rank_sequence *s, struct shuffle_buffer *w,
			     struct arrival *in);

#endif
