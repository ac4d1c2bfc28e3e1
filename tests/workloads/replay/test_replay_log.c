/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of operation logs as traces: those of s3dlio, warp and haul. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/libs/doubles/trace_memory.h"
#include "tests/unit.h"
#include "workloads/replay/replay.h"
#include "workloads/replay/rows.h"

#define S3DLIO \
	"idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\t" \
	"duration_ns\n"
#define WARP \
	"idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\t" \
	"last_byte\tend\tduration_ns\tcat\n"
#define HAUL \
	"idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\t" \
	"last_byte\tend\tduration_ns\tcat\toffset\tattempts\tstatus\tphase\trun\n"
/* A row: the operation, bytes, the file, an error, seconds after 12:00. */
#define S3DLIO_ROW(op, bytes, file, error, second) \
	"0\t7\t" op "\t\t1\t" #bytes "\ts3://\t" file "\t" error "\t2026-01-31T12:00:" second \
	"Z\t\t2026-01-31T13:00:00Z\t5\n"
#define WARP_ROW(op, objects, bytes, file, second) \
	"0\t7\t" op "\tabcd\t" #objects "\t" #bytes "\thttp://h:9000\t" file \
	"\t\t2026-01-31T12:00:" second "Z\t\t\t2026-01-31T13:00:00Z\t5\t0\n"
#define HAUL_ROW(op, bytes, file, second, offset) \
	"0\t0\t" op "\t0\t1\t" #bytes "\tfile://\t" file "\t\t2026-01-31T12:00:" second \
	"Z\t\t\t2026-01-31T13:00:00Z\t5\t0\t" #offset "\t1\t0\tio\t0\n"

#define ELBENCHO(op, entry, offset, length, finished) \
	"{ \"date\": \"2026-01-31T13:00:00.500+0100\", \"worker_rank\": 3, \"op_name\": \"" op \
	"\", \"entry_name\": \"" entry "\", \"offset\": " #offset ", \"length\": " #length \
	", \"is_finished\": " finished ", \"is_error\": false }\n"

struct wanted_row {
	uint32_t operation;
	uint64_t ms, offset, bytes;
	const char *key;
};

