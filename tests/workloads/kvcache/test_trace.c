/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of key-value caches: a trace that the original has recorded comes out of the tiers as it
 * went in; rows that are wrong are refused with the number of their line; what is written is read
 * back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/libs/doubles/trace_memory.h"
#include "tests/test_folder.h"
#include "tests/unit.h"
#include "workloads/kvcache/tiers/entries.h"
#include "workloads/kvcache/trace/virtual_run.h"

enum { ROWS_MAX = 1 << 14 };
static const char *recorded; /* the folder of recorded traces */
static char folder[] = "/tmp/haul-trace-XXXXXX";

struct row {
	struct trace_row row;
	char key[64];
};
static struct row went_in[ROWS_MAX], came_out[ROWS_MAX];

static const char *at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static unsigned rows_read(const char *path, struct row *rows)
{
	struct trace_reader t;
	struct err err = {0};
	unsigned count = 0;

	CU_ASSERT_EQUAL_FATAL(trace_open(&t, path, false, &err), 0);
	while (trace_next(&t, &rows[count].row, &err) == 1) {
		snprintf(rows[count].key, sizeof(rows[count].key), "%s", rows[count].row.key);
		count++;
		CU_ASSERT_FATAL(count < ROWS_MAX);
	}
	CU_ASSERT_STRING_EQUAL(err.text, "");
	trace_close(&t);
	return count;
}

/* Rows that differ in any column but the timestamp. */
static unsigned rows_different(unsigned count)
{
	unsigned different = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct trace_row *a = &went_in[i].row, *b = &came_out[i].row;

		different += a->operation != b->operation || a->bytes != b->bytes ||
			     a->tier != b->tier || a->phase != b->phase ||
			     strcmp(went_in[i].key, came_out[i].key) != 0;
	}
	return different;
}

/* Sends a trace through tiers of mlperf-v3, and writes what comes out. Capacities in bytes. */
static void through_run(const char *from, const char *to, uint64_t gpu, uint64_t cpu,
			uint64_t storage)
{
	const struct kv_tier_rules rules[] = {kv_tier_mlperf(gpu, false),
					      kv_tier_mlperf(cpu, false),
					      kv_tier_mlperf(storage, true)};
	struct kv_policy policy = kv_policy_mlperf();
	struct trace_names names = {0};
	struct trace_writer writer;
	struct trace_reader reader;
	struct trace_events events = {.to = &writer, .names = &names};
	struct err err = {0};
	struct kv_tiers tiers;
	struct through t = {&reader, &tiers, &names, &events};

	CU_ASSERT_EQUAL_FATAL(trace_open(&reader, from, false, &err), 0);
	CU_ASSERT_EQUAL_FATAL(trace_create(&writer, to, TRACE_FORMAT_CSV, 0, true, &err), 0);
	CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&tiers, &policy, rules, 3), 0);
	tiers.event = trace_event;
	tiers.argument = &events;
	while (through_next(&t, &err) > 0)
		;
	CU_ASSERT_STRING_EQUAL(err.text, "");
	CU_ASSERT_EQUAL(trace_finish(&writer, to, &err), 0);
	trace_close(&reader);
	kv_tiers_free(&tiers);
	trace_names_free(&names);
}

/* With the capacities that it was recorded with, every row comes back, in order; with others
 * not. */
static void test_recorded(void)
{
	static const uint64_t capacities[][3] = {
		{1u << 29, 1u << 30, KV_UNLIMITED},
		{1u << 30, 1u << 30, KV_UNLIMITED},
		{1u << 29, 1u << 29, KV_UNLIMITED},
		{1u << 29, 1u << 30, 2ull << 30},
	};
	char from[512], to[512];
	unsigned count;

	snprintf(from, sizeof(from), "%s/tiny-1b_2_users_40s.csv.zst", recorded);
	count = rows_read(from, went_in);
	CU_ASSERT_EQUAL(count, 2585);
	for (unsigned i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
		unsigned out;

		snprintf(to, sizeof(to), "%s", at(i % 2 ? "out.csv" : "out.csv.zst"));
		through_run(from, to, capacities[i][0], capacities[i][1], capacities[i][2]);
		out = rows_read(to, came_out);
		CU_ASSERT_EQUAL(i == 0, out == count && !rows_different(count));
	}
}

