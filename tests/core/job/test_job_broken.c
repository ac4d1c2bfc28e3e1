/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of broken jobs: each is refused with exactly this sentence, and the job is empty
 * afterwards. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/job.h"
#include "tests/core/job/sample_schema.h"
#include "tests/unit.h"

#define STORES \
	"\"stores\": {\"data\": {\"uri\": \"sim://a\"}, \"ckpt\": {\"uri\": \"file:///c\"}}, "
#define DATASET         "\"dataset\": {\"store\": \"data\", \"files\": 8, \"sample_bytes\": 100}, "
#define PHASES          "\"phases\": [{\"generate\": {}}]"
#define HEAD            STORES DATASET
#define TRAIN(inside)   "{" HEAD "\"phases\": [{\"generate\": {}}, {\"train\": {" inside "}}]}"
#define STORE(inside)   "{\"stores\": {\"data\": {" inside "}}, " PHASES "}"
#define DATA(inside)    "{" STORES "\"dataset\": {" inside "}, " PHASES "}"
#define CLUSTER(inside) "{\"cluster\": {" inside "}, " PHASES "}"

struct broken {
	const char *text, *sentence; /* after "job.json: " */
};

static const struct broken cases[] = {
	/* not JSON */
	{"", "is empty"},
	{"\n\n", "is empty"},
	{"\x7f"
	 "ELF\x02\x01",
	 "line 1, column 1: expected a value, found byte 0x7f"},
	{"\xff\xfe{", "line 1, column 1: expected a value, found byte 0xff"},
	{"name: x", "line 1, column 1: expected a value, found 'n'"},
	{"{\n  \"name\": \"x\",\n  \"seed\" 7\n}", "line 3, column 10: expected ':', found '7'"},
	{"{\"phases\": [{\"generate\": {}},]}", "line 1, column 30: expected a value, found ']'"},
	{"{" PHASES ",}", "line 1, column 31: expected a key in double quotes, found '}'"},
	{"{" PHASES "} x", "line 1, column 32: expected nothing more, found 'x'"},
	{"{" PHASES, "line 1, column 30: expected ',' or '}', found the end"},
	{"{\"seed\": NaN, " PHASES "}", "line 1, column 10: expected a value, found 'N'"},
	{"{\"seed\": 1e999, " PHASES "}", "line 1, column 10: the number 1e999 is out of range"},
	{"{\"name\": \"\xc3\x28\", " PHASES "}", "line 1, column 11: byte 0xc3 is not UTF-8"},
	{"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "line 1, column 33: nested more than 32 deep"},

	/* the job itself */
	{"[]", "/: must be an object, is a list"},
	{"7", "/: must be an object, is a bare value"},
	{"{}", "/phases: is missing; a job lists its phases there"},
	{"{\"phasse\": []}", "/phasse: unknown key; did you mean \"phases\"?"},
	{"{\"quite_other\": 1}",
	 "/quite_other: unknown key; known are: cluster, stores, dataset, datasets, phases, name, way, about, repeat, "
	 "warmup, seed, "
	 "stall_limit, ranks"},
	{"{\"seed\": 1, \"seed\": 1, " PHASES "}", "/seed: given twice"},
	{"{" PHASES ", " PHASES "}", "/phases: given twice"},
	{"{\"seed\": -1, " PHASES "}", "/seed: must be at least 0, is -1"},
	{"{\"seed\": 9007199254740993, " PHASES "}",
	 "/seed: whole numbers of 2^53 and more are written as strings, in quotes"},
	{"{\"seed\": \"18446744073709551616\", " PHASES "}",
	 "/seed: must be below 2^64, is \"18446744073709551616\""},
	{"{\"seed\": 1.5, " PHASES "}", "/seed: must be a whole number, is 1.5"},
	{"{\"name\": 7, " PHASES "}", "/name: must be a string, is 7"},
	{"{\"name\": \"a\\nb\", " PHASES "}",
	 "/name: must not hold control characters, is \"a\\nb\""},
	{"{\"name\": \"0123456789012345678901234567890123456789012345678901234567890123\", " PHASES
	 "}",
	 "/name: must be at most 63 bytes long, is 64"},

	/* the cluster */
	{"{\"cluster\": 4, " PHASES "}", "/cluster: must be an object, is 4"},
	{CLUSTER("\"tensor\": 0"), "/cluster/tensor: must be at least 1, is 0"},
	{CLUSTER("\"pin\": \"nuna\""),
	 "/cluster/pin: must be \"none\", \"core\", \"numa\", \"tile\", \"nic\" or \"list\", is \"nuna\"; did you mean \"numa\"?"},
	{CLUSTER("\"pin\": \"list\""),
	 "/cluster/cores: is missing; pin \"list\" needs it, as in \"1-8:9-16\""},
	{CLUSTER("\"cores\": \"1-8\""),
	 "/cluster/cores: is only for pin \"list\", which is \"none\""},
	{CLUSTER("\"reserved_cores\": \"0,52\""),
	 "/cluster/reserved_cores: is only where haul cuts the slices, not for pin \"none\""},
	{CLUSTER("\"rank\": 4"), "/cluster/rank: unknown key; did you mean \"ranks\"?"},

	/* stores */
	{"{\"stores\": [], " PHASES "}", "/stores: must be an object, is a list"},
	{"{\"stores\": {\"data\": \"file:///x\"}, " PHASES "}",
	 "/stores/data: must be an object, is \"file:///x\""},
	{"{\"stores\": {\"da ta\": {}}, " PHASES "}",
	 "/stores/da ta: a name is made of letters, digits, \"_\" and \"-\", at most 63"},
	{"{\"stores\": {\"\": {}}, " PHASES "}",
	 "/stores/: a name is made of letters, digits, \"_\" and \"-\", at most 63"},
	{"{\"stores\": {\"a\": {\"uri\": \"sim://a\"}, \"a\": {\"uri\": \"sim://a\"}}, " PHASES "}",
	 "/stores/a: given twice"},
	{STORE(""),
	 "/stores/data/uri: is missing; a store needs one, as in \"file:///scratch/train\""},
	{STORE("\"uri\": 7"),
	 "/stores/data/uri: must be a string such as \"file:///scratch/train\", is 7"},
	{STORE("\"uri\": []"), "/stores/data/uri: must hold at least one URI"},
	{STORE("\"uri\": [\"sim://a\", 7]"),
	 "/stores/data/uri/1: must be a string such as \"file:///scratch/train\", is 7"},
	{STORE("\"uri\": [\"sim://a\", \"file:///a\"]"),
	 "/stores/data/uri/1: must be sim:// as the first is: a store has one scheme"},
	{STORE("\"uri\": \"s3:/bucket\""),
	 "/stores/data/uri: \"s3:/bucket\" is not a URI; write it as s3://bucket"},
	{STORE("\"uri\": \"/scratch\""),
	 "/stores/data/uri: \"/scratch\" is not a URI; write it as file:///scratch"},
	{STORE("\"uri\": \"ftp://host\""),
	 "/stores/data/uri: no store is known for ftp://; known are file://, sim://"},
	{STORE("\"uri\": \"file:///{foo}\""),
	 "/stores/data/uri: unknown placeholder {foo}; known are {rank}, {node}, "
	 "{local_rank} and ${VARIABLE}"},
	{STORE("\"uri\": \"file:///x\", \"bandwidth\": 1"),
	 "/stores/data/bandwidth: unknown key; known are: uri, transfer, timeout, direct, fsync"},
	{STORE("\"uri\": \"file:///x\", \"uri\": \"file:///y\""), "/stores/data/uri: given twice"},
	{STORE("\"uri\": \"file:///x\", \"direct\": \"yes\""),
	 "/stores/data/direct: must be true or false, is \"yes\""},
	{STORE("\"uri\": \"sim://x\", \"bandwidth\": \"2 GB\""),
	 "/stores/data/bandwidth: \"2 GB\" is not a rate: unknown unit \"GB\"; known are B/s, kB/s, MB/s, GB/s, TB/s, PB/s, "
	 "EB/s, KiB/s, MiB/s, GiB/s, TiB/s, PiB/s, EiB/s"},
	{STORE("\"uri\": \"sim://x\", \"failure_rate\": 1.5"),
	 "/stores/data/failure_rate: must be at most 1, is 1.5"},

	/* data sets */
	{"{\"dataset\": 7, " PHASES "}", "/dataset: must be an object, is 7"},
	{"{\"datasets\": [], " PHASES "}", "/datasets: must be an object, is a list"},
	{"{" DATASET "\"datasets\": {}, " PHASES "}",
	 "/datasets: the job also has \"dataset\"; keep one of them"},
	{DATA("\"store\": \"data\", \"sample_bytes\": 1"), "/dataset/files: is missing"},
	{DATA("\"store\": \"data\", \"files\": 8.5, \"sample_bytes\": 1"),
	 "/dataset/files: must be a whole number, is 8.5"},
	{DATA("\"store\": \"data\", \"files\": 8, \"sample_bytes\": -5"),
	 "/dataset/sample_bytes: must be at least 1 B, is -5"},
	{DATA("\"store\": \"data\", \"files\": 8, \"sample_bytes\": \"5 parsecs\""),
	 "/dataset/sample_bytes: \"5 parsecs\" is not a size: unknown unit \"parsecs\"; known are B, kB, MB, GB, TB, PB, EB, "
	 "KiB, MiB, GiB, TiB, PiB, EiB"},
	{DATA("\"store\": \"data\", \"files\": 8, \"sample_bytes\": \"99 EB\""),
	 "/dataset/sample_bytes: \"99 EB\" is too large: a size must be below 2^64 bytes"},
	{DATA("\"store\": \"data\", \"files\": 8, \"sample_bytes\": 1, \"format\": \"npzz\""),
	 "/dataset/format: must be \"raw\", \"npy\" or \"npz\", is \"npzz\"; did you mean \"npz\"?"},

	/* phases */
	{"{\"phases\": {}}", "/phases: must be a list, is an object"},
	{"{\"phases\": [\"generate\"]}",
	 "/phases/0: must be an object such as {\"train\": {...}}, is \"generate\""},
	{"{\"phases\": [{}]}",
	 "/phases/0: must hold one key, the kind of phase, as in {\"train\": {...}}; holds 0"},
	{"{\"phases\": [{\"generate\": {}, \"train\": {}}]}",
	 "/phases/0: must hold one key, the kind of phase, as in {\"train\": {...}}; holds 2"},
	{"{\"phases\": [{\"trian\": {}}]}",
	 "/phases/0/trian: unknown kind of phase; did you mean \"train\"?"},
	{"{\"phases\": [{\"checkpoint\": {}}]}",
	 "/phases/0/checkpoint: unknown kind of phase; known are: generate, train"},
	{"{\"phases\": [{\"generate\": {}}, {\"together\": []}]}",
	 "/phases/1/together: must hold 1 to 16 phases, holds 0"},
	{"{\"phases\": [{\"train\": []}]}", "/phases/0/train: must be an object, is a list"},
	{"{\"phases\": [{\"train\": null}]}", "/phases/0/train: must be an object, is null"},
	{TRAIN("\"bach\": 4"), "/phases/1/train/bach: unknown key; did you mean \"batch\"?"},
	{TRAIN("\"batch\": 4, \"batch\": 4"), "/phases/1/train/batch: given twice"},
	{TRAIN("\"batch\": 0"), "/phases/1/train/batch: must be at least 1, is 0"},
	{TRAIN("\"batch\": 1048577"), "/phases/1/train/batch: must be at most 1048576, is 1048577"},
	{TRAIN("\"compute\": \"5 lightyears\""),
	 "/phases/1/train/compute: \"5 lightyears\" is not a time: unknown unit "
	 "\"lightyears\"; known are ns, us, ms, s, min, h, d"},
	{TRAIN("\"compute\": -1"), "/phases/1/train/compute: must be at least 0 s, is -1"},
	{TRAIN("\"compute\": {\"type\": \"normal\", \"mean\": 1}"),
	 "/phases/1/train/compute/stdev: is missing"},
	{TRAIN("\"loader\": {\"depth\": 0}"),
	 "/phases/1/train/loader/depth: must be at least 1, is 0"},
	{TRAIN("\"loader\": {\"kind\": \"tensorflow\"}"),
	 "/phases/1/train/loader/kind: must be \"pytorch\", is \"tensorflow\""},
	{TRAIN("\"target_au\": 90"), "/phases/1/train/target_au: must be at most 1, is 90"},
	{TRAIN("\"evaluation\": {\"every\": 1}"), "/phases/1/train/evaluation/dataset: is missing"},
	{TRAIN("\"store\": \"scratch\""),
	 "/phases/1/train/store: no store \"scratch\"; there are: data, ckpt"},
	{TRAIN("\"name\": \"a b\""),
	 "/phases/1/train/name: a name is made of letters, digits, \"_\" and \"-\", at most 63"},
	{"{\"phases\": [{\"train\": {\"store\": \"x\"}}]}",
	 "/phases/0/train/store: no store \"x\"; the job has no stores"},
};

static void refused(void)
{
	struct job job;
	struct err err;
	size_t i;

	CU_ASSERT_TRUE(sizeof(cases) / sizeof(cases[0]) >= 45);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err.text[0] = '\0';
		CU_ASSERT_EQUAL(job_parse(&job, sample_schema(), "job.json", cases[i].text,
					  strlen(cases[i].text), NULL, 0, &err),
				-EINVAL);
		CU_ASSERT_EQUAL(job.phase_count, 0);
		CU_ASSERT_PTR_NULL(job.arena.blocks);
		if (strncmp(err.text, "job.json: ", 10) ||
		    strcmp(err.text + 10, cases[i].sentence)) {
			fprintf(stderr, "%s\nfound:    %s\nexpected: job.json: %s\n", cases[i].text,
				err.text, cases[i].sentence);
			CU_FAIL("a different sentence");
		}
	}
}

