/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of `haul plan`: its figures against arithmetic done by hand. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "tests/unit.h"

static const char aurora[] =
	"{\"name\":\"aurora\",\"stores\":{\"d\":{\"uri\":\"null://x\"}},"
	"\"dataset\":{\"store\":\"d\",\"format\":\"raw\",\"files\":4300800,\"sample_bytes\":146600628},"
	"\"phases\":[{\"train\":{\"epochs\":5,\"batch\":7,\"compute\":\"93.254 ms\",\"target_au\":0.9}}]}";

static void load(struct job *job, const char *text)
{
	struct err err = {0};

	CU_ASSERT_FATAL(
		job_parse(job, plan_schema(), "job.json", text, strlen(text), NULL, 0, &err) == 0);
}

static double number(const cJSON *json, const char *name)
{
	const cJSON *item = cJSON_GetObjectItem(json, name);

	CU_ASSERT_FATAL(item && cJSON_IsNumber(item));
	return item->valuedouble;
}

static void check_aurora(uint32_t nodes, uint64_t files)
{
	const double step_bytes = 146600628.0 * 7 * 12 * nodes, step_seconds = 0.093254;
	struct err err = {0};
	cJSON *json, *phase, *demand;
	struct plan plan;
	struct job job;
	char *text;

	load(&job, aurora);
	CU_ASSERT_FATAL(plan_check(&job, nodes * 12, nodes, true, &err) == 0);
	CU_ASSERT_FATAL(plan_make(&plan, &job, nodes * 12, nodes, &err) == 0);
	text = plan_json(&plan, &job);
	json = cJSON_Parse(text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(json);
	phase = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "phases"), 0);
	demand = cJSON_GetObjectItem(phase, "demand");
	CU_ASSERT_EQUAL(number(json, "ranks"), nodes * 12);
	CU_ASSERT_EQUAL(number(cJSON_GetObjectItem(json, "dataset"), "files"), files);
	CU_ASSERT_EQUAL(number(phase, "global_batch"), nodes * 84);
	CU_ASSERT_EQUAL(number(phase, "steps_per_epoch"), (double)(files / (nodes * 84)));
	CU_ASSERT_EQUAL(number(phase, "samples_dropped"), (double)(files % (nodes * 84)));
	CU_ASSERT_DOUBLE_EQUAL(number(demand, "bytes_per_second"), step_bytes / step_seconds,
			       step_bytes * 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(number(demand, "at_target_bytes_per_second"),
			       0.9 * step_bytes / step_seconds, step_bytes * 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(number(demand, "opens_per_second"), 84.0 * nodes / step_seconds, 1);
	cJSON_Delete(json);
	free(text);
	plan_free(&plan);
	job_free(&job);
}

static void test_aurora(void)
{
	static const uint32_t nodes[] = {1, 8, 127, 512};
	unsigned i;

	for (i = 0; i < 4; i++)
		check_aurora(nodes[i], 4300800);
}

/* Without compute time the demand is unlimited: null in JSON, a sentence in text. */
static void test_unbounded(void)
{
	static const char job_text_[] =
		"{\"stores\":{\"d\":{\"uri\":\"null://x\"}},\"dataset\":{\"store\":\"d\",\"format\":\"raw\","
		"\"files\":10,\"sample_bytes\":100},\"phases\":[{\"train\":{\"compute\":0}}]}";
	struct err err = {0};
	struct plan plan;
	struct job job;
	char *text;

	load(&job, job_text_);
	CU_ASSERT_FATAL(plan_make(&plan, &job, 2, 1, &err) == 0);
	text = plan_json(&plan, &job);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"bytes_per_second\": null"));
	free(text);
	text = plan_text(&plan, &job);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "no compute time"));
	free(text);
	plan_free(&plan);
	job_free(&job);
}

/* Files of many samples are rarely opened. Their rate of opens is printed as an interval and not as
 * 0. */
