/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of an assessment: what follows from ceilings, by numbers that were computed by hand; its runs;
 * its job; what workloads need. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/assess/assess.h"
#include "plan/assess/ceilings.h"
#include "plan/plan.h"
#include "tests/unit.h"

#define GB 1e9
/* Runs of the ceilings, without a search for settings. */
enum { LOOKS = 5 };

static struct assess begun(double budget_s)
{
	struct assess_ask ask = {.uri = "sim://known", .budget_s = budget_s, .ranks = 2};
	struct err err = {0};
	struct assess a;

	CU_ASSERT_EQUAL_FATAL(assess_init(&a, &ask, &err), 0);
	return a;
}

static bool ran(const struct assess_row *row)
{
	return strcmp(row->basis, "measured") == 0;
}

/* A step reads 7 x 146.6 MB and computes for 323 ms: 3.177 GB/s and 21.67 files per second at AU 100 %,
 * 2.859 GB/s and 19.5 at AU 90 %. */
static const struct assess_workload unet3d = {.name = "unet3d_h100",
					      .kind = ASSESS_TRAIN,
					      .target = 0.9,
					      .bytes_per_second = 7 * 146600628 / 0.323,
					      .opens_per_second = 7 / 0.323,
					      .data_bytes = 4e12,
					      .run_seconds = 6460};

static void trainings(void)
{
	static const struct {
		double read, get, carries;
		const char *limit;
	} cases[] = {
		{2.85 * GB, 1e6, 0, "read"},     {2.86 * GB, 1e6, 1, "read"},
		{10 * GB, 1e6, 3, "read"},       {650 * GB, 1e6, 227, "read"},
		{650 * GB, 1000, 51, "objects"}, {650 * GB, 19, 0, "objects"},
	};
	struct assess a = begun(600);
	struct assess_row row;

	a.ceilings[ASSESS_WRITE] = 2 * GB;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		a.ceilings[ASSESS_READ] = cases[i].read;
		a.ceilings[ASSESS_GET] = cases[i].get;
		assess_follow(&a, &unet3d, &row);
		CU_ASSERT_EQUAL(row.carries, cases[i].carries);
		CU_ASSERT_STRING_EQUAL(row.limit, cases[i].limit);
		/* 2,000 s to write the data, then 6,460 s of one accelerator at AU 100 %. */
		if (cases[i].carries > 0) {
			CU_ASSERT_DOUBLE_EQUAL(row.full_seconds,
					       2000 + 6460 / 0.9 / cases[i].carries, 1e-6);
		} else {
			CU_ASSERT(isnan(row.full_seconds));
		}
	}
	a.ceilings[ASSESS_GET] = NAN;
	assess_follow(&a, &unet3d, &row);
	CU_ASSERT(isnan(row.carries) && strcmp(row.limit, "unknown") == 0);
}

/* 100 GB take 50 s to write and 10 s to read: 60 an hour, and ten of them take 10 minutes. */
static void checkpoints(void)
{
	const struct assess_workload w = {
		.kind = ASSESS_CHECKPOINT, .data_bytes = 100 * GB, .run_seconds = 10};
	struct assess a = begun(600);
	struct assess_row row;

	a.ceilings[ASSESS_WRITE] = 2 * GB;
	a.ceilings[ASSESS_READ] = 10 * GB;
	assess_follow(&a, &w, &row);
	CU_ASSERT_DOUBLE_EQUAL(row.carries, 60, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(row.full_seconds, 600, 1e-9);
	CU_ASSERT_STRING_EQUAL(row.limit, "write");
	a.ceilings[ASSESS_WRITE] = NAN;
	assess_follow(&a, &w, &row);
	CU_ASSERT(isnan(row.carries) && isnan(row.full_seconds));
}

/* A user reads 25 MB/s and writes 5 MB/s, and 95 of 100 requests have at most 1 GB. */
static void users(void)
{
	static const struct {
		double read, write, follows, carries;
		const char *limit;
	} cases[] = {
		/* A request alone takes 204 ms. */
		{4.9 * GB, 1 * GB, 0, 0, "read"},     {5.1 * GB, 1 * GB, 200, NAN, "write"},
		{5.1 * GB, 2 * GB, 204, NAN, "read"}, {1 * GB, 5.1 * GB, 40, NAN, "read"},
		{NAN, 5.1 * GB, NAN, NAN, "unknown"},
	};
	const struct assess_workload w = {.kind = ASSESS_USERS,
					  .target = 0.2,
					  .bytes_per_second = 25e6,
					  .written_per_second = 5e6,
					  .request_bytes = GB};
	struct assess a = begun(600);
	struct assess_row row;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		a.ceilings[ASSESS_READ] = cases[i].read;
		a.ceilings[ASSESS_WRITE] = cases[i].write;
		assess_follow(&a, &w, &row);
		CU_ASSERT(row.follows == cases[i].follows ||
			  (isnan(row.follows) && isnan(cases[i].follows)));
		CU_ASSERT(row.carries == cases[i].carries ||
			  (isnan(row.carries) && isnan(cases[i].carries)));
		CU_ASSERT_STRING_EQUAL(row.limit, cases[i].limit);
		CU_ASSERT(isnan(row.full_seconds) && !ran(&row));
	}
}

