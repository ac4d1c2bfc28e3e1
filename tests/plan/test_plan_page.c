/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the data of the page of haul plan --html: each plan is that of haul plan --json, the
 * table is that of several numbers of nodes, and the figures per node are those of arithmetic done
 * by hand. */
#include "plan/page.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"

static const char text[] =
	"{\"name\":\"<b>aurora\",\"stores\":{\"d\":{\"uri\":\"null://x\"}},\"cluster\":{\"ranks_per_node\":12},"
	"\"dataset\":{\"store\":\"d\",\"format\":\"raw\",\"steps_per_epoch\":100,\"sample_bytes\":146600628},"
	"\"phases\":[{\"train\":{\"epochs\":5,\"batch\":7,\"compute\":\"93.254 ms\",\"target_au\":0.9}}]}";

static const struct scaling_limits limits = {.storage = 650e9};

/* Adds the plan of that number of nodes, and returns what haul plan --json prints of it. */
static cJSON *add_plan(cJSON *part, uint32_t nodes, struct scaling_row *row)
{
	struct err err = {0};
	struct plan plan;
	struct job job;
	cJSON *wanted;
	char *printed;

	CU_ASSERT_EQUAL_FATAL(
		job_parse(&job, plan_schema(), "job", text, strlen(text), NULL, 0, &err), 0);
	CU_ASSERT_EQUAL_FATAL(plan_scale(&job, nodes * 12, nodes, &err), 0);
	CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &job, nodes * 12, nodes, &err), 0);
	scaling_row(row, &plan, &limits);
	plan_page_add(part, &plan, &job);
	printed = plan_json(&plan, &job);
	wanted = cJSON_Parse(printed);
	CU_ASSERT_PTR_NOT_NULL_FATAL(wanted);
	free(printed);
	plan_free(&plan);
	job_free(&job);
	return wanted;
}

static double number(const cJSON *from, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(from, key);

	CU_ASSERT_FATAL(cJSON_IsNumber(value));
	return value->valuedouble;
}

static void per_node(const cJSON *plan, uint32_t nodes)
{
	const double node_bytes = 84 * 146600628.0, step_seconds = 0.093254;
	const cJSON *phase = cJSON_GetArrayItem(cJSON_GetObjectItem(plan, "phases"), 0);
	const cJSON *demand = cJSON_GetObjectItem(phase, "demand");

	CU_ASSERT_DOUBLE_EQUAL(number(phase, "files"), 8400 * nodes, 0);
	CU_ASSERT_DOUBLE_EQUAL(number(phase, "files_per_node"), 8400, 0);
	CU_ASSERT_DOUBLE_EQUAL(number(demand, "bytes_per_second_per_node"),
			       node_bytes / step_seconds, node_bytes * 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(number(demand, "at_target_bytes_per_second_per_node"),
			       0.9 * node_bytes / step_seconds, node_bytes * 1e-3);
}

static void plans_and_table(void)
{
	static const uint32_t nodes[] = {1, 2, 64};
	enum { COUNT = sizeof(nodes) / sizeof(*nodes) };
	cJSON *page = plan_page_begin(&limits), *part = plan_page_part(page, ""), *wanted;
	const cJSON *plans = cJSON_GetObjectItem(part, "plans"), *given;
	struct scaling_row rows[COUNT];
	char *printed;

	CU_ASSERT_PTR_NOT_NULL_FATAL(part);
	for (int i = 0; i < COUNT; i++) {
		wanted = add_plan(part, nodes[i], &rows[i]);
		CU_ASSERT_TRUE(cJSON_Compare(cJSON_GetArrayItem(plans, i), wanted, true));
		per_node(wanted, nodes[i]);
		cJSON_Delete(wanted);
	}
	plan_page_table(part, rows, COUNT, &limits, 0.9);
	printed = scaling_json(rows, COUNT, &limits, 0.9);
	wanted = cJSON_Parse(printed);
	CU_ASSERT_TRUE(cJSON_Compare(cJSON_GetObjectItem(part, "table"), wanted, true));
	CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(wanted, "scaling")), COUNT);
	cJSON_Delete(wanted);
	free(printed);
	given = cJSON_GetObjectItem(page, "limits");
	CU_ASSERT_DOUBLE_EQUAL(number(given, "storage_bytes_per_second"), 650e9, 0);
	CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(given, "nic_bytes_per_second_per_node")));
	cJSON_Delete(page);
}

/* Combinations stand in the order in which they were begun, and a refusal beside the plans. */
static void parts_and_refusals(void)
{
	cJSON *page = plan_page_begin(&limits), *first = plan_page_part(page, "train.batch=1");
	cJSON *second = plan_page_part(page, "train.batch=2"), *row;
	const cJSON *parts = cJSON_GetObjectItem(page, "combinations");

	plan_page_refuse(second, 8, "too few ranks");
	CU_ASSERT_PTR_EQUAL(cJSON_GetArrayItem(parts, 0), first);
	CU_ASSERT_PTR_EQUAL(cJSON_GetArrayItem(parts, 1), second);
	CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(first, "sweep")->valuestring, "train.batch=1");
	CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(first, "refused")), 0);
	row = cJSON_GetArrayItem(cJSON_GetObjectItem(second, "refused"), 0);
	CU_ASSERT_DOUBLE_EQUAL(number(row, "nodes"), 8, 0);
	CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(row, "why")->valuestring, "too few ranks");
	cJSON_Delete(page);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"plans and the table are those of --json", plans_and_table},
		{"combinations and refusals", parts_and_refusals},
		CU_TEST_INFO_NULL,
	};

	return unit_main("plan_page", tests);
}
