/* SPDX-License-Identifier: Apache-2.0 */
/* Keyed permutation of [0, n): see permutation.h.
 *
 * A Feistel network is a bijection of its whole domain, 2^bits numbers. Walking along its cycle
 * until the number is below n again makes it a bijection of [0, n). As 2^bits < 2n, that takes
 * fewer than two steps on average. With 3 bits or so its orders are not equally frequent (of 5
 * numbers one comes first 2 % more often than it should), so a small set is shuffled instead. */
#include "core/content/permutation.h"

#include "core/content/random.h"
#include "core/invariant.h"

enum { ROUNDS = 8, SHUFFLED_MAX = 16 };

void permutation_init(struct permutation *p, uint64_t n, uint64_t key)
{
	unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 0;

	p->n = n;
	p->key = mix64(key + RANDOM_GOLDEN);
	p->low_bits = bits / 2;
	p->high_bits = bits - p->low_bits;
}

/* Fisher-Yates shuffle, done again for each element. */
static uint64_t shuffled_at(const struct permutation *p, uint64_t i)
{
	uint8_t order[SHUFFLED_MAX] = {0};

	for (unsigned k = 0; k < p->n; k++) {
		unsigned other = (unsigned)((mix64(p->key + k * RANDOM_GOLDEN) >> 32) % (k + 1));

		order[k] = order[other];
		order[other] = (uint8_t)k;
	}
	return order[i];
}

uint64_t permutation_at(const struct permutation *p, uint64_t i)
{
	const uint64_t low_mask = (1ull << p->low_bits) - 1;
	const uint64_t high_mask = (1ull << p->high_bits) - 1;

	INVARIANT(i < p->n, "beyond the set, two numbers would go to one place");
	if (p->n <= SHUFFLED_MAX)
		return shuffled_at(p, i);
	do {
		uint64_t high = i >> p->low_bits, low = i & low_mask, round_key = p->key;

		for (int r = 0; r < ROUNDS; r += 2) {
			low ^= mix64(high + round_key) & low_mask;
			round_key += RANDOM_GOLDEN;
			high ^= mix64(low + round_key) & high_mask;
			round_key += RANDOM_GOLDEN;
		}
		i = high << p->low_bits | low;
	} while (i >= p->n);
	return i;
}