static const struct log_case {
	const char *text;
	uint64_t passed;
	struct wanted_row rows[6];
} logs[] = {
	/* Sorted by the beginnings; what failed, and other operations, are no rows. */
	{S3DLIO S3DLIO_ROW("GET", 100, "s3://b/data/a", "", "02.5") S3DLIO_ROW(
		 "PUT", 100, "s3://b/data/a", "", "01") S3DLIO_ROW("LIST", 3, "s3://b/", "", "01")
		 S3DLIO_ROW("GET", 0, "s3://b/data/c", "no such key", "03")
			 S3DLIO_ROW("DELETE", 0, "s3://b/data/a", "", "04"),
	 2,
	 {{TRACE_WRITE, 0, 0, 100, "b/data/a"},
	  {TRACE_READ, 1500, 0, 100, "b/data/a"},
	  {TRACE_DELETE, 3000, 0, 0, "b/data/a"}}},
	/* The rows of a delete of several objects name one of them. */
	{WARP WARP_ROW("PUT", 1, 10, "pre/x.rnd", "00.25") WARP_ROW(
		 "GET", 1, 10, "pre/x.rnd", "00.5") WARP_ROW("DELETE", 100, 0, "pre/x.rnd", "01")
		 WARP_ROW("STAT", 1, 0, "pre/x.rnd", "01"),
	 2,
	 {{TRACE_WRITE, 0, 0, 10, "pre/x.rnd"}, {TRACE_READ, 250, 0, 10, "pre/x.rnd"}}},
	/* Parts are one write, ranges are read as they were. */
	{HAUL HAUL_ROW("BEGIN", 0, "./d/a", "00", 0) HAUL_ROW("PUT", 40, "./d/a", "01", 80)
		 HAUL_ROW("PUT", 80, "./d/a", "00.5", 0) HAUL_ROW("COMMIT", 0, "./d/a", "02", 0)
			 HAUL_ROW("OPEN", 0, "./d/a", "03",
				  0) HAUL_ROW("GET", 20, "./d/a", "03.5",
					      60) HAUL_ROW("PUT", 7, "./d/a", "04", 0)
				 HAUL_ROW("GET", 5, "./d/b", "05", 90) "# 3 rows were dropped\n",
	 3,
	 {{TRACE_WRITE, 0, 0, 120, "d/a"},
	  {TRACE_READ, 3000, 60, 20, "d/a"},
	  {TRACE_WRITE, 3500, 0, 7, "d/a"},
	  {TRACE_READ, 4500, 90, 5, "d/b"}}},
	/* s3dlio's ranges, warp's parts without offsets, blank lines, errors that are none. */
	{S3DLIO "\n" S3DLIO_ROW("PUT", 9, "f", "null", "01") "\n" S3DLIO_ROW(
		 "GET_RANGE", 4, "f", "None", "02") S3DLIO_ROW("get", 9, "f", "-", "03") "\n\n",
	 0,
	 {{TRACE_WRITE, 0, 0, 9, "f"},
	  {TRACE_READ, 1000, 0, 4, "f"},
	  {TRACE_READ, 2000, 0, 9, "f"}}},
	{WARP WARP_ROW("PUTPART", 1, 10, "a", "00") WARP_ROW("PUTPART", 1, 10, "a", "01")
		 WARP_ROW("PUTPART", 1, 7, "b", "01.5") WARP_ROW("PUTPART", 1, 5, "a", "02")
			 WARP_ROW("GET", 1, 25, "a", "03") WARP_ROW("PUTPART", 1, 8, "a", "04"),
	 0,
	 {{TRACE_WRITE, 0, 0, 25, "a"},
	  {TRACE_WRITE, 1500, 0, 7, "b"},
	  {TRACE_READ, 3000, 0, 25, "a"},
	  {TRACE_WRITE, 4000, 0, 8, "a"}}},
	{"{\"op\": \"PUT\", \"bytes\": 7, \"file\": \"s3://b/k\", \"error\": null, \"start\": "
	 "\"2026-01-31T12:00:00Z\"}\n\n"
	 "{\"operation\": \"GET\", \"size\": 7, \"path\": \"b/k\", \"timestamp\": 1769860801}\n"
	 "{\"op\": \"LIST\", \"bytes\": 0, \"file\": \"b/\", \"start\": \"2026-01-31T12:00:00Z\"}\n",
	 1,
	 {{TRACE_WRITE, 0, 0, 7, "b/k"}, {TRACE_READ, 1000, 0, 7, "b/k"}}},
	/* fio's iologs, of version 3 as haul writes them, and of version 2. */
	{"fio version 3 iolog\n1 tier2.a%2Fb add\n1 tier2.a%2Fb open\n1 tier2.a%2Fb write 0 4096\n"
	 "1 tier2.a%2Fb write 4096 100\n1 tier2.a%2Fb close\n2000001 tier2.a%2Fb read 0 4096\n",
	 0,
	 {{TRACE_WRITE, 0, 0, 4196, "a/b"}, {TRACE_READ, 2000, 0, 4096, "a/b"}}},
	{"fio version 2 iolog\n/d/f add\n/d/f open\n/d/f read 8192 4096\n/d/f wait 500000 0\n"
	 "/d/f write 0 4096\n/d/f write 12288 4096\n/d/f sync 0 0\n/d/f close\n",
	 2,
	 {{TRACE_READ, 0, 8192, 4096, "d/f"}, {TRACE_WRITE, 500, 0, 4096, "d/f"}}},
	/* What s3dlio's own reader takes: comments anywhere, capital letters, no number of bytes. */
	{"# made by s3dlio\n\n# {\"op\": \"PUT\"}\n"
	 "{\"OPERATION\": \"PUT\", \"File\": \"../a/../f\", \"t_start\": \"2026-01-31T12:00:00Z\"}\n"
	 "  # in between\n"
	 "{\"op\": \"GET\", \"bytes\": 3, \"file\": \"../a/../f\", \"start\": \"2026-01-31T14:00:01+0200\"}\n#\n",
	 0,
	 {{TRACE_WRITE, 0, 0, 3, "../a/../f"}, {TRACE_READ, 1000, 0, 3, "../a/../f"}}},
	{"# s3dlio\nOperation\tFile\tBytes\tStart\nPUT\tb/k\t\t2026-01-31T12:00:00Z\n"
	 "#\tb/k\t1\t2026-01-31T12:00:00Z\nget\tb/k\t4\t2026-01-31T12:00:02Z\n",
	 0,
	 {{TRACE_WRITE, 0, 0, 4, "b/k"}, {TRACE_READ, 2000, 0, 4, "b/k"}}},
	/* elbencho: an operation counts where it begins, parts are one write, files are descriptors. */
	{ELBENCHO("S3CreateMultipartUpload", "b/o", 0, 0, "false") ELBENCHO(
		 "S3UploadPart", "b/o", 0, 8, "false") ELBENCHO("S3UploadPart", "b/o", 0, 8, "true")
		 ELBENCHO("S3UploadPartAsync", "b/o", 8, 5, "false")
			 ELBENCHO("S3GetObject", "b/o", 4, 9, "false")
				 ELBENCHO("S3GetObject", "b/o", 4, 9, "true"),
	 1,
	 {{TRACE_WRITE, 0, 0, 13, "b/o"}, {TRACE_READ, 0, 4, 9, "b/o"}}},
	{ELBENCHO("openat", "r0/d0/f0", 0, 0, "false") ELBENCHO("pwrite", "7", 0, 4096, "false")
		 ELBENCHO("pwrite", "7", 0, 4096, "true") ELBENCHO("aioread", "7", 0, 4096, "false")
			 ELBENCHO("unlinkat", "7", 0, 0, "false")
				 ELBENCHO("unlinkat", "7", 0, 0, "true"),
	 1,
	 {{TRACE_WRITE, 0, 0, 4096, "7"},
	  {TRACE_READ, 0, 0, 4096, "7"},
	  {TRACE_DELETE, 0, 0, 0, "7"}}},
	/* A write is as large as what is read of it. */
	{S3DLIO S3DLIO_ROW("PUT", 0, "f", "", "01") S3DLIO_ROW("GET", 9, "f", "", "02"),
	 0,
	 {{TRACE_WRITE, 0, 0, 9, "f"}, {TRACE_READ, 1000, 0, 9, "f"}}},
};

