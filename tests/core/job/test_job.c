/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of parsing, changing and printing jobs, with the sample schema. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/content/random.h"
#include "core/job/job.h"
#include "tests/core/job/sample_schema.h"
#include "tests/unit.h"

static int parse(struct job *job, const char *text, const char *const *sets, unsigned count,
		 struct err *err)
{
	err->text[0] = '\0';
	return job_parse(job, sample_schema(), "job.json", text, strlen(text), sets, count, err);
}

/* Parses a job that must be accepted. */
static void parse_well(struct job *job, const char *text, const char *const *sets, unsigned count)
{
	struct err err;

	if (parse(job, text, sets, count, &err)) {
		fprintf(stderr, "%s\n", err.text);
		CU_FAIL_FATAL("refused");
	}
}

static void reads_all(void)
{
	const struct sample_store *s;
	const struct sample_dataset *d;
	const struct sample_train *t;
	struct job job;

	parse_well(&job, sample_job, NULL, 0);
	CU_ASSERT_STRING_EQUAL(job.name, "unet3d-h100");
	CU_ASSERT_EQUAL(job.seed, UINT64_MAX);
	CU_ASSERT_EQUAL(job.cluster.ranks, 4);
	CU_ASSERT_EQUAL(job.cluster.tensor, 2);
	CU_ASSERT_EQUAL(job.cluster.pipeline, 1);
	CU_ASSERT_EQUAL(job.cluster.pin, 5);
	CU_ASSERT_STRING_EQUAL(job.cluster.cores, "1-2:3-4");
	CU_ASSERT_EQUAL(job.store_count, 2);
	s = job_find_store(&job, "data")->options;
	CU_ASSERT_STRING_EQUAL(job.stores[0].section->name, "sim");
	CU_ASSERT_EQUAL(s->uri.count, 2);
	CU_ASSERT_STRING_EQUAL(s->uri.items[0], "sim://a{rank}");
	CU_ASSERT_EQUAL(s->bandwidth, 2000000000);
	CU_ASSERT_EQUAL(s->latency_ns, 1500000);
	CU_ASSERT_EQUAL(s->slow_ranks.count, 2);
	s = job_find_store(&job, "ckpt")->options;
	CU_ASSERT_TRUE(s->direct);
	CU_ASSERT_EQUAL(s->fsync, 2);
	CU_ASSERT_PTR_NULL(job_find_store(&job, "none"));
	d = job_find_dataset(&job, "")->options;
	CU_ASSERT_EQUAL(d->sample_bytes, 146800640);
	CU_ASSERT_STRING_EQUAL(d->folder, "tr\xc3\xa4in");
	CU_ASSERT_PTR_NULL(job_find_dataset(&job, "eval"));
	CU_ASSERT_EQUAL(job.phase_count, 3);
	CU_ASSERT_STRING_EQUAL(job.phases[0].name, "generate");
	CU_ASSERT_STRING_EQUAL(job.phases[0].store, "");
	CU_ASSERT_STRING_EQUAL(job.phases[1].name, "big");
	CU_ASSERT_STRING_EQUAL(job.phases[1].path, "/phases/1/train");
	CU_ASSERT_STRING_EQUAL(job.phases[2].store, "ckpt");
	t = job.phases[1].options;
	CU_ASSERT_EQUAL(t->batch, 7);
	CU_ASSERT_EQUAL(t->loader.workers, 8);
	CU_ASSERT_EQUAL(t->loader.prefetch, 2);
	CU_ASSERT_EQUAL(t->compute.a, 93254000);
	CU_ASSERT_EQUAL(t->preprocess.kind, DRAW_GAMMA);
	CU_ASSERT_EQUAL(t->evaluation.every, 0);
	CU_ASSERT_EQUAL(t->tier_count, 2);
	CU_ASSERT_STRING_EQUAL(t->tiers[0].store, "near");
	CU_ASSERT_EQUAL(t->tiers[0].reader.workers, 4);
	CU_ASSERT_EQUAL(t->tiers[1].capacity, 1 << 30);
	t = job.phases[2].options;
	CU_ASSERT_EQUAL(t->compute.kind, DRAW_NORMAL);
	CU_ASSERT_EQUAL(t->evaluation.every, 2);
	CU_ASSERT_TRUE(t->hold);
	job_free(&job);
	CU_ASSERT_EQUAL(job.phase_count, 0);
}

