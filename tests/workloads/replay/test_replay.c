/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the phase "replay" on stores that keep what is written, and on one that does nothing:
 * how much is read and written is known from the trace, all bytes are compared, and nothing stays
 * behind. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit.h"
#include "tests/workloads/replay/replay_fixture.h"
#include "workloads/replay/replay.h"

#define MEM  "\"uri\": \"mem://s\", \"capacity\": \"256 MiB\""
#define NONE "\"uri\": \"null://s\""

/* "c" is read before it is written. */
static const char *const known_rows[] = {
	REPLAY_ROW(0.000000, Write, 8192, 2, "a"), REPLAY_ROW(0.010000, Read, 8192, 2, "a"),
	REPLAY_ROW(0.020000, Write, 4096, 1, "b"), REPLAY_ROW(0.020000, Read, 4096, 1, "b"),
	REPLAY_ROW(0.030000, Read, 12288, 2, "c"), REPLAY_ROW(0.040000, Write, 8192, 2, "c"),
	REPLAY_ROW(0.050000, Read, 8192, 2, "c"),  REPLAY_ROW(0.060000, Write, 65536, 0, "d/e"),
};
enum { KNOWN_ROWS = sizeof(known_rows) / sizeof(known_rows[0]) };

/* All of them, or all but one. */
static const char *known_trace(int without)
{
	static char text[1024];

	strcpy(text, REPLAY_HEADER);
	for (int i = 0; i < KNOWN_ROWS; i++)
		if (i != without)
			strcat(text, known_rows[i]);
	return text;
}

static const struct known_case {
	const char *options;
	uint64_t reads, read_bytes, writes, written_bytes, made, made_bytes, keys, other_tiers;
} known[] = {
	{"", 4, 32768, 4, 86016, 1, 12288, 4, 0},
	{", \"size_scale\": 0.5", 4, 16384, 4, 43008, 1, 6144, 4, 0},
	{", \"size_scale\": 3", 4, 98304, 4, 258048, 1, 36864, 4, 0},
	{", \"size_scale\": 0", 4, 0, 4, 0, 1, 0, 4, 0},
	{", \"tiers\": \"2\"", 3, 28672, 2, 16384, 1, 12288, 2, 3},
	{", \"tiers\": \"0,1\"", 1, 4096, 2, 69632, 0, 0, 2, 5},
	{", \"threads\": 3, \"depth\": 4", 4, 32768, 4, 86016, 1, 12288, 4, 0},
	{", \"chunk\": 4096, \"compress\": 2", 4, 32768, 4, 86016, 1, 12288, 4, 0},
};

static void known_run(const struct known_case *c, bool keeps, uint32_t ranks)
{
	char options[256];
	struct fixture *f;

	snprintf(options, sizeof(options), ", \"speed\": 0%s%s", c->options,
		 keeps ? ", \"verify\": \"full\"" : "");
	f = replay_run_trace(keeps ? MEM : NONE, known_trace(-1), options, ranks);
	replay_expect_ok(f);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_OBJECT_READS), c->reads);
	CU_ASSERT_EQUAL(replay_of(f, TALLY_BYTES_READ), c->read_bytes);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_OBJECT_WRITES), c->writes);
	CU_ASSERT_EQUAL(replay_of(f, TALLY_BYTES_WRITTEN), c->written_bytes);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_MADE), keeps ? c->made : 0);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_MADE_BYTES), keeps ? c->made_bytes : 0);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_KEYS), c->keys);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_OTHER_TIERS), c->other_tiers);
	CU_ASSERT_EQUAL(replay_tier(f, "Tier-0", REPLAY_TIER_WRITTEN_BYTES) +
				replay_tier(f, "Tier-1", REPLAY_TIER_WRITTEN_BYTES) +
				replay_tier(f, "Tier-2", REPLAY_TIER_WRITTEN_BYTES),
			c->written_bytes);
	fixture_free(f);
}

static void test_known(void)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		for (uint32_t ranks = 1; ranks <= 3; ranks++) {
			known_run(&known[i], true, ranks);
			known_run(&known[i], false, ranks);
		}
}