static int log_load(struct replay_rows *r, const char *text, bool lenient, uint64_t *passed,
		    struct err *err)
{
	const struct replay_part part = {.speed = 1,
					 .size_scale = 1,
					 .tiers = 255,
					 .ranks = 1,
					 .threads = 1,
					 .lenient = lenient};
	struct trace_reader reader;
	int rc = trace_open_memory(&reader, text, strlen(text), lenient, err);

	*r = (struct replay_rows){.threads = 0};
	if (rc < 0)
		return rc;
	rc = replay_rows_load(r, &reader, &part, err);
	*passed = reader.passed;
	trace_close(&reader);
	return rc;
}

static void test_logs(void)
{
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		const struct log_case *c = &logs[i];
		struct err err = {0};
		struct replay_rows r;
		uint64_t passed = 0, count = 0;

		CU_ASSERT_EQUAL(log_load(&r, c->text, false, &passed, &err), 0);
		CU_ASSERT_STRING_EQUAL(err.text, "");
		CU_ASSERT_EQUAL(passed, c->passed);
		while (count < 6 && c->rows[count].key)
			count++;
		CU_ASSERT_EQUAL_FATAL(r.lists[0].count, count);
		for (uint64_t k = 0; k < count; k++) {
			const struct replay_row *row = &r.lists[0].rows[k];
			const struct wanted_row *wanted = &c->rows[k];

			CU_ASSERT_EQUAL(row->operation, wanted->operation);
			CU_ASSERT_EQUAL(row->due_ns, wanted->ms * 1000000);
			CU_ASSERT(row->offset == wanted->offset && row->bytes == wanted->bytes);
			CU_ASSERT_STRING_EQUAL(trace_names_text(&r.names, row->key), wanted->key);
			CU_ASSERT_EQUAL(row->tier, 2);
		}
		replay_rows_free(&r);
	}
}

/* What is read of an object that nobody has written is made first, up to the end of the range. */
static void test_made(void)
{
	struct err err = {0};
	struct replay_rows r;
	uint64_t passed;

	CU_ASSERT_EQUAL(log_load(&r, logs[2].text, false, &passed, &err), 0);
	CU_ASSERT_EQUAL_FATAL(r.made_count, 1);
	CU_ASSERT_EQUAL(r.made[0].bytes, 95);
	CU_ASSERT_EQUAL(r.bytes_most, 120);
	replay_rows_free(&r);
}