static void least_job(void)
{
	struct job job;

	parse_well(&job, "{\"phases\": [{\"generate\": {}}]}", NULL, 0);
	CU_ASSERT_STRING_EQUAL(job.name, "job");
	CU_ASSERT_EQUAL(job.seed, 42);
	CU_ASSERT_EQUAL(job.stall_limit_ns, 30000000000);
	CU_ASSERT_EQUAL(job.cluster.ranks, 0);
	CU_ASSERT_EQUAL(job.cluster.tensor, 1);
	CU_ASSERT_EQUAL(job.store_count, 0);
	CU_ASSERT_EQUAL(job.dataset_count, 0);
	job_free(&job);
}

static void check_round_trip(const struct job *job)
{
	char *text = job_text(job, sample_schema()), *again;
	struct job second;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	parse_well(&second, text, NULL, 0);
	again = job_text(&second, sample_schema());
	CU_ASSERT_STRING_EQUAL(text, again);
	CU_ASSERT_STRING_EQUAL(job->name, second.name);
	CU_ASSERT_EQUAL(job->seed, second.seed);
	CU_ASSERT_EQUAL(job->stall_limit_ns, second.stall_limit_ns);
	CU_ASSERT_EQUAL(memcmp(&job->cluster, &second.cluster, sizeof(job->cluster)), 0);
	CU_ASSERT_EQUAL(job->store_count, second.store_count);
	CU_ASSERT_EQUAL(job->dataset_count, second.dataset_count);
	CU_ASSERT_EQUAL(job->phase_count, second.phase_count);
	free(text);
	free(again);
	job_free(&second);
}

/* A job may be planned before its phases are known. */
static void no_phases(void)
{
	static const char *const add[] = {"phases=[{\"generate\": {}}]"};
	struct job job;

	parse_well(&job, "{\"stores\": {\"s\": {\"uri\": \"sim://a\"}}, \"phases\": []}", NULL, 0);
	CU_ASSERT_EQUAL(job.phase_count, 0);
	CU_ASSERT_EQUAL(job.store_count, 1);
	check_round_trip(&job);
	job_free(&job);
	parse_well(&job, "{\"phases\": []}", add, 1);
	CU_ASSERT_EQUAL(job.phase_count, 1);
	job_free(&job);
}

static void datasets(void)
{
	struct job job;

	parse_well(
		&job,
		"{\"datasets\": {\"train\": {\"store\": \"s\", \"files\": 1, \"sample_bytes\": 1},"
		"\"eval\": {\"store\": \"s\", \"files\": 2, \"sample_bytes\": 1}}, \"phases\": [{\"generate\": {}}]}",
		NULL, 0);
	CU_ASSERT_EQUAL(job.dataset_count, 2);
	CU_ASSERT_EQUAL(
		((const struct sample_dataset *)job_find_dataset(&job, "eval")->options)->files, 2);
	CU_ASSERT_PTR_NULL(job_find_dataset(&job, ""));
	job_free(&job);
}

static void text_reads_back(void)
{
	struct job job;
	char *text;

	parse_well(&job, sample_job, NULL, 0);
	check_round_trip(&job);
	text = job_text(&job, sample_schema());
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"seed\": \"18446744073709551615\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"compute\": 0.093254,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"uri\": [\"sim://a{rank}\", \"sim://b\"]"));
	free(text);
	job_free(&job);
}

static void variables_stay_unexpanded(void)
{
	struct job job;
	char *text;

	setenv("HAUL_TEST_SCRATCH", "/secret", 1);
	parse_well(
		&job,
		"{\"stores\": {\"d\": {\"uri\": \"file://${HAUL_TEST_SCRATCH}/x\"}}, \"phases\": [{\"generate\": {}}]}",
		NULL, 0);
	text = job_text(&job, sample_schema());
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "file://${HAUL_TEST_SCRATCH}/x"));
	CU_ASSERT_PTR_NULL(strstr(text, "secret"));
	free(text);
	job_free(&job);
}