static bool looks_at(const struct assess_look *look, const char *phase)
{
	for (uint32_t i = 0; i < look->phase_count; i++)
		if (strcmp(look->phases[i], phase) == 0)
			return true;
	return false;
}

/* Every ceiling is measured once; what is read is as large as what is written in that time. */
static void looks(void)
{
	struct assess a = begun(195);
	struct assess_look look;
	unsigned measured[ASSESS_CEILINGS] = {0};
	char size[ASSESS_SET_BYTES];

	CU_ASSERT_DOUBLE_EQUAL(a.seconds, 6, 1e-9);
	a.settle_s = 0;
	for (double elapsed_s = 0; assess_next(&a, elapsed_s, &look); elapsed_s += 10) {
		for (unsigned i = 0; i < ASSESS_CEILINGS; i++)
			measured[i] += looks_at(&look, ceiling_kinds[i].phase);
		CU_ASSERT(look.until_s > elapsed_s && look.until_s <= 205);
		assess_found(&a, "write", 8 * 1048576.0 * 8);
		assess_found(&a, "get", 65536 * 50);
		assess_found(&a, "put", 65536 * 50);
		assess_found(&a, "erase", 1);
		/* 50 small objects a second are 300 in 6 s, 150 of each rank. */
		if (looks_at(&look, "create"))
			CU_ASSERT_STRING_EQUAL(look.sets[2], "remove.objects=150");
		if (!looks_at(&look, "make"))
			continue;
		/* 64 MiB/s for 18 s, by 2 ranks with 4 objects each: 144 MiB. */
		snprintf(size, sizeof(size), "make.size=%d", 144 << 20);
		CU_ASSERT_STRING_EQUAL(look.sets[0], size);
		CU_ASSERT_EQUAL(look.set_count, 3);
	}
	for (unsigned i = 0; i < ASSESS_CEILINGS; i++)
		CU_ASSERT_EQUAL(measured[i], 1);
	CU_ASSERT_DOUBLE_EQUAL(a.ceilings[ASSESS_GET], 50, 1e-9);
	CU_ASSERT(isnan(a.ceilings[ASSESS_COMMIT]));
}

/* What a run with those settings finds: 16 threads with depth 8 are twice as good; or all are alike. */
static double with(const struct assess_look *look, bool differ, unsigned n)
{
	bool threads = false, depth = false;

	for (uint32_t i = 0; i < look->set_count; i++) {
		threads |= strcmp(look->sets[i], "read.threads=16") == 0;
		depth |= strcmp(look->sets[i], "read.depth=8") == 0;
	}
	return (differ && threads && depth ? 2 : 1) * GB * (1 + (n * 7 % 5) / 1000.0);
}