#define HEADER "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n"
#define GOOD   "1.5,Read,5,Tier-0,k,Decode\n"

/* The first error of a text, and its rows before that. */
static int trace_error(const char *text, size_t bytes, unsigned *rows, struct err *err)
{
	struct trace_reader t;
	struct trace_row row;
	int rc = trace_open_memory(&t, text, bytes, false, err);

	*rows = 0;
	if (rc < 0)
		return rc;
	while ((rc = trace_next(&t, &row, err)) > 0)
		++*rows;
	trace_close(&t);
	return rc;
}

static void test_bad_rows(void)
{
	static const struct {
		const char *row;
		enum trace_fault fault;
		const char *sentence;
	} rows[] = {
		{"x", TRACE_FAULT_FIELDS, "has 1 fields and not 6"},
		{"1.5,Read,5,Tier-0,k", TRACE_FAULT_FIELDS, "has 5 fields and not 6"},
		{"1.5,Read,5,Tier-0,k,Decode,", TRACE_FAULT_FIELDS, "has 7 fields and not 6"},
		{"1.5,Read,5,Tier-0,\"k,Decode", TRACE_FAULT_FIELDS, "has 0 fields"},
		{"1.5,Read,5,Tier-0,\"k\"x,Decode", TRACE_FAULT_FIELDS, "has 0 fields"},
		{"-1.5,Read,5,Tier-0,k,Decode", TRACE_FAULT_TIME, "Timestamp must be"},
		{"1e300,Read,5,Tier-0,k,Decode", TRACE_FAULT_TIME, "is \"1e300\""},
		{"99999999999,Read,5,Tier-0,k,Decode", TRACE_FAULT_TIME, "Timestamp must be"},
		{"nan,Read,5,Tier-0,k,Decode", TRACE_FAULT_TIME, "Timestamp must be"},
		{"1.,Read,5,Tier-0,k,Decode", TRACE_FAULT_TIME, "Timestamp must be"},
		{",Read,5,Tier-0,k,Decode", TRACE_FAULT_TIME, "Timestamp must be"},
		{"1.5,read,5,Tier-0,k,Decode", TRACE_FAULT_OPERATION, "is \"read\""},
		{"1.5,Read,-5,Tier-0,k,Decode", TRACE_FAULT_SIZE, "is \"-5\""},
		{"1.5,Read,5.5,Tier-0,k,Decode", TRACE_FAULT_SIZE, "is \"5.5\""},
		{"1.5,Read,1125899906842625,Tier-0,k,Decode", TRACE_FAULT_SIZE, "at most 1 PiB"},
		{"1.5,Read,99999999999999999999999,Tier-0,k,Decode", TRACE_FAULT_SIZE, "1 PiB"},
		{"1.5,Read,5,Tier-8,k,Decode", TRACE_FAULT_TIER, "is \"Tier-8\""},
		{"1.5,Read,5,Tier-10,k,Decode", TRACE_FAULT_TIER, "is \"Tier-10\""},
		{"1.5,Read,5,gpu,k,Decode", TRACE_FAULT_TIER, "is \"gpu\""},
		{"1.5,Read,5,Tier-0,,Decode", TRACE_FAULT_KEY, "is \"\""},
		{"1.5,Read,5,Tier-0,a\tb,Decode", TRACE_FAULT_KEY, "Key must be"},
		{"1.5,Read,5,Tier-0,a\xff,Decode", TRACE_FAULT_KEY, "Key must be"},
		{"1.5,Read,5,Tier-0,k,Deco", TRACE_FAULT_PHASE, "is \"Deco\""},
	};
	char text[512], summary[256];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct trace_reader t;
		struct trace_row row;
		struct err err = {0};
		unsigned before;
		int length = snprintf(text, sizeof(text), HEADER GOOD "%s\r\n" GOOD, rows[i].row);

		CU_ASSERT_EQUAL(trace_error(text, (size_t)length, &before, &err), -EINVAL);
		CU_ASSERT_EQUAL(before, 1);
		if (strncmp(err.text, "line 3: ", 8) != 0 || !strstr(err.text, rows[i].sentence)) {
			fprintf(stderr, "%s\n", err.text);
			CU_FAIL(rows[i].sentence);
		}
		/* Or they are left out and counted. */
		CU_ASSERT_EQUAL(trace_open_memory(&t, text, (size_t)length, true, &err), 0);
		while (trace_next(&t, &row, &err) > 0)
			;
		CU_ASSERT(t.rows == 2 && t.skipped[rows[i].fault] == 1);
		trace_skipped_text(&t, summary, sizeof(summary));
		CU_ASSERT_PTR_NOT_NULL(strstr(summary, "1 row was left out: 1 "));
		trace_close(&t);
	}
}