/* Any values within their bounds are the same after printing and parsing. */
static void any_job_reads_back(void)
{
	static const char *const draws[] = {
		"%llu.%llu",
		"\"%llu.%llu us\"",
		"{\"type\":\"normal\",\"mean\":%llu.%llu,\"stdev\":0}",
		"{\"type\":\"poisson\",\"mean\":%llu.%llu,\"unit\":\"3 ns\"}",
		"{\"type\":\"uniform\",\"min\":0,\"max\":%llu.%llu}",
		"{\"type\":\"exponential\",\"mean\":%llu.%llu}"};
	struct random r = {.key = 11};
	char sets[8][160];
	const char *list[8];
	struct job job;
	int i, j;

	for (j = 0; j < 8; j++)
		list[j] = sets[j];
	for (i = 0; i < 300; i++) {
		sprintf(sets[0], "seed=\"%llu\"", (unsigned long long)random_next(&r));
		sprintf(sets[1], "big.batch=%llu",
			(unsigned long long)(1 + random_next(&r) % (1 << 20)));
		strcpy(sets[2], "big.compute=");
		sprintf(sets[2] + 12, draws[i % 6], (unsigned long long)(random_next(&r) % 1000),
			(unsigned long long)(random_next(&r) % 1000000000000));
		sprintf(sets[3], "big.target_au=%.17g", random_unit(random_next(&r)));
		sprintf(sets[4], "big.seconds=\"%llu ns\"",
			(unsigned long long)(random_next(&r) >> (i % 64)));
		sprintf(sets[5], "dataset.sample_bytes=\"%llu B\"",
			(unsigned long long)(1 + (random_next(&r) >> (1 + i % 63))));
		sprintf(sets[6], "stores.data.slow_ranks={\"%llu\":%.17g}",
			(unsigned long long)(random_next(&r) % 1000),
			0.001 + random_unit(random_next(&r)) / 2);
		sprintf(sets[7], "stores.data.bandwidth=%.1f GB/s",
			random_unit(random_next(&r)) * 100);
		parse_well(&job, sample_job, list, 8);
		check_round_trip(&job);
		job_free(&job);
	}
}

