/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the checks of a plan: what it refuses, and with which sentence. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "plan/plan.h"
#include "tests/unit.h"

struct refusal {
	const char *cluster, *stores, *dataset, *phases;
	uint32_t ranks, nodes;
	const char *message; /* NULL: accepted */
};

#define NULL_STORE    "{\"d\":{\"uri\":\"null://x\"}}"
#define MEM_STORE     "{\"d\":{\"uri\":\"mem://x\"}}"
#define FILE_STORE    "{\"d\":{\"uri\":\"file:///tmp/haul-check\"}}"
#define URING_STORE   "{\"d\":{\"uri\":\"file:///tmp/haul-check\",\"engine\":\"uring\"}}"
#define DATA          "{\"store\":\"d\",\"format\":\"npz\",\"files\":100,\"sample_bytes\":4096}"
#define TRAIN         "[{\"train\":{\"batch\":2,\"compute\":\"5 ms\"}}]"
#define TRAIN_WITH(x) "[{\"train\":{\"batch\":2," x "}}]"

static const struct refusal refusals[] = {
	{"{}", NULL_STORE, DATA, TRAIN, 4, 1, NULL},
	{"{\"tensor\":2,\"pipeline\":2}", NULL_STORE, DATA, TRAIN, 8, 2, NULL},
	{"{}", FILE_STORE, DATA, TRAIN, 2, 2, NULL},
	{"{}", MEM_STORE, DATA, TRAIN, 2, 1, NULL},
	{"{}", NULL_STORE, DATA, "[]", 2, 1, "/phases: is empty; a run needs at least one phase"},
	{"{\"tensor\":8,\"gpus\":4}", NULL_STORE, DATA, TRAIN, 8, 1,
	 "/cluster/tensor: is 8, but a node has 4"},
	{"{\"tensor\":4}", NULL_STORE, DATA, TRAIN, 4, 2,
	 "/cluster/tensor: is 4, but a node has 2"},
	{"{\"tensor\":4,\"gpus\":8}", NULL_STORE, DATA, TRAIN, 2, 1,
	 "need at least 4 ranks, there are 2"},
	{"{\"tensor\":4,\"gpus\":8}", NULL_STORE, DATA, TRAIN, 6, 1,
	 "not a multiple of tensor x pipeline = 4"},
	{"{\"ranks_per_node\":8}", NULL_STORE, DATA, TRAIN, 12, 2,
	 "/cluster/ranks_per_node: 8 on 2 nodes need 16"},
	{"{\"pin\":\"list\",\"cores\":\"0\"}", NULL_STORE, DATA, TRAIN, 2, 1,
	 "/cluster/cores: names 1 set"},
	{"{\"pin\":\"list\",\"cores\":\"0:x\"}", NULL_STORE, DATA, TRAIN, 2, 1, "/cluster/cores"},
	{"{}", MEM_STORE, DATA, TRAIN, 2, 2,
	 "/stores/d: mem:// serves one node, the job runs on 2"},
	{"{}", "{\"d\":{\"uri\":\"mem://x\"},\"e\":{\"uri\":\"mem://x\",\"capacity\":\"1 GiB\"}}",
	 DATA, TRAIN, 2, 1, "/stores/e: store \"d\" has the same URI mem://x but another capacity"},
	{"{}", FILE_STORE, DATA, TRAIN_WITH("\"loader\":{\"depth\":4}"), 2, 1,
	 "/phases/0/train/loader/depth"},
	{"{}", URING_STORE, DATA, TRAIN_WITH("\"loader\":{\"depth\":4096}"), 2, 1, NULL},
	{"{}", NULL_STORE, DATA, TRAIN_WITH("\"verify\":\"full\""), 2, 1, "/phases/0/train/verify"},
	{"{}", NULL_STORE, "{\"store\":\"e\",\"files\":1,\"sample_bytes\":1}", TRAIN, 2, 1,
	 "/dataset/store"},
	{"{}", NULL_STORE, DATA, "[{\"train\":{\"dataset\":\"other\"}}]", 2, 1, "\"other\""},
	{"{}", NULL_STORE, DATA, "[{\"train\":{\"store\":\"e\"}}]", 2, 1, "\"e\""},
	{"{}", "{\"d\":{\"uri\":\"null://x/{rnak}\"}}", DATA, TRAIN, 2, 1, "/stores/d/uri"},
	{"{}", "{\"d\":{\"uri\":\"null://${HAUL_NOT_SET}\"}}", DATA, TRAIN, 2, 1,
	 "/stores/d/uri: ${HAUL_NOT_SET} is not set"},
	{"{}", NULL_STORE, DATA, TRAIN, 64, 1, "/phases/0/train/batch"},
};

