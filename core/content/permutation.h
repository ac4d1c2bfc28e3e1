/* SPDX-License-Identifier: Apache-2.0 */
/* Keyed permutation of [0, n): an unbalanced Feistel network of 8 rounds over ceil(log2 n) bits
 * with cycle walking; up to 16 numbers are shuffled. It takes constant memory and gives any element
 * without the others. Threads may share the const object. */
#ifndef HAUL_CORE_CONTENT_PERMUTATION_H
#define HAUL_CORE_CONTENT_PERMUTATION_H

#include <stdint.h>

struct permutation {
	uint64_t n, key;
	unsigned low_bits, high_bits;
};

/* n >= 1. Different keys give different permutations. */
void permutation_init(struct permutation *p, uint64_t n, uint64_t key);

/* The position to which i (< n) goes. */
uint64_t permutation_at(const struct permutation *p, uint64_t i);

#endif
