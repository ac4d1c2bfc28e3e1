/* A shuffle window, as tf.data's shuffle and DALI's reader have it: samples go in as they are read, and
 * while n are in it, or no more come, one of them, drawn evenly, comes out. So a sample leaves at most n - 1
 * places before its own; how long it stays is not bounded. A function of key and sequence alone.
 *
 * Holds no bytes, only what is known of samples. Belongs to one thread. */
#ifndef HAUL_WORKLOADS_TRAIN_SAMPLER_SHUFFLE_BUFFER_H
#define HAUL_WORKLOADS_TRAIN_SAMPLER_SHUFFLE_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

/* A sample that was read, or could not be. */
struct arrival {
	uint64_t id;
	uint64_t logical_bytes;
	bool failed; /* id is the planned one */
	bool id_from_bytes;
};

struct shuffle_buffer {
	struct arrival *in; /* [n] */
	uint64_t n, key;
	uint64_t count;     /* in it */
	uint64_t came, all; /* that went in, and will */
};

/* Begins an epoch of all samples. n is at least 1, in has n places. */
void shuffle_buffer_begin(struct shuffle_buffer *w, struct arrival *in, uint64_t n, uint64_t key,
			  uint64_t all);

/* Before the first is taken out, the first shuffle_buffer_ahead samples stand at in[0], in[1], ... */
static inline uint64_t shuffle_buffer_ahead(uint64_t n, uint64_t all)
{
	return n - 1 < all ? n - 1 : all;
}

/* The next comes out. next: the one that comes in for it, NULL where none is left (shuffle_buffer_more). */
bool shuffle_buffer_more(const struct shuffle_buffer *w);
struct arrival shuffle_buffer_take(struct shuffle_buffer *w, const struct arrival *next);

#endif