/* Settings are taken where they are better, and those of the job where all are alike. */
static void settings(void)
{
	static const struct {
		bool differ, engines, deep;
		const char *words;
	} cases[] = {
		{true, true, false, "threads=16 depth=8 engine=uring"},
		{true, false, true, "threads=16 depth=8"},
		{true, false, false, "threads=4 depth=1"},
		{false, true, false, "threads=4 depth=1 engine=psync"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct assess a = begun(600);
		struct assess_look look;
		unsigned runs = 0;

		a.ask.engines = cases[i].engines;
		a.ask.deep = cases[i].deep;
		while (assess_next(&a, 10, &look)) {
			if (looks_at(&look, "read")) {
				assess_found(&a, "read", with(&look, cases[i].differ, runs++));
				CU_ASSERT(looks_at(&look, "make") == false);
			}
			if (looks_at(&look, "random"))
				assess_found(&a, "random", 4096 * 100);
		}
		CU_ASSERT_STRING_EQUAL(a.settings[ASSESS_SETTLED_READ], cases[i].words);
		/* The last run is the one that counts. */
		CU_ASSERT(a.ceilings[ASSESS_READ] >= (strstr(cases[i].words, "16") ? 2 : 1) * GB);
		CU_ASSERT(runs > 6 && runs < 20);
	}
	/* There is no time for it. */
	CU_ASSERT_EQUAL(begun(20).settle_s, 0);
}

/* A run that found nothing before its share of the budget was over ends the search. */
static void cut(const struct assess_ask *ask, const char *text)
{
	struct assess_look look;
	struct assess_row row;
	struct err err = {0};
	struct assess a;

	CU_ASSERT_EQUAL_FATAL(assess_init(&a, ask, &err), 0);
	a.settle_s = 0;
	CU_ASSERT_EQUAL_FATAL(assess_add_workload(&a, "x", text, strlen(text), &err), 0);
	for (unsigned i = 0; i < LOOKS; i++)
		CU_ASSERT(assess_next(&a, i, &look));
	a.ceilings[ASSESS_WRITE] = a.ceilings[ASSESS_READ] = GB;
	a.ceilings[ASSESS_GET] = 1e6;
	CU_ASSERT(assess_next(&a, 40, &look));
	CU_ASSERT_DOUBLE_EQUAL(look.until_s, ask->budget_s, 1e-9);
	assess_found(&a, "x_data", 1);
	CU_ASSERT(!assess_next(&a, 50, &look));
	assess_follow(&a, &a.workloads[0], &row);
	CU_ASSERT(!ran(&row) && row.carries == 12);
}

/* A training of which two accelerators are carried: 1 and 2 reach the target, 4 and then 3 do not. */
static void measured(void)
{
	static const char text[] =
		"{\"name\": \"x\", \"stores\": {\"data\": {\"uri\": \"file://${HAUL_DATA}/x\"}},"
		" \"dataset\": {\"store\": \"data\", \"format\": \"raw\", \"files\": 100000,"
		" \"sample_bytes\": 1000000},"
		" \"phases\": [{\"generate\": {}}, {\"train\": {\"batch\": 10,"
		" \"compute\": \"100 ms\", \"target_au\": 0.8}}]}";
	static const unsigned tried[] = {1, 2, 4, 3};
	struct assess_ask ask = {.uri = "sim://known", .budget_s = 112, .ranks = 4};
	struct assess_look look;
	struct assess_row row;
	struct err err = {0};
	char set[ASSESS_SET_BYTES];
	struct assess a;

	CU_ASSERT_EQUAL_FATAL(assess_init(&a, &ask, &err), 0);
	a.settle_s = 0;
	CU_ASSERT_EQUAL_FATAL(assess_add_workload(&a, "x", text, strlen(text), &err), 0);
	for (unsigned i = 0; i < LOOKS; i++)
		CU_ASSERT(assess_next(&a, i, &look));
	a.ceilings[ASSESS_WRITE] = a.ceilings[ASSESS_READ] = GB;
	a.ceilings[ASSESS_GET] = 1e6;
	for (size_t i = 0; i < sizeof(tried) / sizeof(*tried); i++) {
		CU_ASSERT_FATAL(assess_next(&a, 40, &look));
		snprintf(set, sizeof(set), "ranks=%u", tried[i]);
		CU_ASSERT_STRING_EQUAL(look.sets[0], set);
		CU_ASSERT(looks_at(&look, "x") && looks_at(&look, "x_data"));
		CU_ASSERT_EQUAL(look.cleans, i == 0);
		assess_found(&a, "x", tried[i] <= 2 ? 0.95 : 0.75);
	}
	CU_ASSERT(!assess_next(&a, 60, &look));
	assess_follow(&a, &a.workloads[0], &row);
	CU_ASSERT(ran(&row) && row.carries == 2 && row.follows == 12);
	CU_ASSERT_STRING_EQUAL(row.limit, "loader");
	CU_ASSERT_DOUBLE_EQUAL(a.workloads[0].found, 0.95, 1e-9);
	cut(&ask, text);
	/* All ranks were carried, so that more may be. */
	a.workloads[0].decided = false;
	a.workloads[0].carried = 4;
	assess_follow(&a, &a.workloads[0], &row);
	CU_ASSERT(!ran(&row) && row.carries == 12 && strcmp(row.limit, "read") == 0);
}

/* Users of which 40 have their answers in time, on two ranks. */
static void users_measured(void)
{
	static const char text[] =
		"{\"name\": \"x\", \"stores\": {\"data\": {\"uri\": \"file://${HAUL_DATA}/x\"}},"
		" \"phases\": [{\"kvcache\": {\"model\": \"llama3.1-8b\", \"users\": 50, \"duration\": \"2 s\","
		" \"templates\": [{\"name\": \"chat\", \"context_min\": 200, \"context_max\": 400,"
		" \"generate_min\": 32, \"generate_max\": 32, \"think_min\": \"1 s\", \"think_max\": \"2 s\"}],"
		" \"target_request_p95\": \"200 ms\"}}]}";
	struct assess_ask ask = {.uri = "sim://known",
				 .budget_s = 120,
				 .ranks = 2,
				 .bypasses = true,
				 .space_bytes = 64 * GB};
	struct assess_look look;
	struct assess_row row;
	struct err err = {0};
	struct assess a;
	unsigned runs = 0;

	CU_ASSERT_EQUAL_FATAL(assess_init(&a, &ask, &err), 0);
	a.settle_s = 0;
	CU_ASSERT_EQUAL_FATAL(assess_add_workload(&a, "x", text, strlen(text), &err), 0);
	for (unsigned i = 0; i < LOOKS; i++)
		CU_ASSERT(assess_next(&a, i, &look));
	a.ceilings[ASSESS_WRITE] = a.ceilings[ASSESS_READ] = 20 * GB;
	for (; assess_next(&a, 40, &look); runs++) {
		unsigned users = 0;

		CU_ASSERT(look.phase_count == 1 && looks_at(&look, "x"));
		CU_ASSERT_EQUAL(sscanf(look.sets[0], "x.users=%u", &users), 1);
		CU_ASSERT_EQUAL(look.cleans, runs == 0);
		assess_found(&a, "x", users <= 20 ? 150e6 : 250e6);
	}
	/* 80 s, of which a run takes 3. */
	CU_ASSERT(runs >= 4 && runs <= 24);
	assess_follow(&a, &a.workloads[0], &row);
	CU_ASSERT(ran(&row) && strcmp(row.limit, "requests") == 0 && row.follows > 40);
	CU_ASSERT(row.carries <= 40 && row.carries + a.workloads[0].step > 40);
	CU_ASSERT_DOUBLE_EQUAL(a.workloads[0].found, 0.15, 1e-9);
	/* What a page cache would answer is not measured. */
	a.ask.bypasses = false;
	a.measured = 0;
	CU_ASSERT(!assess_next(&a, 40, &look));
}

static void refused(void)
{
	struct assess_ask ask = {.uri = "sim://known", .budget_s = 1, .ranks = 1};
	struct err err = {0};
	struct assess a;

	CU_ASSERT_EQUAL(assess_init(&a, &ask, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--budget: must be at least"));
}

/* The job is one that runs, on a store with and one without a page cache. */
static void job(void)
{
	static const char *const uris[] = {"sim://known", "file:///data", "s3://bucket/prefix"};

	for (size_t i = 0; i < sizeof(uris) / sizeof(*uris); i++) {
		struct assess_ask ask = {
			.budget_s = 600, .ranks = 4, .cached = i == 1, .syncs = i == 1};
		struct err err = {0};
		struct job parsed;
		struct assess a;
		char *text;

		snprintf(ask.uri, sizeof(ask.uri), "%s", uris[i]);
		CU_ASSERT_EQUAL_FATAL(assess_init(&a, &ask, &err), 0);
		text = assess_job(&a);
		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		CU_ASSERT_EQUAL(
			job_parse(&parsed, plan_schema(), "job", text, strlen(text), NULL, 0, &err),
			0);
		CU_ASSERT_EQUAL(plan_check(&parsed, 4, 1, true, &err), 0);
		CU_ASSERT_STRING_EQUAL(err.text, "");
		CU_ASSERT_EQUAL(parsed.store_count, i == 1 ? 2u : 1u);
		job_free(&parsed);
		free(text);
	}
}

/* What a job of the catalogue needs, at AU 100 %. */
static void needs(void)
{
	static const char text[] =
		"{\"name\": \"x\", \"stores\": {\"data\": {\"uri\": \"file://${HAUL_DATA}/x\"}},"
		" \"dataset\": {\"store\": \"data\", \"format\": \"raw\", \"files\": 1000,"
		" \"sample_bytes\": 1000000},"
		" \"phases\": [{\"generate\": {}}, {\"train\": {\"batch\": 10, \"epochs\": 3,"
		" \"compute\": \"100 ms\", \"target_au\": 0.8}}]}";
	static const char none[] =
		"{\"name\": \"x\", \"stores\": {\"data\": {\"uri\": \"mem://x\"}},"
		" \"phases\": [{\"io\": {\"operation\": \"write\"}}]}";
	static const char chats[] =
		"{\"name\": \"x\", \"stores\": {\"data\": {\"uri\": \"file://${HAUL_DATA}/x\"}},"
		" \"phases\": [{\"kvcache\": {\"model\": \"llama3.1-8b\", \"users\": 50,"
		" \"target_request_p95\": \"200 ms\", \"duration\": \"30 s\"}}]}";
	struct assess a = begun(600);
	const struct assess_workload *w = &a.workloads[0];
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(assess_add_workload(&a, "x", text, strlen(text), &err), 0);
	CU_ASSERT(w->kind == ASSESS_TRAIN && w->target == 0.8);
	CU_ASSERT_DOUBLE_EQUAL(w->bytes_per_second, 100e6, 1);
	CU_ASSERT_DOUBLE_EQUAL(w->opens_per_second, 100, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(w->data_bytes, 1e9, 1e5);
	/* 3 epochs of 100 steps. */
	CU_ASSERT_DOUBLE_EQUAL(w->run_seconds, 30, 1e-6);
	CU_ASSERT_EQUAL(assess_add_workload(&a, "y", none, strlen(none), &err), -EINVAL);
	CU_ASSERT_EQUAL(a.workload_count, 1);
	CU_ASSERT_EQUAL(assess_add_workload(&a, "z", chats, strlen(chats), &err), 0);
	w++;
	CU_ASSERT(w->kind == ASSESS_USERS && w->target == 0.2);
	CU_ASSERT(w->bytes_per_second > 0 && w->written_per_second > 0 && w->request_bytes > 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"how many accelerators follow from the ceilings", trainings},
		{"how many checkpoints an hour", checkpoints},
		{"how many users", users},
		{"the runs", looks},
		{"settings of the ceilings", settings},
		{"a training that runs", measured},
		{"users who run", users_measured},
		{"a budget that is too short", refused},
		{"the job", job},
		{"what a workload needs", needs},
		CU_TEST_INFO_NULL,
	};

	return unit_main("assess", tests);
}