static int check(const struct refusal *r, bool strict, struct err *err)
{
	char text[2048];
	struct job job;
	int n, rc;

	n = snprintf(text, sizeof(text),
		     "{\"cluster\":%s,\"stores\":%s,\"dataset\":%s,\"phases\":%s}", r->cluster,
		     r->stores, r->dataset, r->phases);
	rc = job_parse(&job, plan_schema(), "job.json", text, (size_t)n, NULL, 0, err);
	if (rc < 0)
		return rc;
	rc = plan_check(&job, r->ranks, r->nodes, strict, err);
	job_free(&job);
	return rc;
}

static void test_refusals(void)
{
	unsigned i;

	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct err err = {0};
		int rc = check(&refusals[i], true, &err);
		bool right = refusals[i].message ? rc < 0 && strstr(err.text, refusals[i].message)
						 : rc == 0;

		if (!right)
			printf("case %u: %d \"%s\"\n", i, rc, err.text);
		CU_ASSERT(right);
	}
}

/* The evaluation of a training reads another store; if that store lacks a capability, the plan is
 * refused, too. */
static void test_every_store_of_a_phase(void)
{
	static const struct {
		const char *evaluation, *train, *message;
	} cases[] = {
		{"null://y", "\"verify\":\"sampled\"", NULL},
		{"null://y", "\"verify\":\"full\"",
		 "/phases/0/train/verify: \"full\" needs bytes to verify, but store \"e\" (null://)"},
		{"file:///tmp/haul-check", "\"loader\":{\"depth\":4}",
		 "/phases/0/train/loader/depth: is 4, but store \"e\" (file://) works on one request"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct phase_store stores[PHASE_STORES_MAX];
		struct err err = {0};
		char text[1024];
		uint32_t count;
		struct job job;
		int rc;

		snprintf(
			text, sizeof(text),
			"{\"stores\":{\"d\":{\"uri\":\"file:///tmp/haul-check\",\"engine\":\"uring\"},"
			"\"e\":{\"uri\":\"%s\"}},\"datasets\":{"
			"\"t\":{\"store\":\"d\",\"format\":\"npz\",\"files\":100,\"sample_bytes\":4096},"
			"\"v\":{\"store\":\"e\",\"format\":\"npz\",\"files\":100,\"sample_bytes\":4096}},"
			"\"phases\":[{\"train\":{\"dataset\":\"t\",\"batch\":2,%s,"
			"\"evaluation\":{\"dataset\":\"v\",\"every\":1}}}]}",
			cases[i].evaluation, cases[i].train);
		CU_ASSERT_EQUAL_FATAL(job_parse(&job, plan_schema(), "job.json", text, strlen(text),
						NULL, 0, &err),
				      0);
		CU_ASSERT_EQUAL(plan_phase_stores(&job, job.phases, 2, stores, &count, &err), 0);
		CU_ASSERT_EQUAL_FATAL(count, 2);
		CU_ASSERT_STRING_EQUAL(stores[0].role, "data");
		CU_ASSERT_STRING_EQUAL(stores[1].role, "evaluation");
		CU_ASSERT_STRING_EQUAL(stores[1].store->name, "e");
		rc = plan_check(&job, 2, 1, true, &err);
		CU_ASSERT_EQUAL(rc, cases[i].message ? -EINVAL : 0);
		CU_ASSERT(!cases[i].message || strstr(err.text, cases[i].message));
		job_free(&job);
	}
}

/* A plan may be requested on another machine, or with other ranks, than those of the run. */
static void test_lenient(void)
{
	static const struct refusal lenient[] = {
		{"{}", "{\"d\":{\"uri\":\"file://${HAUL_NOT_SET}/x\"}}", DATA, TRAIN, 2, 1, NULL},
		{"{}", NULL_STORE, DATA, TRAIN, 64, 1, NULL},
		{"{}", NULL_STORE, DATA, "[]", 2, 1, NULL},
	};
	unsigned i;

	for (i = 0; i < sizeof(lenient) / sizeof(lenient[0]); i++) {
		struct err err = {0};

		CU_ASSERT(check(&lenient[i], false, &err) == 0);
		CU_ASSERT(check(&lenient[i], true, &err) < 0);
	}
}

static uint32_t needed; /* by the phase under test */

static int stores_with_a_need(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			      struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
			      struct err *err)
{
	(void)phase, (void)ranks, (void)err;
	phase_store_add(out, count, "data", &job->stores[0])->needs = needed;
	return 0;
}

/* For each capability: where a phase needs it and the store lacks it, the plan is refused with the
 * words of that capability. */
static void test_every_need_is_checked(void)
{
	static const char text[] =
		"{\"stores\":" NULL_STORE ",\"dataset\":" DATA ",\"phases\":[{\"generate\":{}}]}";
	const uint32_t all = (1u << BACKEND_CAPABILITY_COUNT) - 1;

	for (unsigned i = 0; i < BACKEND_CAPABILITY_COUNT; i++) {
		struct section store, phase;
		struct backend_ops ops;
		struct workload workload;
		struct err err = {0};
		struct job job;

		CU_ASSERT_EQUAL_FATAL(job_parse(&job, plan_schema(), "job.json", text,
						sizeof(text) - 1, NULL, 0, &err),
				      0);
		needed = 1u << i;
		workload = *(const struct workload *)job.phases[0].section->owner;
		workload.stores = stores_with_a_need;
		phase = *job.phases[0].section;
		phase.owner = &workload;
		job.phases[0].section = &phase;
		ops = *(const struct backend_ops *)job.stores[0].section->owner;
		ops.capabilities = all;
		store = *job.stores[0].section;
		store.owner = &ops;
		job.stores[0].section = &store;
		CU_ASSERT_EQUAL(plan_check(&job, 1, 1, true, &err), 0);
		ops.capabilities = all & ~(1u << i);
		CU_ASSERT_EQUAL(plan_check(&job, 1, 1, true, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, backend_capability_words[i].lacks));
		job_free(&job);
	}
}

static const char *deep; /* the option that gives the depth of the phase under test */

static int stores_with_a_depth(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			       struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
			       struct err *err)
{
	struct phase_store *s = phase_store_add(out, count, "data", &job->stores[0]);

	(void)phase, (void)ranks, (void)err;
	s->depth = 64;
	s->depth_option = deep;
	return 0;
}

/* Whatever a kind of phase calls the option, the refusal names it; and the phase, where no option
 * gives the depth. */
static void test_depth_by_its_option(void)
{
	static const char text[] =
		"{\"stores\":" FILE_STORE ",\"dataset\":" DATA ",\"phases\":[{\"generate\":{}}]}";
	static const struct {
		const char *option, *message;
	} cases[] = {
		{"fillers", "/phases/0/generate/fillers: is 64, but store \"d\" (file://)"},
		{NULL, "/phases/0/generate: is 64, but store \"d\" (file://)"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct workload workload;
		struct section phase;
		struct err err = {0};
		struct job job;

		CU_ASSERT_EQUAL_FATAL(job_parse(&job, plan_schema(), "job.json", text,
						sizeof(text) - 1, NULL, 0, &err),
				      0);
		deep = cases[i].option;
		workload = *(const struct workload *)job.phases[0].section->owner;
		workload.stores = stores_with_a_depth;
		phase = *job.phases[0].section;
		phase.owner = &workload;
		job.phases[0].section = &phase;
		CU_ASSERT_EQUAL(plan_check(&job, 1, 1, true, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].message));
		job_free(&job);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"refusals name the place", test_refusals},
		{"a plan accepts more than a run", test_lenient},
		{"every store of a phase", test_every_store_of_a_phase},
		{"every need is checked", test_every_need_is_checked},
		{"the depth is named by its option", test_depth_by_its_option},
		CU_TEST_INFO_NULL,
	};

	return unit_main("check", tests);
}