/* Any row that is deleted is one operation less, and its bytes are missing. */
static void test_row_deleted(void)
{
	for (int without = 0; without < KNOWN_ROWS; without++) {
		struct fixture *f = replay_run_trace(MEM, known_trace(without),
						     ", \"speed\": 0, \"verify\": \"full\"", 2);
		bool write = strstr(known_rows[without], "Write") != NULL;

		replay_expect_ok(f);
		CU_ASSERT_EQUAL(replay_of(f, REPLAY_REQUESTS), KNOWN_ROWS - 1);
		CU_ASSERT_EQUAL(replay_of(f, REPLAY_OBJECT_WRITES), (unsigned)(4 - write));
		CU_ASSERT_TRUE(replay_of(f, TALLY_BYTES_READ) + replay_of(f, TALLY_BYTES_WRITTEN) <
			       32768 + 86016);
		fixture_free(f);
	}
}

#define FULL_HEADER \
	"Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,Rank,Latency_ns\n"
#define FULL(operation, bytes, key) "1.0," #operation "," #bytes ",Tier-2," key ",Decode,,,0,0\n"

/* A full table has deletes. "b" is deleted before it is written, and twice. */
static void test_deletes(void)
{
	static const char text[] = FULL_HEADER FULL(Write, 8192, "a") FULL(Read, 8192, "a")
		FULL(Delete, 8192, "a") FULL(Write, 4096, "a") FULL(Delete, 512, "b")
			FULL(Delete, 512, "b") FULL(Write, 1024, "b") FULL(Read, 1024, "b");

	for (uint32_t ranks = 1; ranks <= 2; ranks++) {
		struct fixture *f =
			replay_run_trace(MEM, text, ", \"verify\": \"full\", \"depth\": 8", ranks);

		replay_expect_ok(f);
		CU_ASSERT_EQUAL(replay_of(f, REPLAY_OBJECT_READS), 2);
		CU_ASSERT_EQUAL(replay_of(f, REPLAY_OBJECT_WRITES), 3);
		CU_ASSERT_EQUAL(replay_of(f, REPLAY_OBJECT_DELETES), 3);
		CU_ASSERT_EQUAL(replay_tier(f, "Tier-2", REPLAY_TIER_DELETED_BYTES), 9216);
		CU_ASSERT_EQUAL(replay_of(f, REPLAY_MADE_BYTES), 512);
		CU_ASSERT_EQUAL(replay_of(f, TALLY_BYTES_WRITTEN), 13312);
		CU_ASSERT_EQUAL(replay_of(f, TALLY_BYTES_READ), 9216);
		fixture_free(f);
	}
}

/* Each version of an object has another size, so a read before or after its turn would find too
 * little, or nothing. All rows may begin at once. */
static void test_order(void)
{
	static char text[1 << 18];
	size_t n = strlen(strcpy(text, REPLAY_HEADER));
	struct fixture *f;
	unsigned rows = 0;

	for (unsigned i = 0; i < 100; i++)
		for (unsigned key = 0; key < 5; key++) {
			unsigned bytes = 1000 + (i * 7919 + key * 104729) % 30000;

			n += (size_t)snprintf(text + n, sizeof(text) - n,
					      "1.0,Write,%u,Tier-2,key_%u,Prefill\n"
					      "1.0,Read,%u,Tier-2,key_%u,Decode\n"
					      "1.0,Read,%u,Tier-2,key_%u,Decode\n",
					      bytes, key, bytes, key, bytes, key);
			rows += 3;
		}
	for (uint32_t ranks = 1; ranks <= 4; ranks += 3) {
		f = replay_run_trace(MEM, text,
				     ", \"threads\": 2, \"depth\": 32, \"verify\": \"full\", "
				     "\"chunk\": 4096",
				     ranks);
		replay_expect_ok(f);
		CU_ASSERT_EQUAL(replay_of(f, REPLAY_REQUESTS), rows);
		CU_ASSERT_EQUAL(replay_of(f, REPLAY_KEYS), 5);
		CU_ASSERT_TRUE(replay_of(f, REPLAY_WAITED) > 0);
		fixture_free(f);
	}
}

