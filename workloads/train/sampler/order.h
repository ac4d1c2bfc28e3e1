/* SPDX-License-Identifier: Apache-2.0 */
/* Order of an epoch: which sample stands at which position, as a function. It takes constant
 * memory, each position is computed on its own, and the order is the same for any number of ranks.
 *
 * In step s, the replica r (a rank, unless several ranks share a batch: workloads/train/replica.h)
 * reads the positions s * G + r * B + j with j in [0, B). B is the batch, and G = B * replicas the
 * global batch. The tail that does not fill a last G is dropped.
 *
 * Read-only after order_epoch; any thread may read. */
#ifndef HAUL_WORKLOADS_TRAIN_SAMPLER_ORDER_H
#define HAUL_WORKLOADS_TRAIN_SAMPLER_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/content/permutation.h"

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

/* The file at position, in orders in which a file's samples stay together. */
uint64_t order_file(const struct order *o, uint64_t position);

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

#endif