static char *repeat(const char *head, const char *item, unsigned n, const char *tail)
{
	char *text = malloc(strlen(head) + n * (strlen(item) + 16) + strlen(tail) + 1), *p;
	unsigned i;

	if (!text)
		abort();
	p = text + sprintf(text, "%s", head);
	for (i = 0; i < n; i++) {
		if (i)
			*p++ = ',';
		p += sprintf(p, item, i);
	}
	strcpy(p, tail);
	return text;
}

/* Jobs with too many entries of one kind. */
static void too_much(void)
{
	static const struct {
		const char *head, *item;
		unsigned count;
		const char *tail, *sentence;
	} many[] = {
		{"{\"stores\": {", "\"s%u\": {\"uri\": \"sim://a\"}", 17, "}, " PHASES "}",
		 "job.json: /stores: must hold at most 16 stores"},
		{"{\"datasets\": {",
		 "\"d%u\": {\"store\": \"s\", \"files\": 1, \"sample_bytes\": 1}", 17,
		 "}, " PHASES "}", "job.json: /datasets: must hold at most 16 data sets"},
		{"{\"phases\": [", "{\"generate\": {}}", 257, "]}",
		 "job.json: /phases: must hold at most 256 phases, holds 257"},
		{"{\"name\": [", "%u", 140000, "]}", "job.json: holds more than 131072 values"},
		{"{", "\"k%u\": 0", 100000, "}",
		 "job.json: /k0: unknown key; known are: cluster, stores, dataset, "
		 "datasets, phases, name, way, about, repeat, warmup, seed, stall_limit, ranks"},
	};
	struct job job;
	struct err err;
	char *text;
	size_t i;

	for (i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
		text = repeat(many[i].head, many[i].item, many[i].count, many[i].tail);
		CU_ASSERT_EQUAL(job_parse(&job, sample_schema(), "job.json", text, strlen(text),
					  NULL, 0, &err),
				-EINVAL);
		if (strcmp(err.text, many[i].sentence)) {
			fprintf(stderr, "found:    %s\nexpected: %s\n", err.text, many[i].sentence);
			CU_FAIL("a different sentence");
		}
		free(text);
	}
}

static void huge(void)
{
	char *text = malloc(JOB_TEXT_MAX + 1);
	struct job job;
	struct err err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	memset(text, '[', JOB_TEXT_MAX + 1);
	CU_ASSERT_EQUAL(
		job_parse(&job, sample_schema(), "job.json", text, JOB_TEXT_MAX + 1, NULL, 0, &err),
		-EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "job.json: is larger than 4 MiB, the most a job may be");
	CU_ASSERT_EQUAL(
		job_parse(&job, sample_schema(), "job.json", text, JOB_TEXT_MAX, NULL, 0, &err),
		-EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "job.json: line 1, column 33: nested more than 32 deep");
	free(text);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"refused", refused}, {"too much", too_much}, {"huge", huge}, CU_TEST_INFO_NULL};

	return unit_main("job_broken", tests);
}