static void sets(void)
{
	static const char *const list[] = {
		"phases.1.train.batch=4",
		"big.epochs=9",
		"train.batch=\"12\"",
		"dataset.files=8",
		"stores.ckpt.uri=file:///y",
		"seed=7",
		"name=other",
		"big.loader.workers=2",
		"cluster.tensor=1",
		"stores.new.uri=sim://z",
		"stores.new.latency=2 ms",
		"big.compute={\"type\": \"exponential\", \"mean\": \"1 ms\"}",
		"big.tags=[\"x\"]",
		"stores.data.uri.1=sim://c",
		"generate.name=first",
		"big.hold=true",
		"train.loader.workers=6", /* the job has "loader": "pytorch" */
		"phases.2.train.loader.prefetch=5",
		"big.tiers.0.capacity=1 MiB", /* the job has "near" there */
		"big.tiers.1.reader.workers=9",
		"big.tiers.2.store=farthest",
		"phases.2.train.tiers.0.store=only",
		"phases.2.train.tiers.0.reader.depth=3",
	};
	const struct sample_train *t;
	struct job job;

	/* train stands for the first phase of that name, /phases/2, because /phases/1 is named
	 * big. */
	parse_well(&job, sample_job, list, sizeof(list) / sizeof(list[0]));
	t = job.phases[1].options;
	CU_ASSERT_EQUAL(t->batch, 4);
	CU_ASSERT_EQUAL(t->epochs, 9);
	CU_ASSERT_EQUAL(t->loader.workers, 2);
	CU_ASSERT_EQUAL(t->compute.kind, DRAW_EXPONENTIAL);
	CU_ASSERT_EQUAL(t->tags.count, 1);
	CU_ASSERT_TRUE(t->hold);
	CU_ASSERT_EQUAL(t->tier_count, 3);
	CU_ASSERT_STRING_EQUAL(t->tiers[0].store, "near");
	CU_ASSERT_EQUAL(t->tiers[0].capacity, 1 << 20);
	CU_ASSERT_STRING_EQUAL(t->tiers[1].store, "far");
	CU_ASSERT_EQUAL(t->tiers[1].reader.workers, 9);
	CU_ASSERT_STRING_EQUAL(t->tiers[2].store, "farthest");
	t = job.phases[2].options;
	CU_ASSERT_EQUAL(t->tier_count, 1);
	CU_ASSERT_STRING_EQUAL(t->tiers[0].store, "only");
	CU_ASSERT_EQUAL(t->tiers[0].reader.depth, 3);
	CU_ASSERT_EQUAL(t->batch, 12);
	CU_ASSERT_EQUAL(t->loader.workers, 6);
	CU_ASSERT_EQUAL(t->loader.prefetch, 5);
	CU_ASSERT_EQUAL(job.seed, 7);
	CU_ASSERT_STRING_EQUAL(job.name, "other");
	CU_ASSERT_EQUAL(job.store_count, 3);
	CU_ASSERT_STRING_EQUAL(((struct sample_store *)job.stores[0].options)->uri.items[1],
			       "sim://c");
	CU_ASSERT_STRING_EQUAL(((struct sample_store *)job.stores[1].options)->uri.items[0],
			       "file:///y");
	CU_ASSERT_EQUAL(((struct sample_store *)job.stores[2].options)->latency_ns, 2000000);
	CU_ASSERT_EQUAL(((struct sample_dataset *)job.datasets[0].options)->files, 8);
	CU_ASSERT_STRING_EQUAL(job.phases[0].name, "first");
	job_free(&job);
}

/* Targets are options of their phase, in the units that people write. */
static void targets(void)
{
	static const char *const list[] = {"big.target_bandwidth=2 GB/s", "big.target_p99=20 ms",
					   "big.target_rate=12.5", "train.target_au=0"};
	const struct job_phase *big, *small;
	struct job job;

	parse_well(&job, sample_job, list, sizeof(list) / sizeof(list[0]));
	big = &job.phases[1];
	small = &job.phases[2];
	CU_ASSERT_EQUAL(job_target(big, "target_au"), 0.9);
	CU_ASSERT_EQUAL(job_target_at(big, 1), 2e9);
	CU_ASSERT_EQUAL(job_target(big, "target_p99"), 20e6);
	CU_ASSERT_EQUAL(job_target(big, "target_rate"), 12.5);
	CU_ASSERT_TRUE(isnan(job_target(big, "target_unknown")));
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_TRUE(isnan(job_target_at(small, i)));
	CU_ASSERT_TRUE(isnan(job_target(&job.phases[0], "target_au")));
	check_round_trip(&job);
	job_free(&job);
}