/* A key and a line may be so long and not longer; a zero byte does not hide what follows it. */
static void test_long_rows(void)
{
	static char text[600000];
	struct trace_reader t;
	struct trace_row row;
	struct err err = {0};
	unsigned rows;
	int n;

	for (int more = 0; more < 2; more++) {
		n = snprintf(text, sizeof(text), HEADER "1,Read,5,Tier-0,%0*d,Decode\n",
			     TRACE_KEY_MAX + more, 0);
		CU_ASSERT_EQUAL(trace_error(text, (size_t)n, &rows, &err), more ? -EINVAL : 0);
		CU_ASSERT_EQUAL(rows, !more);
	}
	n = snprintf(text, sizeof(text), HEADER GOOD "%0*d\n" GOOD, 400000, 0);
	CU_ASSERT_EQUAL(trace_error(text, (size_t)n, &rows, &err), -EMSGSIZE);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "line 3: is longer than"));
	CU_ASSERT_EQUAL(trace_open_memory(&t, text, (size_t)n, true, &err), 0);
	while (trace_next(&t, &row, &err) > 0)
		;
	CU_ASSERT(t.rows == 2 && t.skipped[TRACE_FAULT_LONG] == 1);
	trace_close(&t);

	n = snprintf(text, sizeof(text), HEADER "1,Read,5,Tier-0,k,Decode@junk\n");
	*strchr(text, '@') = '\0';
	CU_ASSERT_EQUAL(trace_error(text, (size_t)n, &rows, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "line 2: has a zero byte"));
}

static void test_bad_files(void)
{
	char path[512], *packed = malloc(1 << 20);
	struct trace_reader t;
	struct trace_row row;
	struct err err = {0};
	unsigned rows;
	size_t bytes;
	FILE *f;

	CU_ASSERT_PTR_NOT_NULL_FATAL(packed);
	CU_ASSERT_EQUAL(trace_open(&t, at("absent"), true, &err), -ENOENT);
	CU_ASSERT_EQUAL(trace_error("", 0, &rows, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "is empty");
	CU_ASSERT_EQUAL(trace_error(GOOD, strlen(GOOD), &rows, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "line 1: must be Timestamp,"));

	/* A compressed trace that was cut off: what is there is read, and then the end is
	 * noticed. */
	snprintf(path, sizeof(path), "%s/tiny-1b_2_users_40s.csv.zst", recorded);
	f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	bytes = fread(packed, 1, 1 << 20, f);
	fclose(f);
	CU_ASSERT_EQUAL(trace_error(packed, bytes - 5, &rows, &err), -EBADMSG);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "ends in the middle of a frame"));
	CU_ASSERT(rows > 1000 && strncmp(err.text, "line ", 5) == 0);
	CU_ASSERT_EQUAL(trace_open_memory(&t, packed, bytes - 5, true, &err), 0);
	while (trace_next(&t, &row, &err) > 0)
		;
	CU_ASSERT(t.rows == rows && t.skipped[TRACE_FAULT_CUT] == 1);
	trace_close(&t);
	free(packed);
}

#define ROW(time, size, op, k, of, name, ...) \
	{ \
		.ns = (time), .bytes = (size), .operation = TRACE_##op, .tier = (k), \
		.phase = TRACE_##of, .key_length = sizeof(name) - 1, .key = (name), .origin = { \
			__VA_ARGS__ \
		} \
	}
#define NOBODY TRACE_NOBODY, TRACE_NOBODY, 0, 0