/* What is left out is named with its count, also where nothing else is there. */
static void test_named(void)
{
	struct err err = {0};
	struct replay_rows r;
	uint64_t passed;

	CU_ASSERT_EQUAL(log_load(&r, logs[0].text, false, &passed, &err), 0);
	CU_ASSERT_STRING_EQUAL(r.passed_text, "2 operations were left out: 1 LIST, 1 failed GET");
	replay_rows_free(&r);
	CU_ASSERT_EQUAL(log_load(&r, S3DLIO S3DLIO_ROW("GET", 1, "f", "timeout", "01"), false,
				 &passed, &err),
			-EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text,
			       "has no rows to replay: 1 operation was left out: 1 failed GET");
	replay_rows_free(&r);
}

static void test_times(void)
{
	static const struct {
		const char *time;
		uint64_t ms; /* after that of the first row, 2026-01-31T12:00:00Z */
	} cases[] = {{"2026-01-31T12:00:01Z", 1000},
		     {"2026-01-31T12:00:01.25Z", 1250},
		     {"2026-01-31T14:00:01.000000000+02:00", 1000},
		     {"2026-01-31T07:30:01-04:30", 1000}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[1024];
		struct err err = {0};
		struct replay_rows r;
		uint64_t passed;

		snprintf(text, sizeof(text), S3DLIO "%s0\t0\tPUT\t\t1\t1\te\tf\t\t%s\t\t\t0\n",
			 S3DLIO_ROW("PUT", 1, "f", "", "00"), cases[i].time);
		CU_ASSERT_EQUAL(log_load(&r, text, false, &passed, &err), 0);
		CU_ASSERT_EQUAL_FATAL(r.lists[0].count, 2);
		CU_ASSERT_EQUAL(r.lists[0].rows[1].due_ns, cases[i].ms * 1000000);
		replay_rows_free(&r);
	}
}

static void test_wrong(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"[{\"conversations\": []}]", "has requests of users, not operations"},
		{"{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 6}\n",
		 "has requests of users"},
		{"TIMESTAMP,ContextTokens,GeneratedTokens\n", "has requests of users"},
		{S3DLIO, "has no rows, only a header"},
		{"# nothing but a comment\n", "is empty"},
		{S3DLIO "# one\n", "has no rows, only a header"},
		{"{\"op\": \"LIST\", \"bytes\": 0, \"file\": \"b/\", \"start\": \"2026-01-31T12:00:00Z\"}\n",
		 "has no rows to replay: 1 operation was left out: 1 LIST"},
		{"idx\tthread\top\n",
		 "line 1: is the header of an operation log without the column"},
		{S3DLIO S3DLIO_ROW("PUT", -5, "f", "", "01"), "line 2: bytes must be"},
		{S3DLIO S3DLIO_ROW("PUT", 5, "s3://", "", "01"), "line 2: Key must be"},
		{S3DLIO S3DLIO_ROW("PUT", 5, "f", "", "61x"), "line 2: start must be a time"},
		{S3DLIO "0\t7\tPUT\n", "line 2: has 3 fields and not 13"},
		{HAUL HAUL_ROW("GET", 5, "f", "01", x), "line 2: offset must be"},
		{S3DLIO S3DLIO_ROW("PUT", 5, "f", "", "01") S3DLIO_ROW("DELETE", 0, "f", "", "02")
			 S3DLIO_ROW("GET", 5, "f", "", "03"),
		 "line 4: reads more bytes of \"f\""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		struct replay_rows r;
		uint64_t passed;

		CU_ASSERT_EQUAL(log_load(&r, cases[i].text, false, &passed, &err), -EINVAL);
		CU_ASSERT_EQUAL(strncmp(err.text, cases[i].says, strlen(cases[i].says)), 0);
		if (strncmp(err.text, cases[i].says, strlen(cases[i].says)) != 0)
			fprintf(stderr, "\nsays: %s\n", err.text);
		replay_rows_free(&r);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"logs of s3dlio, warp and haul", test_logs},
		{"objects that are made first", test_made},
		{"what is left out", test_named},
		{"times", test_times},
		{"logs that are wrong", test_wrong},
		CU_TEST_INFO_NULL,
	};

	return unit_main("replay_log", tests);
}
