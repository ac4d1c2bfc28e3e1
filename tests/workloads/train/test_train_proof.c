/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the proof that each sample was read exactly once. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"
#include "workloads/train/proof.h"
#include "workloads/train/train.h"

static void ranges(void)
{
	static const struct {
		uint64_t first, end;
	} cases[] = {{0, 0}, {0, 1}, {0, 1000}, {17, 18}, {999, 5001}};

	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct ids one = {0}, all;

		for (uint64_t id = cases[c].first; id < cases[c].end; id++)
			ids_add(&one, id);
		ids_range(&all, cases[c].first, cases[c].end);
		CU_ASSERT_EQUAL(memcmp(&one, &all, sizeof(one)), 0);
	}
}

/* The expected ids of all ranks add up to those of the first positions, wherever the epoch is
 * cut. */
static void shares_add_up(void)
{
	static const uint32_t ranks[] = {1, 2, 3, 8, 64};
	static const uint64_t used[] = {0, 1, 64, 500, 501, 960, 1000};
	struct err err = {0};

	for (unsigned r = 0; r < 5; r++)
		for (unsigned u = 0; u < 7; u++) {
			struct rank_sequence s = {.ranks = ranks[r], .batch = 1};
			struct ids wanted = {0}, sum = {0}, part;
			uint64_t batches = used[u] / ranks[r];

			order_init(&s.order, ORDER_ALL, true, 5, 1000, 1);
			sequence_init(&s);
			for (uint64_t k = 0; k < batches * ranks[r]; k++)
				ids_add(&wanted, order_at(&s.order, k));
			for (uint32_t rank = 0; rank < ranks[r]; rank++) {
				struct proof_part own = {0};

				s.rank = rank;
				CU_ASSERT_EQUAL(proof_expect(&s, batches, &own, &part, &err), 0);
				sum.count += part.count;
				sum.sum += part.sum;
				sum.hash += part.hash;
			}
			CU_ASSERT_EQUAL(memcmp(&wanted, &sum, sizeof(sum)), 0);
		}
}

/* Faults in the ids that one rank reads. Each of them must lead to its verdict of the proof. */
enum fault { FAULT_NONE, FAULT_TWICE, FAULT_SWAPPED, FAULT_MISSING, FAULT_FAILED, FAULT_UNEVEN };
enum { RANKS = 3, BATCH = 5, STEPS = 6 };

static int judge(struct group *g, void *argument)
{
	enum fault fault = *(enum fault *)argument;
	uint64_t row[EPOCH_MEASURES] = {[EPOCH_NUMBER] = 2}, taken = STEPS;
	struct rank_sequence s = {.batch = BATCH, .rank = g->rank, .ranks = RANKS};
	const struct proof_ranks ranks = {.all = g, .once = g};
	struct proof_part part = {0};
	enum proof_verdict verdict;
	struct err err = {0};
	int rc;

	order_init(&s.order, ORDER_ALL, true, 5, 100, 1); /* a tail of 10 */
	order_epoch(&s.order, 2);
	sequence_init(&s);
	for (uint64_t k = 0; k < STEPS; k++)
		for (uint64_t j = 0; j < BATCH; j++) {
			bool here = g->rank == 1 && k == 3 && j == 2;
			uint64_t id = sequence_at(&s, k * BATCH + j);

			if (here && fault == FAULT_TWICE)
				id = sequence_at(&s, k * BATCH + j - 1);
			if (fault == FAULT_SWAPPED && g->rank == 1 &&
			    k == 3) /* the sum does not change */
				id += j == 0 ? 1 : j == 1 ? -1 : 0;
			if (here && fault == FAULT_MISSING)
				continue;
			if (here && fault == FAULT_FAILED) {
				row[EPOCH_SAMPLES_FAILED]++;
				row[EPOCH_FAILED_ID_SUM] += id;
				row[EPOCH_FAILED_ID_HASH] += mix64(id);
				continue;
			}
			row[EPOCH_SAMPLES]++;
			row[EPOCH_ID_SUM] += id;
			row[EPOCH_ID_HASH] += mix64(id);
		}
	if (fault == FAULT_UNEVEN && g->rank == 2)
		taken--;
	rc = proof_judge(&ranks, &s, taken, true, &part, row, &verdict, &err);
	switch (fault) {
	case FAULT_NONE:
	case FAULT_FAILED:
		return !(rc == 0 && verdict == PROOF_HOLDS && row[EPOCH_PROVEN] &&
			 row[EPOCH_JUDGED]);
	case FAULT_UNEVEN:
		return !(rc == 0 && verdict == PROOF_NOT_JUDGED && !row[EPOCH_JUDGED]);
	default:
		return !(rc == -EBADMSG && verdict == PROOF_MISMATCH && !row[EPOCH_PROVEN] &&
			 strstr(err.text, "epoch 2:"));
	}
}

static void faults_are_found(void)
{
	static const enum fault faults[] = {FAULT_NONE,    FAULT_TWICE,  FAULT_SWAPPED,
					    FAULT_MISSING, FAULT_FAILED, FAULT_UNEVEN};
	struct err err;

	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		enum fault fault = faults[i];

		CU_ASSERT_EQUAL(thread_group_run(RANKS, judge, &fault, &err), 0);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"ranges", ranges},
		{"shares add up", shares_add_up},
		{"faults are found", faults_are_found},
		CU_TEST_INFO_NULL,
	};

	return unit_main("train_proof", tests);
}
