/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the scaling table of a plan, against arithmetic done by hand, for the training of the
 * scaling scripts. */
#include "plan/scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"

static const char text[] =
	"{\"name\":\"aurora\",\"stores\":{\"d\":{\"uri\":\"file:///x\"}},\"cluster\":{\"ranks_per_node\":12},"
	"\"dataset\":{\"store\":\"d\",\"format\":\"raw\",\"steps_per_epoch\":100,\"sample_bytes\":146600628},"
	"\"phases\":[{\"generate\":{}},{\"train\":{\"epochs\":5,\"batch\":7,\"compute\":\"93.254 ms\","
	"\"loader\":{\"workers\":4}%s}}]}";

static void plan_of(struct plan *plan, struct job *job, const char *more, uint32_t nodes)
{
	struct err err = {0};
	char json[1024];

	snprintf(json, sizeof(json), text, more);
	CU_ASSERT_EQUAL_FATAL(
		job_parse(job, plan_schema(), "job", json, strlen(json), NULL, 0, &err), 0);
	CU_ASSERT_EQUAL_FATAL(plan_scale(job, nodes * 12, nodes, &err), 0);
	CU_ASSERT_EQUAL_FATAL(plan_check(job, nodes * 12, nodes, true, &err), 0);
	CU_ASSERT_EQUAL_FATAL(plan_make(plan, job, nodes * 12, nodes, &err), 0);
	plan->node_memory_bytes = 825e9;
}

static void row_of(struct scaling_row *row, const char *more, uint32_t nodes,
		   const struct scaling_limits *limits)
{
	struct plan plan;
	struct job job;

	plan_of(&plan, &job, more, nodes);
	scaling_row(row, &plan, limits);
	plan_free(&plan);
	job_free(&job);
}

static void near(double value, double wanted)
{
	CU_ASSERT_DOUBLE_EQUAL(value, wanted, fabs(wanted) * 1e-6);
}

static double total_of(const struct plan_phase *p, const char *name)
{
	for (uint32_t i = 0; i < p->told.total_count; i++)
		if (strcmp(p->told.totals[i].name, name) == 0)
			return p->told.totals[i].value;
	return NAN;
}

/* Memory that haul does not take, but the loader which it imitates; the rate of one of its workers; files of each GB. 4 workers build
 * 2 batches of 7 ahead, on any number of nodes. */
static void test_loader(void)
{
	static const uint32_t nodes[] = {1, 512, 10000};

	for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		struct plan plan;
		struct job job;

		plan_of(&plan, &job, "", nodes[i]);
		near(total_of(&plan.phases[1], "loader_bytes_per_node"),
		     12 * 4 * 2 * 7 * 146600628.0);
		near(total_of(&plan.phases[1], "bytes_per_second_per_worker"),
		     7 * 146600628.0 / 0.093254 / 4);
		near(plan_creates(&plan.phases[0]), 1e9 / 146600628.0);
		CU_ASSERT_EQUAL(plan_creates(&plan.phases[1]), 0);
		plan_free(&plan);
		job_free(&job);
	}
}

/* 12 ranks read 7 samples each per 93.254 ms: 132 GB/s per node. The NICs of a node give 200 GB/s,
 * the storage 650 GB/s. */
static void test_rows(void)
{
	static const struct scaling_limits limits = {.nic_per_node = 200e9, .storage = 650e9};
	static const uint32_t nodes[] = {1, 4, 8, 512};
	const double each = 12 * 7 * 146600628.0 / 0.093254;
	struct scaling_row row;

	for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		double n = nodes[i], capacity = fmin(650e9, n * 200e9);
		double au = fmin(1, capacity / (n * each)), bytes = n * 8400 * 146600628.0;
		double epoch = 9.3254 / au, generate = bytes / capacity;

		row_of(&row, "", nodes[i], &limits);
		CU_ASSERT_EQUAL(row.nodes, nodes[i]);
		CU_ASSERT_EQUAL(row.ranks, 12 * nodes[i]);
		CU_ASSERT_EQUAL(row.files, 8400 * (uint64_t)nodes[i]);
		CU_ASSERT_EQUAL(row.global_batch, 84 * (uint64_t)nodes[i]);
		near(row.data_bytes, bytes);
		near(row.bytes_per_second, n * each);
		near(row.worker_rate, each / 12 / 4);
		near(row.au, au);
		near(row.epoch_seconds, epoch);
		near(row.generate_seconds, generate);
		near(row.node_hours, n * (generate + 5 * epoch) / 3600);
		near(row.cached_share, fmin(1, 825e9 / bytes));
	}
	CU_ASSERT_EQUAL(scaling_nodes_max(&row, &limits, 0.9), 5);
	CU_ASSERT_EQUAL(scaling_nodes_max(&row, &limits, 1), 4);
	CU_ASSERT_EQUAL(scaling_nodes_max(&row, &(struct scaling_limits){.storage = 1e9}, 0.9), 0);
	CU_ASSERT_EQUAL(scaling_nodes_max(&row, &(struct scaling_limits){.nic_per_node = 1e9}, 0.9),
			0);
	CU_ASSERT_EQUAL(
		scaling_nodes_max(&row, &(struct scaling_limits){.nic_per_node = 2e11}, 0.9),
		UINT64_MAX);
}