static void set_refusals(void)
{
	static const char *const cases[][2] = {
		{"big.batch", "--set big.batch: write it as path=value, as in train.batch=4"},
		{"=4", "--set =4: write it as path=value, as in train.batch=4"},
		{"big..batch=4", "--set big..batch=4: its path has an empty part"},
		{"a.b.c.d.e.f.g.h.i.j.k.l.m=1",
		 "--set a.b.c.d.e.f.g.h.i.j.k.l.m=1: its path has more than 12 parts"},
		{"smal.batch=4",
		 "--set smal.batch=4: the job has no \"smal\"; a path starts with name, seed, ranks, stall_limit, "
		 "cluster, stores, dataset, datasets, phases, or the name or kind of a phase, or the name of a data set"},
		{"big=4", "--set big=4: big is not an option but holds some, as in big.batch=4"},
		{"big.bach=4",
		 "--set big.bach=4: /phases/1/train/bach: unknown key; did you mean \"batch\"?"},
		{"big.target_p99=20 MB",
		 "--set big.target_p99=20 MB: /phases/1/train/target_p99: \"20 MB\" is not a time: unknown "
		 "unit \"MB\"; known are ns, us, ms, s, min, h, d"},
		{"big.target_p9=20 ms",
		 "--set big.target_p9=20 ms: /phases/1/train/target_p9: unknown key; did you mean "
		 "\"target_p99\"?"},
		{"big.batch=0",
		 "--set big.batch=0: /phases/1/train/batch: must be at least 1, is 0"},
		{"big.batch=many",
		 "--set big.batch=many: /phases/1/train/batch: must be a whole number, is \"many\""},
		{"big.batch=",
		 "--set big.batch=: /phases/1/train/batch: must be a whole number, is \"\""},
		{"big.compute.mean=4",
		 "--set big.compute.mean=4: /phases/1/train/compute holds nothing, it is \"93.254 ms\""},
		{"train.loader.x=4",
		 "--set train.loader.x=4: /phases/2/train/loader/x: unknown key; known are: kind, "
		 "workers, prefetch, depth"},
		{"big.tiers.3.store=x",
		 "--set big.tiers.3.store=x: /phases/1/train/tiers holds 2, counted from 0; there is no 3"},
		{"big.tiers.x.store=x",
		 "--set big.tiers.x.store=x: /phases/1/train/tiers holds 2, counted from 0; there is no x"},
		{"big.tiers.2.capacity=1", "job.json: /phases/1/train/tiers/2/store: is missing"},
		{"big.tiers.1.reader.x=1",
		 "--set big.tiers.1.reader.x=1: /phases/1/train/tiers/1/reader/x: unknown key; known "
		 "are: kind, workers, prefetch, depth"},
		{"big.tiers.1.capacity=-1",
		 "--set big.tiers.1.capacity=-1: /phases/1/train/tiers/1/capacity: must be at least 0 B, is -1"},
		{"big.tiers.store=x", "--set big.tiers.store=x: /phases/1/train/tiers holds 2, "
				      "counted from 0; there is no store"},
		{"big.tiers=x",
		 "--set big.tiers=x: /phases/1/train/tiers: must be a list, is \"x\""},
		{"big.tiers=[1,2]",
		 "--set big.tiers=[1,2]: /phases/1/train/tiers/0: must be a string, is 1"},
		{"phases.7.train.batch=4",
		 "--set phases.7.train.batch=4: /phases holds 3, counted from 0; there is no 7"},
		{"phases.x.train.batch=4",
		 "--set phases.x.train.batch=4: /phases holds 3, counted from 0; there is no x"},
		{"phases.1.trian.batch=4",
		 "job.json: /phases/1: must hold one key, the kind of phase, as in "
		 "{\"train\": {...}}; holds 2"},
		{"stores.new.latency=1 ms",
		 "job.json: /stores/new/uri: is missing; a store needs one, as in \"file:///scratch/train\""},
		{"stores.data.uri=/tmp",
		 "--set stores.data.uri=/tmp: /stores/data/uri: \"/tmp\" is not a URI; write it as "
		 "file:///tmp"},
		{"seed=-1", "--set seed=-1: /seed: must be at least 0, is -1"},
		{"phases={}", "--set phases={}: /phases: must be a list, is an object"},
		{"name=a\nb", "--set name=a\nb: its value holds control characters"},
		{"big.batch=[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]",
		 "--set big.batch=[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]: /phases/1/train/batch: must be a whole "
		 "number, is \"[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]\""},
	};
	struct job job;
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL(parse(&job, sample_job, &cases[i][0], 1, &err), -EINVAL);
		CU_ASSERT_EQUAL(job.phase_count, 0);
		if (strcmp(err.text, cases[i][1])) {
			fprintf(stderr, "found:    %s\nexpected: %s\n", err.text, cases[i][1]);
			CU_FAIL("a different sentence");
		}
	}
}

