/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ranks of phases that run together: their ranks and nodes, the sum of what they need, the
 * memory of the fullest node, and refusals, all computed by hand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/together.h"
#include "tests/unit.h"

static const char template[] =
	"{\"stores\":{\"d\":{\"uri\":\"null://x\"}},"
	"\"dataset\":{\"store\":\"d\",\"format\":\"raw\",\"files\":960,\"sample_bytes\":1000000},"
	"\"phases\":[{\"train\":{}},{\"together\":["
	"{\"train\":{\"name\":\"a\",\"compute\":\"10 ms\",%s}},"
	"{\"train\":{\"name\":\"b\",\"compute\":\"20 ms\",%s}}]%s}]}";

static int parse(struct job *job, const char *a, const char *b, const char *beside, uint32_t ranks,
		 uint32_t nodes, struct err *err)
{
	char text[1024];
	int rc;

	err->text[0] = '\0';
	snprintf(text, sizeof(text), template, a, b, beside);
	rc = job_parse(job, plan_schema(), "job", text, strlen(text), NULL, 0, err);
	if (rc == 0)
		rc = plan_scale(job, ranks, nodes, err);
	return rc;
}

static void test_counts(void)
{
	static const struct {
		const char *a, *b;
		uint32_t ranks, nodes;
		struct {
			uint32_t ranks, per_node, nodes;
		} is[2];
	} cases[] = {
		{"\"ranks\":\"0-5\"", "\"ranks\":\"7\"", 8, 1, {{6, 6, 1}, {1, 1, 1}}},
		{"\"ranks\":\"0-5\"", "\"ranks\":\"6-7\"", 8, 2, {{6, 4, 2}, {2, 2, 1}}},
		{"\"ranks\":\"0,4,8\"", "\"ranks\":\"1-3,9-11\"", 12, 3, {{3, 1, 3}, {6, 3, 2}}},
		{"\"nodes\":\"0-1\"", "\"nodes\":\"2\"", 12, 3, {{8, 4, 2}, {4, 4, 1}}},
		/* ten ranks on three nodes: four, four and two */
		{"\"nodes\":\"0\"", "\"nodes\":\"1-2\"", 10, 3, {{4, 4, 1}, {6, 4, 2}}},
	};
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct job job;
		int rc = parse(&job, cases[i].a, cases[i].b, "", cases[i].ranks, cases[i].nodes,
			       &err);

		CU_ASSERT_EQUAL_FATAL(rc, 0);
		CU_ASSERT_EQUAL(plan_phase_ranks(&job.phases[0], cases[i].ranks), cases[i].ranks);
		for (int k = 0; k < 2; k++) {
			const struct job_phase *phase = &job.phases[1 + k];

			CU_ASSERT_EQUAL(plan_phase_ranks(phase, cases[i].ranks),
					cases[i].is[k].ranks);
			CU_ASSERT_EQUAL(phase->set.ranks_per_node, cases[i].is[k].per_node);
			CU_ASSERT_EQUAL(phase->set.node_count, cases[i].is[k].nodes);
		}
		job_free(&job);
	}
}

/* A training needs a sample per rank and step; both run at once. */
static void test_sum(void)
{
	struct plan_together t;
	struct plan plan;
	struct err err;
	struct job job;
	uint64_t a, b, apart;

	CU_ASSERT_EQUAL_FATAL(parse(&job, "\"ranks\":\"0-5\"", "\"ranks\":\"6-7\"", "", 8, 2, &err),
			      0);
	CU_ASSERT_EQUAL_FATAL(plan_check(&job, 8, 2, true, &err), 0);
	CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &job, 8, 2, &err), 0);
	CU_ASSERT_FALSE(plan_together_at(&plan, 0, &t));
	CU_ASSERT_FALSE(plan_together_at(&plan, 2, &t));
	CU_ASSERT_TRUE_FATAL(plan_together_at(&plan, 1, &t));
	CU_ASSERT_EQUAL(t.count, 2);
	CU_ASSERT_DOUBLE_EQUAL(t.bytes_per_second, 6e6 / 0.010 + 2e6 / 0.020, 1);
	CU_ASSERT_DOUBLE_EQUAL(t.opens_per_second, 6 / 0.010 + 2 / 0.020, 0.01);
	/* The first node has four ranks of a, the second two of each. */
	a = plan.phases[1].demand.memory_per_rank;
	b = plan.phases[2].demand.memory_per_rank;
	apart = plan.phases[0].demand.memory_per_rank;
	CU_ASSERT_EQUAL(a, b);
	CU_ASSERT_EQUAL(plan.memory_bytes_per_node, (4ull << 25) + 4 * (a > apart ? a : apart));
	plan_free(&plan);
	job_free(&job);
}

static void test_refused(void)
{
	static const struct {
		const char *a, *b, *beside, *sentence;
	} cases[] = {
		{"\"ranks\":\"0\"", "\"ranks\":\"1-8\"", "",
		 "/phases/1/together/1/train/ranks: names rank 8; there are ranks 0 to 7"},
		{"\"nodes\":\"0,2\"", "\"nodes\":\"1\"", "",
		 "/phases/1/together/0/train/nodes: names node 2; there are nodes 0 to 1"},
	};
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct job job;

		CU_ASSERT_EQUAL(parse(&job, cases[i].a, cases[i].b, cases[i].beside, 8, 2, &err),
				-EINVAL);
		CU_ASSERT_STRING_EQUAL(err.text, cases[i].sentence);
		job_free(&job);
	}
}

/* Numbers in the phase and on the node are its own; the world's stay. */
static void test_place(void)
{
	const uint32_t node_of[] = {0, 0, 0, 0, 1, 1, 1, 1};
	struct rank_place places[8];
	struct job job;
	struct err err;

	CU_ASSERT_EQUAL_FATAL(parse(&job, "\"ranks\":\"0\"", "\"ranks\":\"4-7\"", "", 8, 2, &err),
			      0);
	job.cluster.tensor = 2;
	CU_ASSERT_EQUAL_FATAL(plan_places(&job, node_of, 8, places, &err), 0);
	plan_place_in(&job, &places[7], 3, 4, 3, 4);
	CU_ASSERT_EQUAL(places[7].rank, 3);
	CU_ASSERT_EQUAL(places[7].ranks, 4);
	CU_ASSERT_EQUAL(places[7].world_rank, 7);
	CU_ASSERT_EQUAL(places[7].world_ranks, 8);
	CU_ASSERT_EQUAL(places[7].node, 1);
	CU_ASSERT_EQUAL(places[7].nodes, 2);
	CU_ASSERT_EQUAL(places[7].tensor, 1);
	CU_ASSERT_EQUAL(places[7].data, 1);
	CU_ASSERT_EQUAL(places[7].data_size, 2);
	job_free(&job);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"counts", test_counts}, {"sum of needs", test_sum}, {"refused", test_refused},
		{"place", test_place},   CU_TEST_INFO_NULL,
	};

	return unit_main("sets of ranks", tests);
}