/* Figures that are not known are not printed; a cold training reads nothing from memory. */
static void test_unknown(void)
{
	struct scaling_row row;
	char *table;

	row_of(&row, ",\"cold\":\"fadvise\"", 2, &(struct scaling_limits){0});
	CU_ASSERT_TRUE(isnan(row.au) && isnan(row.generate_seconds) && isnan(row.node_hours));
	near(row.epoch_seconds, 9.3254);
	CU_ASSERT_EQUAL(row.cached_share, 0);
	table = scaling_text(&row, 1, &(struct scaling_limits){0}, 0.9);
	CU_ASSERT_PTR_NOT_NULL(strstr(table, "nodes  ranks   files"));
	CU_ASSERT_PTR_NULL(strstr(table, "node-hours"));
	CU_ASSERT_PTR_NULL(strstr(table, "is kept"));
	CU_ASSERT_PTR_NOT_NULL(strstr(table, "each worker has to deliver"));
	free(table);
}

static void test_numbers_of_nodes(void)
{
	static const struct {
		const char *text;
		uint32_t count, nodes[12];
	} good[] = {
		{"8", 1, {8}},
		{"1,3,7", 3, {1, 3, 7}},
		{"1,2,4,...,32", 6, {1, 2, 4, 8, 16, 32}},
		{"1,2,4,\xe2\x80\xa6,24", 6, {1, 2, 4, 8, 16, 24}},
		{"4,6,...,12", 5, {4, 6, 8, 10, 12}},
		{"3,...,24", 4, {3, 6, 12, 24}},
		{"1,...,8,9", 5, {1, 2, 4, 8, 9}},
	};
	static const char *const bad[] = {"",
					  "0",
					  "x",
					  "1,",
					  "1,1",
					  "4,2",
					  "...,8",
					  "1,...",
					  "1,...,...,8",
					  "2000000",
					  "-1",
					  "1 2",
					  "1,3,...,1048576"};
	uint32_t nodes[12];
	struct err err;

	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CU_ASSERT_EQUAL(scaling_parse_nodes(good[i].text, nodes, 12, &err),
				(int)good[i].count);
		CU_ASSERT_EQUAL(memcmp(nodes, good[i].nodes, good[i].count * sizeof(nodes[0])), 0);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		CU_ASSERT(scaling_parse_nodes(bad[i], nodes, 12, &err) < 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--nodes: must be a number of nodes"));
	}
}

static void test_rates(void)
{
	struct err err;
	double rate;

	CU_ASSERT_EQUAL(scaling_parse_rate("25 GB/s", &rate, &err), 0);
	CU_ASSERT_EQUAL(rate, 25e9);
	CU_ASSERT_EQUAL(scaling_parse_rate("8x25GB/s", &rate, &err), 0);
	CU_ASSERT_EQUAL(rate, 200e9);
	CU_ASSERT(scaling_parse_rate("8x", &rate, &err) < 0);
	CU_ASSERT(scaling_parse_rate("0 GB/s", &rate, &err) < 0);
	CU_ASSERT(scaling_parse_rate("fast", &rate, &err) < 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"rows", test_rows},
		{"the loader that is imitated", test_loader},
		{"what is not known", test_unknown},
		{"numbers of nodes", test_numbers_of_nodes},
		{"rates", test_rates},
		CU_TEST_INFO_NULL,
	};

	return unit_main("scaling", tests);
}