/* Nothing stays of the phase, and what somebody else has in the folder stays as it is. */
static void test_folder(void)
{
	char store[256], path[256];
	struct fixture *f;
	FILE *file;

	snprintf(store, sizeof(store), "\"uri\": \"file://%s\", \"engine\": \"psync\"",
		 replay_path("data"));
	f = replay_run_trace(store, known_trace(-1), ", \"speed\": 0, \"verify\": \"full\"", 2);
	replay_expect_ok(f);
	CU_ASSERT_NOT_EQUAL(access(replay_path("data"), F_OK), 0);
	fixture_free(f);

	CU_ASSERT_EQUAL_FATAL(mkdir(replay_path("data"), 0777), 0);
	CU_ASSERT_EQUAL_FATAL(mkdir(replay_path("data/replay"), 0777), 0);
	snprintf(path, sizeof(path), "%s", replay_path("data/replay/mine"));
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	if (!file)
		return;
	fclose(file);
	f = replay_run_trace(store, known_trace(-1), ", \"speed\": 0", 1);
	CU_ASSERT_EQUAL(f->rc[0], -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(strstr(f->err[0].text, "holds \"mine\""));
	fixture_free(f);
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
}

/* A trace that is wrong ends the phase on all ranks before anything is done, or its rows are left
 * out. */
static const struct wrong_case {
	const char *row, *says;
} wrong[] = {
	{"0.1,Write,-5,Tier-2,k,Prefill\n", "trace.csv: line 10: Object_Size_Bytes must be"},
	{"0.1,Write,5,Tier-2,,Prefill\n", "line 10: Key must be"},
	{"0.1,Write,5,Tier-9,k,Prefill\n", "line 10: Tier must be"},
	{"1e300,Write,5,Tier-2,k,Prefill\n", "line 10: Timestamp must be"},
	{"0.1,Write,5\n", "line 10: has 3 fields"},
	{"0.1,Read,8193,Tier-2,a,Decode\n", "line 10: reads more bytes of \"a\" in Tier-2"},
};

static void test_wrong(void)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct fixture *f;
		char text[1024];

		snprintf(text, sizeof(text), "%s%s", known_trace(-1), wrong[i].row);
		f = replay_run_trace(MEM, text, ", \"speed\": 0", 2);
		for (uint32_t rank = 0; rank < 2; rank++) {
			CU_ASSERT_EQUAL(f->rc[rank], -EINVAL);
			CU_ASSERT_PTR_NOT_NULL(strstr(f->err[rank].text, wrong[i].says));
			if (!strstr(f->err[rank].text, wrong[i].says))
				fprintf(stderr, "\nsays: %s\n", f->err[rank].text);
		}
		CU_ASSERT_EQUAL(replay_of(f, TALLY_OPERATIONS), 0);
		fixture_free(f);

		f = replay_run_trace(MEM, text, ", \"speed\": 0, \"lenient\": true", 2);
		replay_expect_ok(f);
		CU_ASSERT_EQUAL(replay_of(f, REPLAY_REQUESTS), KNOWN_ROWS);
		CU_ASSERT_EQUAL(replay_of(f, REPLAY_WRONG), 1);
		fixture_free(f);
	}
}

static const struct refused_case {
	const char *options, *says;
} refused[] = {
	{"\"trace\": \"\"", "/trace: must be the name of a file"},
	{"\"trace\": \"x\", \"tiers\": \"8\"", "/tiers: must be \"all\", or numbers from 0 to 7"},
	{"\"trace\": \"x\", \"tiers\": \"1,\"", "/tiers: must be"},
	{"\"trace\": \"x\", \"tiers\": \"\"", "/tiers: must be"},
	{"\"trace\": \"x\", \"trace_out\": \"x\"", "/trace_out: is the trace that is read"},
	{"\"trace\": \"x\", \"cpu\": \"1 GiB\"", "/cpu: is the capacity of a tier"},
	{"\"trace\": \"x\", \"folder\": \"../x\"", "/folder: must be"},
	{"\"trace\": \"x\", \"folder\": \"\"", "/folder: must be"},
};

static void test_refused(void)
{
	char job[512];

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct err err = {0};
		struct fixture *f;

		snprintf(job, sizeof(job),
			 "{\"stores\": {\"s\": {\"uri\": \"sim://s\"}}, \"phases\": [{\"replay\": "
			 "{%s}}]}",
			 refused[i].options);
		f = fixture_new(job);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		if (!f)
			return;
		CU_ASSERT_EQUAL(replay_check(&f->job, &f->job.phases[0], 1, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, refused[i].says));
		if (!strstr(err.text, refused[i].says))
			fprintf(stderr, "\n%s\nsays: %s\n", refused[i].options, err.text);
		fixture_free(f);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"what a trace asks for is what is done", test_known},
		{"a row deleted is an operation less", test_row_deleted},
		{"deletes of a full table", test_deletes},
		{"the rows of a key stay in their order", test_order},
		{"the folder is empty before and after", test_folder},
		{"traces that are wrong", test_wrong},
		{"options that are refused", test_refused},
		CU_TEST_INFO_NULL,
	};
	int rc;

	if (replay_fixture_begin())
		return 1;
	rc = unit_main("replay", tests);
	return replay_fixture_end() ? 1 : rc;
}
