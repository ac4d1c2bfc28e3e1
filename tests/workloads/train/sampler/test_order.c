/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the order of samples: each sample occurs once, for any number of ranks, in a new order
 * in each epoch. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"
#include "workloads/train/sampler/rank_sequence.h"

static const enum order_kind kinds[] = {ORDER_AS_IS, ORDER_ALL, ORDER_FILES, ORDER_SAMPLES,
					ORDER_BOTH};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void each_once(void)
{
	static const struct {
		uint64_t files, per_file;
	} sets[] = {{1, 1}, {1, 17}, {17, 1}, {5, 7}, {64, 3}, {101, 11}};
	uint8_t seen[2048];
	struct order o;

	for (unsigned s = 0; s < sizeof(sets) / sizeof(sets[0]); s++)
		for (int kind = 0; kind < KINDS; kind++)
			for (uint64_t epoch = 1; epoch <= 3; epoch++) {
				memset(seen, 0, sizeof(seen));
				order_init(&o, kinds[kind], true, 42, sets[s].files,
					   sets[s].per_file);
				order_epoch(&o, epoch);
				for (uint64_t k = 0; k < o.samples; k++) {
					uint64_t id = order_at(&o, k);

					CU_ASSERT_FATAL(id < o.samples);
					CU_ASSERT(!seen[id]++);
					CU_ASSERT(!k ||
						  order_next(&o, k, order_at(&o, k - 1)) == id);
				}
			}
}

/* The positions of all ranks in all steps are 0, 1, 2, …, so the sequence does not depend on the
 * number of ranks. */
static void same_for_any_ranks(void)
{
	static const struct {
		uint32_t ranks;
		uint64_t batch;
	} cuts[] = {{1, 24}, {2, 12}, {3, 8}, {8, 3}, {24, 1}};

	for (unsigned c = 0; c < sizeof(cuts) / sizeof(cuts[0]); c++) {
		uint64_t next = 0;

		for (uint64_t step = 0; step < order_steps(1000, cuts[c].batch, cuts[c].ranks);
		     step++)
			for (uint32_t rank = 0; rank < cuts[c].ranks; rank++)
				for (uint64_t j = 0; j < cuts[c].batch; j++)
					CU_ASSERT_EQUAL(order_position(step, cuts[c].batch,
								       cuts[c].ranks, rank, j),
							next++);
		CU_ASSERT_EQUAL(next, 1000 / 24 * 24);
	}
}

static unsigned moved(const struct order *a, const struct order *b)
{
	unsigned n = 0;

	for (uint64_t k = 0; k < a->samples; k++)
		n += order_at(a, k) != order_at(b, k);
	return n;
}

static void epochs_differ(void)
{
	struct order a, b;

	for (int kind = 1; kind < KINDS; kind++) {
		order_init(&a, kinds[kind], true, 7, 16, 16);
		for (uint64_t epoch = 2; epoch < 40; epoch++) {
			b = a;
			order_epoch(&b, epoch);
			CU_ASSERT(moved(&a, &b) > 0);
			a = b;
		}
		order_init(&a, kinds[kind], false, 7, 16, 16);
		b = a;
		order_epoch(&b, 5);
		CU_ASSERT_EQUAL(moved(&a, &b), 0);
		order_init(&b, kinds[kind], true, 8, 16, 16);
		CU_ASSERT(moved(&a, &b) > 0);
	}
	order_init(&a, ORDER_ALL, true, 7, 16, 1); /* with only 16 samples */
	b = a;
	order_epoch(&b, 2);
	CU_ASSERT(moved(&a, &b) > 0);
}

static void files_stay_together(void)
{
	struct order o;

	order_init(&o, ORDER_BOTH, true, 3, 20, 9);
	for (uint64_t k = 0; k < o.samples; k++)
		CU_ASSERT_EQUAL(order_at(&o, k) / 9, order_at(&o, k / 9 * 9) / 9);
	order_init(&o, ORDER_FILES, true, 3, 20, 9);
	for (uint64_t k = 0; k < o.samples; k++)
		CU_ASSERT_EQUAL(order_at(&o, k) % 9, k % 9);
	order_init(&o, ORDER_SAMPLES, true, 3, 20, 9);
	for (uint64_t k = 0; k < o.samples; k++)
		CU_ASSERT_EQUAL(order_at(&o, k) / 9, k / 9);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"each sample once", each_once},
		{"the same sequence for any number of ranks", same_for_any_ranks},
		{"a new order each epoch", epochs_differ},
		{"a file's samples stay together", files_stay_together},
		CU_TEST_INFO_NULL,
	};

	return unit_main("order", tests);
}