/* Any key and any time that may be written is read back. */
static void test_round_trip(void)
{
	static const struct trace_row rows[] = {
		ROW(0, 0, WRITE, 0, PREFILL, "k", NOBODY),
		ROW(1795305706932717000, TRACE_BYTES_MAX, READ, 7, DECODE, "a,b\"c", NOBODY),
		ROW(999999000, 1, READ, 1, EVICT, "\"\"\"\"\",.", NOBODY),
		ROW(1, 1, READ, 1, EVICT, "\xc3\xa4/x", NOBODY),
	};
	enum { COUNT = sizeof(rows) / sizeof(rows[0]) };
	struct trace_writer w;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(trace_create(&w, at("out.csv"), TRACE_FORMAT_CSV, 0, true, &err), 0);
	for (int i = 0; i < COUNT; i++)
		trace_write(&w, &rows[i]);
	CU_ASSERT_EQUAL(trace_finish(&w, at("out.csv"), &err), 0);
	CU_ASSERT_EQUAL(rows_read(at("out.csv"), came_out), COUNT);
	for (int i = 0; i < COUNT; i++) {
		went_in[i].row = rows[i];
		strcpy(went_in[i].key, rows[i].key);
		CU_ASSERT_EQUAL(came_out[i].row.ns, rows[i].ns / 1000 * 1000);
	}
	CU_ASSERT_EQUAL(rows_different(COUNT), 0);
	CU_ASSERT_EQUAL(trace_create(&w, at("out.csv"), TRACE_FORMAT_CSV, 0, false, &err), -EEXIST);
}

static const char *text_read(const char *path)
{
	static char text[4096];
	FILE *f = fopen(path, "r");
	size_t n;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	if (!f)
		return "";
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	return text;
}

/* The same three rows in each format. fio has no deletes. */
static const struct trace_row formatted[] = {
	ROW(1795305706932717000, 10, WRITE, 2, PREFILL, "a/b", 3, 4, 5, 1),
	ROW(1795305706932817000, 10, READ, 2, DECODE, "a/b", NOBODY),
	ROW(1795305706932818000, 10, DELETE, 2, EVICT, "a/b", NOBODY),
};
enum { FORMATTED = sizeof(formatted) / sizeof(formatted[0]) };

#define WARP_HEADER \
	"idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\t" \
	"last_byte\tend\tduration_ns\tcat\n"
#define AT(us) "2026-11-22T00:01:46." us "000Z\t"

static const struct format_case {
	enum trace_format format;
	const char *text;
} formats[] = {
	{TRACE_FORMAT_FULL,
	 "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,Rank,Latency_ns\r\n"
	 "1795305706.932717,Write,10,Tier-2,a/b,Prefill,3,4,1,5\r\n"
	 "1795305706.932817,Read,10,Tier-2,a/b,Decode,,,0,0\r\n"
	 "1795305706.932818,Delete,10,Tier-2,a/b,Evict,,,0,0\r\n"},
	{TRACE_FORMAT_FIO, "fio version 3 iolog\n"
			   "1 tier2.a%2Fb add\n"
			   "1 tier2.a%2Fb open\n"
			   "1 tier2.a%2Fb write 0 4\n"
			   "1 tier2.a%2Fb write 4 4\n"
			   "1 tier2.a%2Fb write 8 2\n"
			   "1 tier2.a%2Fb close\n"
			   "101 tier2.a%2Fb open\n"
			   "101 tier2.a%2Fb read 0 4\n"
			   "101 tier2.a%2Fb read 4 4\n"
			   "101 tier2.a%2Fb read 8 2\n"
			   "101 tier2.a%2Fb close\n"},
	{TRACE_FORMAT_WARP,
	 WARP_HEADER "0\t0\tPUT\t1\t1\t10\ttrace://\ttier2.a%2Fb\t\t" AT(
		 "932717") "\t\t2026-11-22T00:01:46.932717005Z\t5\t0\n"
			   "1\t0\tGET\t0\t1\t10\ttrace://\ttier2.a%2Fb\t\t" AT("932817") AT(
				   "932817") AT("932817")
				   AT("932817") "0\t0\n"
						"2\t0\tDELETE\t0\t1\t0\ttrace://\ttier2.a%2Fb\t\t" AT(
							"932818") "\t\t" AT("932818") "0\t0\n"},
};

