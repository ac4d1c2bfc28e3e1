/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the places of ranks: nodes, and the grid of tensor, pipeline and data parallelism. */
#include "plan/plan.h"
#include "tests/unit.h"

static void test_grid(void)
{
	struct job job = {.cluster = {.tensor = 2, .pipeline = 3}};
	struct rank_place places[24];
	uint32_t node_of[24], i;
	struct err err = {0};

	for (i = 0; i < 24; i++)
		node_of[i] = i / 8;
	CU_ASSERT_FATAL(plan_places(&job, node_of, 24, places, &err) == 0);
	for (i = 0; i < 24; i++) {
		const struct rank_place *p = &places[i];

		CU_ASSERT_EQUAL(p->rank, i);
		CU_ASSERT_EQUAL(p->world_rank, i);
		CU_ASSERT_EQUAL(p->world_ranks, 24);
		CU_ASSERT_EQUAL(
			(p->data * p->pipeline_size + p->pipeline) * p->tensor_size + p->tensor, i);
		CU_ASSERT(p->data < p->data_size && p->tensor < 2 && p->pipeline < 3);
		CU_ASSERT_EQUAL(p->data_size, 4);
		CU_ASSERT_EQUAL(p->node, i / 8);
		CU_ASSERT_EQUAL(p->nodes, 3);
		CU_ASSERT_EQUAL(p->local_rank, i % 8);
		CU_ASSERT_EQUAL(p->local_ranks, 8);
		CU_ASSERT_EQUAL(p->gpu, i % 8);
	}
}

/* Ranks are assigned to nodes round robin, and there are more accelerators than ranks. */
static void test_round_robin(void)
{
	struct job job = {.cluster = {.tensor = 1, .pipeline = 1, .gpus = 6}};
	static const uint32_t node_of[] = {0, 1, 0, 1, 0};
	static const uint32_t local[] = {0, 0, 1, 1, 2}, gpus[] = {0, 0, 2, 3, 4};
	struct rank_place places[5];
	struct err err = {0};
	unsigned i;

	CU_ASSERT_FATAL(plan_places(&job, node_of, 5, places, &err) == 0);
	for (i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(places[i].local_rank, local[i]);
		CU_ASSERT_EQUAL(places[i].local_ranks, node_of[i] ? 2 : 3);
		CU_ASSERT_EQUAL(places[i].gpu, gpus[i]);
	}
}

static void test_more_ranks_than_gpus(void)
{
	struct job job = {.cluster = {.tensor = 1, .pipeline = 1, .gpus = 2}};
	static const uint32_t node_of[4] = {0}, gpus[] = {0, 0, 1, 1};
	struct rank_place places[4];
	struct err err = {0};
	unsigned i;

	CU_ASSERT_FATAL(plan_places(&job, node_of, 4, places, &err) == 0);
	for (i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(places[i].gpu, gpus[i]);
}

static void test_refused(void)
{
	struct job job = {.cluster = {.tensor = 2, .pipeline = 2}};
	static const uint32_t node_of[6] = {0};
	struct rank_place places[6];
	struct err err = {0};

	CU_ASSERT(plan_places(&job, node_of, 6, places, &err) < 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"the grid of tensor, pipeline and data", test_grid},
		{"nodes dealt round robin", test_round_robin},
		{"more ranks than accelerators", test_more_ranks_than_gpus},
		{"ranks that do not divide", test_refused},
		CU_TEST_INFO_NULL,
	};

	return unit_main("places", tests);
}
