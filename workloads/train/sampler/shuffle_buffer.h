/* SPDX-License-Identifier: Apache-2.0 */
/* Shuffle buffer, as tf.data's shuffle and DALI's reader have it. Samples go in as they are read.
 * While n samples are in it, or no more come, one of them is drawn at random and comes out. So a
 * sample comes out at most n - 1 places earlier than it was read; how much later is not bounded.
 * The draws depend on the key alone.
 *
 * It holds no bytes of samples, only what is known about them. Belongs to one thread. */
#ifndef HAUL_WORKLOADS_TRAIN_SAMPLER_SHUFFLE_BUFFER_H
#define HAUL_WORKLOADS_TRAIN_SAMPLER_SHUFFLE_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

/* A sample that was read, or could not be read. */
struct arrival {
	uint64_t id;
	uint64_t logical_bytes;
	bool failed; /* then id is the planned one */
	bool id_from_bytes;
};

struct shuffle_buffer {
	struct arrival *in; /* [n] */
	uint64_t n, key;
	uint64_t count;     /* samples in the buffer now */
	uint64_t came, all; /* samples that have gone in so far, and that will in the whole epoch */
};

/* Begins an epoch of all samples. n is at least 1, and in has room for n. */
void shuffle_buffer_begin(struct shuffle_buffer *b, struct arrival *in, uint64_t n, uint64_t key,
			  uint64_t all);

/* How many samples are read before the first comes out; the caller puts them at in[0], in[1],
 * ... */
static inline uint64_t shuffle_buffer_ahead(uint64_t n, uint64_t all)
{
	return n - 1 < all ? n - 1 : all;
}

/* Whether samples are still to come. */
bool shuffle_buffer_more(const struct shuffle_buffer *b);

/* Takes one sample out. next: the sample that goes in for it, or NULL where none is to come. */
struct arrival shuffle_buffer_take(struct shuffle_buffer *b, const struct arrival *next);

#endif