static void test_formats(void)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct trace_writer w;
		struct err err = {0};

		CU_ASSERT_EQUAL_FATAL(
			trace_create(&w, at("out.csv"), formats[i].format, 4, true, &err), 0);
		for (int k = 0; k < FORMATTED; k++)
			trace_write(&w, &formatted[k]);
		CU_ASSERT_EQUAL(trace_finish(&w, at("out.csv"), &err), 0);
		CU_ASSERT_STRING_EQUAL(text_read(at("out.csv")), formats[i].text);
		if (strcmp(text_read(at("out.csv")), formats[i].text) != 0)
			fprintf(stderr, "\n%s\n", text_read(at("out.csv")));
	}
}

/* A full table is read with deletes and with who asked. */
static void test_full(void)
{
	const char *text = formats[0].text;
	struct trace_reader t;
	struct trace_row row;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(trace_open_memory(&t, text, strlen(text), false, &err), 0);
	for (int i = 0; i < FORMATTED; i++) {
		const struct trace_origin *o = &formatted[i].origin;

		CU_ASSERT_EQUAL(trace_next(&t, &row, &err), 1);
		CU_ASSERT(row.ns == formatted[i].ns && row.operation == formatted[i].operation);
		CU_ASSERT(row.origin.request == o->request && row.origin.user == o->user);
		CU_ASSERT(row.origin.rank == o->rank && row.origin.latency_ns == o->latency_ns);
	}
	CU_ASSERT_EQUAL(trace_next(&t, &row, &err), 0);
	trace_close(&t);
}

#define FULL_HEADER \
	"Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,Rank,Latency_ns\n"

static void test_bad_full(void)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{HEADER "1.5,Delete,5,Tier-0,k,Evict\n", "Operation must be Read or Write"},
		{HEADER "1.5,Read,5,Tier-0,k,Decode,1,1,0,0\n", "has 10 fields and not 6"},
		{FULL_HEADER GOOD, "has 6 fields and not 10"},
		{FULL_HEADER "1.5,Read,5,Tier-0,k,Decode,x,1,0,0\n", "Request must be"},
		{FULL_HEADER "1.5,Read,5,Tier-0,k,Decode,1,-1,0,0\n", "User must be"},
		{FULL_HEADER "1.5,Read,5,Tier-0,k,Decode,1,1,,0\n", "Rank must be"},
		{FULL_HEADER "1.5,Read,5,Tier-0,k,Decode,1,1,4294967296,0\n", "Rank must be"},
		{FULL_HEADER "1.5,Read,5,Tier-0,k,Decode,1,1,0,1e9\n", "Latency_ns must be"},
		{FULL_HEADER "1.5,Rename,5,Tier-0,k,Decode,1,1,0,0\n",
		 "Operation must be Read, Write or Delete"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		unsigned rows;

		CU_ASSERT_EQUAL(trace_error(cases[i].text, strlen(cases[i].text), &rows, &err),
				-EINVAL);
		if (strncmp(err.text, "line 2: ", 8) != 0 || !strstr(err.text, cases[i].sentence)) {
			fprintf(stderr, "%s\n", err.text);
			CU_FAIL(cases[i].sentence);
		}
	}
}

/* More names than fit a block and the first table. */
static void test_names(void)
{
	enum { MANY = 50000 };
	struct trace_names n = {0};
	uint32_t number, wrong = 0;
	char text[64];

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < MANY; i++) {
			int length = snprintf(text, sizeof(text), "a_long_name_of_an_entry_%u", i);

			wrong += trace_names_add(&n, text, (size_t)length, &number) != 0 ||
				 number != i || strcmp(trace_names_text(&n, i), text) != 0;
		}
	CU_ASSERT_EQUAL(wrong, 0);
	/* The beginning of a name is another name. */
	CU_ASSERT_EQUAL(trace_names_add(&n, text, 5, &number), 0);
	CU_ASSERT_EQUAL(number, MANY);
	CU_ASSERT_STRING_EQUAL(trace_names_text(&n, number), "a_lon");
	trace_names_free(&n);
}

int main(int argc, char **argv)
{
	static const CU_TestInfo tests[] = {
		{"a recorded trace", test_recorded},
		{"bad rows", test_bad_rows},
		{"long rows", test_long_rows},
		{"bad files", test_bad_files},
		{"round trip", test_round_trip},
		{"formats", test_formats},
		{"a full table", test_full},
		{"bad rows of a full table", test_bad_full},
		{"names", test_names},
		CU_TEST_INFO_NULL,
	};

	recorded = argc > 1 ? argv[1] : "";
	return test_folder_main("trace", tests, folder);
}
