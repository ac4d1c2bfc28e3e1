/* Traces of key-value caches: a trace that the original has recorded comes out of the tiers as it went in; rows that are
 * wrong are refused with the number of their line; what is written is read back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit.h"
#include "workloads/kvcache/tiers/key.h"
#include "workloads/kvcache/trace/through.h"

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
	struct kv_names names = {0};
	struct trace_writer writer;
	struct trace_reader reader;
	struct trace_events events = {.to = &writer, .names = &names};
	struct err err = {0};
	struct kv_tiers tiers;
	struct through t = {&reader, &tiers, &names, &events};

	CU_ASSERT_EQUAL_FATAL(trace_open(&reader, from, false, &err), 0);
	CU_ASSERT_EQUAL_FATAL(trace_create(&writer, to, true, &err), 0);
	CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&tiers, &policy, rules, 3), 0);
	tiers.event = trace_event;
	tiers.argument = &events;
	while (through_next(&t, &err) > 0)
		;
	CU_ASSERT_STRING_EQUAL(err.text, "");
	CU_ASSERT_EQUAL(trace_finish(&writer, to, &err), 0);
	trace_close(&reader);
	kv_tiers_free(&tiers);
	kv_names_free(&names);
}

/* With the capacities that it was recorded with, every row comes back, in order; with others not. */
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
		{"", TRACE_FAULT_FIELDS, "has 1 fields and not 6"},
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
		{"1.5,Read,5,Tier-0,../k,Decode", TRACE_FAULT_KEY, "is \"../k\""},
		{"1.5,Read,5,Tier-0,a/../k,Decode", TRACE_FAULT_KEY, "Key must be"},
		{"1.5,Read,5,Tier-0,a/..,Decode", TRACE_FAULT_KEY, "Key must be"},
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
	static char text[200000];
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
	n = snprintf(text, sizeof(text), HEADER GOOD "%0*d\n" GOOD, 100000, 0);
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

	/* A compressed trace that was cut off: what is there is read, and then the end is noticed. */
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

/* Any key and any time that may be written is read back. */
static void test_round_trip(void)
{
	static const struct trace_row rows[] = {
		{0, 0, TRACE_WRITE, 0, TRACE_PREFILL, 1, "k"},
		{1795305706932717000, TRACE_BYTES_MAX, TRACE_READ, 7, TRACE_DECODE, 5, "a,b\"c"},
		{999999000, 1, TRACE_READ, 1, TRACE_EVICT, 7, "\"\"\"\"\",."},
		{1, 1, TRACE_READ, 1, TRACE_EVICT, 4, "\xc3\xa4/x"},
	};
	enum { COUNT = sizeof(rows) / sizeof(rows[0]) };
	struct trace_writer w;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(trace_create(&w, at("out.csv"), true, &err), 0);
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
	CU_ASSERT_EQUAL(trace_create(&w, at("out.csv"), false, &err), -EEXIST);
}

/* More names than fit a block and the first table. */
static void test_names(void)
{
	enum { MANY = 50000 };
	struct kv_names n = {0};
	uint32_t number, wrong = 0;
	char text[64];

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < MANY; i++) {
			int length = snprintf(text, sizeof(text), "a_long_name_of_an_entry_%u", i);

			wrong += kv_names_add(&n, text, (size_t)length, &number) != 0 ||
				 number != i || strcmp(kv_names_text(&n, i), text) != 0;
		}
	CU_ASSERT_EQUAL(wrong, 0);
	/* The beginning of a name is another name. */
	CU_ASSERT_EQUAL(kv_names_add(&n, text, 5, &number), 0);
	CU_ASSERT_EQUAL(number, MANY);
	CU_ASSERT_STRING_EQUAL(kv_names_text(&n, number), "a_lon");
	kv_names_free(&n);
}

int main(int argc, char **argv)
{
	static const CU_TestInfo tests[] = {
		{"a recorded trace", test_recorded},
		{"bad rows", test_bad_rows},
		{"long rows", test_long_rows},
		{"bad files", test_bad_files},
		{"round trip", test_round_trip},
		{"names", test_names},
		CU_TEST_INFO_NULL,
	};
	int rc;

	recorded = argc > 1 ? argv[1] : "";
	if (!mkdtemp(folder))
		return 1;
	rc = unit_main("trace", tests);
	unlink(at("out.csv"));
	unlink(at("out.csv.zst"));
	rmdir(folder);
	return rc;
}
