/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the keyed permutation: it is bijective, and its orders are random. */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/permutation.h"
#include "core/content/random.h"
#include "tests/unit.h"

static void is_bijective(void)
{
	static const uint64_t sizes[] = {1,  2,  3,   4,    5,    7,    8,      9,
					 16, 17, 100, 1024, 1025, 8400, 1000000};
	uint8_t *seen = malloc(1000000);

	CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
	for (unsigned k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		for (uint64_t key = 0; key < (sizes[k] > 10000 ? 1 : 20); key++) {
			struct permutation p;
			uint64_t bad = 0;

			memset(seen, 0, sizes[k]);
			permutation_init(&p, sizes[k], key);
			for (uint64_t i = 0; i < sizes[k]; i++) {
				uint64_t at = permutation_at(&p, i);

				if (at >= sizes[k] || seen[at]++)
					bad++;
			}
			CU_ASSERT_EQUAL(bad, 0);
		}
	}
	free(seen);
}

static void large_sizes_stay_below_n(void)
{
	static const uint64_t sizes[] = {160000000, UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1,
					 UINT64_C(1) << 63, UINT64_MAX};

	for (unsigned k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		struct permutation p;

		permutation_init(&p, sizes[k], 1);
		for (uint64_t i = 0; i < 1000; i++) {
			CU_ASSERT_TRUE(permutation_at(&p, i) < sizes[k]);
			CU_ASSERT_TRUE(permutation_at(&p, sizes[k] - 1 - i) < sizes[k]);
		}
	}
}

static void keys_give_different_orders(void)
{
	for (uint64_t key = 1; key < 200; key++) {
		struct permutation a, b;
		unsigned same = 0;

		permutation_init(&a, 100, key);
		permutation_init(&b, 100, key + 1);
		for (uint64_t i = 0; i < 100; i++)
			same += permutation_at(&a, i) == permutation_at(&b, i);
		CU_ASSERT_TRUE(same < 20); /* one is expected by chance */
	}
}

/* Over many keys, each element comes to each position equally often. */
static void elements_go_everywhere(void)
{
	static const unsigned sizes[] = {3, 4, 5, 8, 16, 100};
	enum { KEYS = 20000 };

	for (unsigned k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		unsigned n = sizes[k];
		double chi[2] = {0, 0}, expected = (double)KEYS / n, degrees = n - 1;
		unsigned count[2][100] = {{0}};

		for (uint64_t key = 0; key < KEYS; key++) {
			struct permutation p;

			permutation_init(&p, n, key);
			count[0][permutation_at(&p, 0)]++;
			count[1][permutation_at(&p, n - 1)]++;
		}
		for (unsigned e = 0; e < 2; e++) {
			for (unsigned i = 0; i < n; i++) {
				double d = count[e][i] - expected;

				chi[e] += d * d / expected;
			}
			/* The limit is the mean plus seven deviations of chi-squared, or more for
			 * few degrees of freedom. */
			CU_ASSERT_TRUE(chi[e] < degrees + 7 * (degrees > 9 ? 0.5 * degrees : 4));
		}
	}
}

/* All 24 orders of four elements occur, equally often (23 degrees of freedom). */
static void all_orders_come(void)
{
	enum { KEYS = 24000 };
	unsigned count[256] = {0}, orders = 0;
	double chi = 0;

	for (uint64_t key = 0; key < KEYS; key++) {
		struct permutation p;
		unsigned code = 0;

		permutation_init(&p, 4, key);
		for (uint64_t i = 0; i < 4; i++)
			code = code << 2 | (unsigned)permutation_at(&p, i);
		count[code]++;
	}
	for (unsigned c = 0; c < 256; c++) {
		if (count[c] == 0)
			continue;
		orders++;
		chi += (count[c] - KEYS / 24.0) * (count[c] - KEYS / 24.0) / (KEYS / 24.0);
	}
	CU_ASSERT_EQUAL(orders, 24);
	CU_ASSERT_TRUE(chi < 70);
}

/* Neighbours are far apart: the mean distance in a random order is n / 3. */
static void neighbours_are_far_apart(void)
{
	enum { N = 100000 };
	struct permutation p;
	double distance = 0;

	permutation_init(&p, N, 42);
	for (uint64_t i = 0; i + 1 < N; i++) {
		uint64_t a = permutation_at(&p, i), b = permutation_at(&p, i + 1);

		distance += (double)(a > b ? a - b : b - a);
	}
	CU_ASSERT_DOUBLE_EQUAL(distance / (N - 1), N / 3.0, 0.01 * N);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"is bijective", is_bijective},
		{"large sizes stay below n", large_sizes_stay_below_n},
		{"keys give different orders", keys_give_different_orders},
		{"elements go everywhere equally often", elements_go_everywhere},
		{"all 24 orders of 4 come equally often", all_orders_come},
		{"neighbours are far apart", neighbours_are_far_apart},
		CU_TEST_INFO_NULL,
	};

	return unit_main("permutation", tests);
}