static void loads_files(void)
{
	char path[] = "/tmp/haul_test_job_XXXXXX", *big;
	int fd = mkstemp(path);
	struct job job;
	struct err err;
	char wanted[200];

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, sample_job, strlen(sample_job)), (ssize_t)strlen(sample_job));
	CU_ASSERT_EQUAL(job_load(&job, sample_schema(), path, NULL, 0, &err), 0);
	CU_ASSERT_EQUAL(job.phase_count, 3);
	job_free(&job);
	big = calloc(1, JOB_TEXT_MAX + 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(big);
	memset(big, ' ', JOB_TEXT_MAX + 1);
	CU_ASSERT_EQUAL(pwrite(fd, big, JOB_TEXT_MAX + 1, 0), JOB_TEXT_MAX + 1);
	CU_ASSERT_EQUAL(job_load(&job, sample_schema(), path, NULL, 0, &err), -EINVAL);
	snprintf(wanted, sizeof(wanted), "%s: is larger than 4 MiB, the most a job may be", path);
	CU_ASSERT_STRING_EQUAL(err.text, wanted);
	free(big);
	close(fd);
	unlink(path);
	CU_ASSERT_EQUAL(job_load(&job, sample_schema(), path, NULL, 0, &err), -ENOENT);
	snprintf(wanted, sizeof(wanted), "%s: No such file or directory", path);
	CU_ASSERT_STRING_EQUAL(err.text, wanted);
	CU_ASSERT_EQUAL(job_load(&job, sample_schema(), "/tmp", NULL, 0, &err), -EISDIR);
	CU_ASSERT_STRING_EQUAL(err.text, "/tmp: Is a directory");
}

/* Whether the reference contains these words in sequence, whatever the width of its columns. */
static bool reference_says(const char *reference, const char *words)
{
	char *text = strdup(reference), *to = text;
	bool says;

	for (const char *from = reference; *from; from++)
		if (*from != ' ' || from[1] != ' ')
			*to++ = *from;
	*to = '\0';
	says = strstr(text, words);
	free(text);
	return says;
}

static void schema_and_reference(void)
{
	char *schema = job_json_schema(sample_schema()),
	     *reference = job_reference(sample_schema());
	cJSON *tree, *properties;

	CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reference);
	tree = cJSON_Parse(schema);
	properties = cJSON_GetObjectItem(tree, "properties");
	CU_ASSERT_EQUAL(cJSON_GetArraySize(properties), 16);
	CU_ASSERT_PTR_NOT_NULL(strstr(schema, "\"^sim://\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(reference, "\n/phases/N/train: reads it as training does\n"));
	CU_ASSERT(
		reference_says(reference, "\n batch whole number, 1 … 1048576, default 1 samples"));
	CU_ASSERT(reference_says(
		reference, "\n target_bandwidth rate, default none bytes per second to reach"));
	CU_ASSERT(
		reference_says(reference, "\n target_au number, 0 … 1, default none AU to reach"));
	CU_ASSERT_PTR_NOT_NULL(strstr(schema, "\"target_p99\": {"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(reference, "\n/phases/N/generate: makes the data set\n  (no options)\n"));
	cJSON_Delete(tree);
	free(schema);
	free(reference);
}

/* Prints the schema or the sample job for a validator: `test_job --schema` and `test_job
 * --sample`. */
static int show(const char *what)
{
	char *schema = job_json_schema(sample_schema());

	fputs(!strcmp(what, "--schema") ? schema : sample_job, stdout);
	free(schema);
	return 0;
}

int main(int argc, char **argv)
{
	CU_TestInfo tests[] = {{"reads all", reads_all},
			       {"the least job", least_job},
			       {"no phases", no_phases},
			       {"data sets", datasets},
			       {"its text reads back", text_reads_back},
			       {"variables stay unexpanded", variables_stay_unexpanded},
			       {"any job reads back", any_job_reads_back},
			       {"--set", sets},
			       {"targets", targets},
			       {"--set refused", set_refusals},
			       {"loads files", loads_files},
			       {"schema and reference", schema_and_reference},
			       CU_TEST_INFO_NULL};

	if (argc == 2)
		return show(argv[1]);
	return unit_main("job", tests);
}