static void test_rare_opens(void)
{
	static const struct {
		const char *samples, *batch, *compute, *at_full, *at_target;
	} rows[] = {
		{"313532", "48", "968 ms", "one open every 105 min", "one open every 117 min"},
		{"1000", "1", "50 ms", "one open every 50 s", "one open every 55.6 s"},
		{"1000", "1", "5 ms", "0.2 opens/s", "0.18 opens/s"},
		{"1", "1", "1 ms", "1 k opens/s", "900 opens/s"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		struct plan plan;
		struct job job;
		char given[512], *text, *full, *target;

		snprintf(
			given, sizeof(given),
			"{\"stores\":{\"d\":{\"uri\":\"null://x\"}},\"dataset\":{\"store\":\"d\",\"format\":"
			"\"tfrecord\",\"files\":500,\"samples_per_file\":%s,\"sample_bytes\":2500},"
			"\"phases\":[{\"train\":{\"batch\":%s,\"compute\":\"%s\",\"target_au\":0.9,\"loader\":\"stream\"}}]}",
			rows[i].samples, rows[i].batch, rows[i].compute);
		load(&job, given);
		CU_ASSERT_FATAL(plan_make(&plan, &job, 1, 1, &err) == 0);
		text = plan_text(&plan, &job);
		full = strstr(text, rows[i].at_full);
		target = strstr(text, rows[i].at_target);
		CU_ASSERT_PTR_NOT_NULL(full);
		CU_ASSERT_PTR_NOT_NULL(target);
		CU_ASSERT_PTR_NULL(strstr(text, " 0 opens/s"));
		if (!full || !target)
			printf("case %u:\n%s", i, text);
		free(text);
		plan_free(&plan);
		job_free(&job);
	}
}

/* A job without phases is planned, and a note says that a run will refuse it. */
static void test_no_phases(void)
{
	static const char job_text_[] =
		"{\"name\":\"none\",\"stores\":{\"d\":{\"uri\":\"null://x\"}},\"dataset\":{\"store\":\"d\","
		"\"format\":\"raw\",\"files\":10,\"sample_bytes\":100},\"phases\":[]}";
	struct err err = {0};
	cJSON *json, *notes;
	struct plan plan;
	struct job job;
	char *text;

	load(&job, job_text_);
	CU_ASSERT_FATAL(plan_check(&job, 4, 2, false, &err) == 0);
	CU_ASSERT_FATAL(plan_make(&plan, &job, 4, 2, &err) == 0);
	text = plan_json(&plan, &job);
	json = cJSON_Parse(text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(json);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(json, "phases")), 0);
	notes = cJSON_GetObjectItem(json, "notes");
	CU_ASSERT_EQUAL_FATAL(cJSON_GetArraySize(notes), 1);
	CU_ASSERT_STRING_EQUAL(cJSON_GetArrayItem(notes, 0)->valuestring,
			       "the job has no phases: this will be refused");
	cJSON_Delete(json);
	free(text);
	text = plan_text(&plan, &job);
	CU_ASSERT_STRING_EQUAL(text, "job        none · no phases · seed 42\n"
				     "data set   10 files · raw · 1 kB (1000 B) · null://x\n"
				     "ranks      4 on 2 nodes\n"
				     "memory     64 MiB per node\n"
				     "notes      the job has no phases: this will be refused\n");
	free(text);
	plan_free(&plan);
	job_free(&job);
}

/* Tensor groups divide each layer among their ranks; models are made for powers of two. */
static void test_tensor(void)
{
	static const struct {
		unsigned tensor;
		bool noted;
	} rows[] = {{1, false}, {2, false}, {3, true}, {4, false}, {6, true}, {8, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		char given[512], said[64], *text;
		struct plan plan;
		struct job job;

		snprintf(
			given, sizeof(given),
			"{\"cluster\":{\"gpus\":24,\"tensor\":%u},\"stores\":{\"s\":{\"uri\":\"sim://s\"}},"
			"\"phases\":[{\"kvcache\":{\"model\":\"llama3.1-8b\",\"tiers\":[{\"kind\":\"gpu\","
			"\"capacity\":\"141 GB\"},\"s\"]}}]}",
			rows[i].tensor);
		load(&job, given);
		CU_ASSERT_FATAL(plan_check(&job, 24, 1, false, &err) == 0);
		CU_ASSERT_FATAL(plan_make(&plan, &job, 24, 1, &err) == 0);
		text = plan_text(&plan, &job);
		snprintf(said, sizeof(said), "tensor %u is not a power of two", rows[i].tensor);
		CU_ASSERT_EQUAL(strstr(text, said) != NULL, rows[i].noted);
		CU_ASSERT_EQUAL(strstr(text, "a power of two") != NULL, rows[i].noted);
		CU_ASSERT_EQUAL(strstr(text, "8 x 141 GB = 1,128 GB") != NULL, rows[i].tensor == 8);
		free(text);
		plan_free(&plan);
		job_free(&job);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"Aurora's table", test_aurora}, {"no compute time", test_unbounded},
		{"rare opens", test_rare_opens}, {"no phases", test_no_phases},
		{"tensor groups", test_tensor},  CU_TEST_INFO_NULL,
	};

	return unit_main("plan", tests);
}
