/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a rank keeps of a trace, and of the names of objects. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/libs/doubles/trace_memory.h"
#include "tests/unit.h"
#include "tests/workloads/replay/replay_fixture.h"
#include "workloads/replay/objects.h"
#include "workloads/replay/replay.h"
#include "workloads/replay/rows.h"

/* Reads a trace from memory. */
static int load(struct replay_rows *r, const char *text, const struct replay_part *part,
		struct err *err)
{
	struct trace_reader reader;
	int rc = trace_open_memory(&reader, text, strlen(text), part->lenient, err);

	*r = (struct replay_rows){.threads = 0};
	if (rc < 0)
		return rc;
	rc = replay_rows_load(r, &reader, part, err);
	trace_close(&reader);
	return rc;
}

static const struct replay_part whole = {
	.speed = 1, .size_scale = 1, .tiers = 255, .ranks = 1, .threads = 1};

static void test_tiers(void)
{
	static const struct {
		const char *text;
		uint32_t tiers;
	} cases[] = {{"all", 255}, {"2", 4}, {"1,2", 6}, {"7,0", 129}, {"2,2", 4},
		     {"", 0},      {"8", 0}, {"1,", 0},  {",1", 0},    {"1 2", 0},
		     {"12", 0},    {"a", 0}, {"al", 0},  {"1;2", 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(replay_tiers(cases[i].text), cases[i].tiers);
}

/* Times count from the first row of the trace, whether it is kept or not. A row that is earlier is
 * due at once. */
static void test_times(void)
{
	static const char text[] = REPLAY_HEADER REPLAY_ROW(100.5, Write, 1, 0, "a")
		REPLAY_ROW(101.5, Write, 1, 2, "a") REPLAY_ROW(99.0, Write, 1, 2, "a")
			REPLAY_ROW(104.5, Write, 1, 2, "a");
	static const struct {
		double speed;
		uint64_t due_ns[3];
	} cases[] = {
		{1, {1000000000, 0, 4000000000}},
		{2, {500000000, 0, 2000000000}},
		{0.5, {2000000000, 0, 8000000000}},
		{0, {0, 0, 0}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct replay_part part = whole;
		struct err err = {0};
		struct replay_rows r;

		part.speed = cases[i].speed;
		part.tiers = 4;
		CU_ASSERT_EQUAL(load(&r, text, &part, &err), 0);
		CU_ASSERT_EQUAL_FATAL(r.lists[0].count, 3);
		for (int k = 0; k < 3; k++)
			CU_ASSERT_EQUAL(r.lists[0].rows[k].due_ns, cases[i].due_ns[k]);
		CU_ASSERT_EQUAL(r.other_tiers, 1);
		replay_rows_free(&r);
	}
}

/* Each row is in one list of one rank, that of its key, and lists keep the order of the trace. */
static void test_spread(void)
{
	enum { KEYS = 60, TURNS = 20, RANKS = 3, THREADS = 2 };
	static char text[KEYS * TURNS * 64];
	size_t n = strlen(strcpy(text, REPLAY_HEADER));
	uint64_t rows = 0, keys = 0;

	for (int turn = 0; turn < TURNS; turn++)
		for (int key = 0; key < KEYS; key++)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
					      "1.0,Write,%d,Tier-%d,key_%d,Prefill\n", turn + 1,
					      turn % 3, key);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		struct replay_part part = whole;
		struct err err = {0};
		struct replay_rows r;

		part.ranks = RANKS;
		part.rank = rank;
		part.threads = THREADS;
		CU_ASSERT_EQUAL(load(&r, text, &part, &err), 0);
		for (uint32_t t = 0; t < THREADS; t++) {
			uint64_t seen[KEYS] = {0};

			CU_ASSERT_TRUE(r.lists[t].count > 0);
			for (uint64_t i = 0; i < r.lists[t].count; i++) {
				const struct replay_row *row = &r.lists[t].rows[i];

				CU_ASSERT_EQUAL(row->bytes, ++seen[row->key]);
			}
			for (uint32_t key = 0; key < r.names.count; key++)
				CU_ASSERT_TRUE(seen[key] == 0 || seen[key] == TURNS);
		}
		rows += r.rows;
		keys += r.names.count;
		replay_rows_free(&r);
	}
	CU_ASSERT_EQUAL(rows, KEYS * TURNS);
	CU_ASSERT_EQUAL(keys, KEYS);
}

/* What is read before it is written is made as large as its largest read, in each tier by
 * itself. */
static void test_made(void)
{
	static const char text[] = REPLAY_HEADER REPLAY_ROW(1, Read, 5, 2, "a")
		REPLAY_ROW(1, Read, 9, 2, "a") REPLAY_ROW(1, Read, 7, 2, "a")
			REPLAY_ROW(1, Write, 3, 2, "a") REPLAY_ROW(1, Read, 3, 2, "a")
				REPLAY_ROW(1, Write, 4, 1, "a") REPLAY_ROW(1, Read, 4, 1, "a")
					REPLAY_ROW(1, Read, 2, 0, "a");
	struct err err = {0};
	struct replay_rows r;

	CU_ASSERT_EQUAL(load(&r, text, &whole, &err), 0);
	CU_ASSERT_EQUAL_FATAL(r.made_count, 2);
	CU_ASSERT(r.made[0].bytes == 9 && r.made[0].tier == 2);
	CU_ASSERT(r.made[1].bytes == 2 && r.made[1].tier == 0);
	CU_ASSERT_EQUAL(r.keys[0].tiers, 7);
	CU_ASSERT_EQUAL(r.bytes_most, 9);
	replay_rows_free(&r);
}

/* Tiers decide anew: "a" is demoted when "c" comes. What the trace says of that is left out. */
static void test_through(void)
{
	static const char text[] =
		REPLAY_HEADER REPLAY_ROW(1, Write, 100, 1, "a") REPLAY_ROW(1, Write, 100, 1, "b")
			REPLAY_ROW(2, Write, 100, 1, "c") "2,Read,100,Tier-1,a,Evict\n" REPLAY_ROW(
				3, Read, 100, 1, "a") REPLAY_ROW(4, Read, 100, 1, "d");
	static const struct {
		uint32_t operation, tier;
		const char *key;
		uint64_t seconds;
	} wanted[] = {
		{TRACE_WRITE, 0, "a", 0}, {TRACE_WRITE, 0, "b", 0},  {TRACE_READ, 0, "a", 1},
		{TRACE_WRITE, 1, "a", 1}, {TRACE_DELETE, 0, "a", 1}, {TRACE_WRITE, 0, "c", 1},
		{TRACE_READ, 1, "a", 2},
	};
	enum { WANTED = sizeof(wanted) / sizeof(wanted[0]) };
	struct replay_part part = whole;
	struct err err = {0};
	struct replay_rows r;

	part.through = (struct replay_through){
		.kind = REPLAY_THROUGH_MLPERF, .gpu = 260, .cpu = 260, .deletes = true};
	CU_ASSERT_EQUAL(load(&r, text, &part, &err), 0);
	CU_ASSERT_EQUAL_FATAL(r.lists[0].count, WANTED);
	for (int i = 0; i < WANTED; i++) {
		const struct replay_row *row = &r.lists[0].rows[i];

		CU_ASSERT(row->operation == wanted[i].operation && row->tier == wanted[i].tier);
		CU_ASSERT_STRING_EQUAL(trace_names_text(&r.names, row->key), wanted[i].key);
		CU_ASSERT_EQUAL(row->bytes, 100);
		CU_ASSERT_EQUAL(row->due_ns, wanted[i].seconds * 1000000000);
	}
	CU_ASSERT_EQUAL(r.misses, 1);
	CU_ASSERT_EQUAL(r.made_count, 0);
	replay_rows_free(&r);
}

/* A delete that somebody asked for is a request, too. */
static void test_through_delete(void)
{
	static const char text[] =
		"Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,Rank,Latency_ns\n"
		"1,Write,9,Tier-2,a,Prefill,,,0,0\n1,Delete,9,Tier-2,a,Decode,,,0,0\n"
		"1,Read,9,Tier-2,a,Decode,,,0,0\n";
	struct replay_part part = whole;
	struct err err = {0};
	struct replay_rows r;

	part.through = (struct replay_through){.kind = REPLAY_THROUGH_MLPERF, .deletes = true};
	CU_ASSERT_EQUAL(load(&r, text, &part, &err), 0);
	CU_ASSERT_EQUAL_FATAL(r.lists[0].count, 2);
	CU_ASSERT_EQUAL(r.lists[0].rows[1].operation, TRACE_DELETE);
	CU_ASSERT_EQUAL(r.misses, 1);
	replay_rows_free(&r);
}

static void test_wrong(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{REPLAY_HEADER, "has no rows"},
		{REPLAY_HEADER REPLAY_ROW(1, Write, 4, 2, "a") REPLAY_ROW(1, Read, 5, 2, "a"),
		 "line 3: reads more bytes of \"a\" in Tier-2 than were written there, which are 4"},
		{"Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,Rank,Latency_ns\n"
		 "1,Delete,4,Tier-2,a,Evict,,,0,0\n1,Read,0,Tier-2,a,Decode,,,0,0\n",
		 "line 3: reads more bytes of \"a\" in Tier-2 than were written there, which are 0"},
		{REPLAY_HEADER REPLAY_ROW(1, Write, 4, 2, "a") REPLAY_ROW(1, Write, x, 2, "a"),
		 "line 3: Object_Size_Bytes must be"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct replay_part part = whole;
		struct err err = {0};
		struct replay_rows r;

		CU_ASSERT_EQUAL(load(&r, cases[i].text, &part, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
		if (!strstr(err.text, cases[i].says))
			fprintf(stderr, "\nsays: %s\n", err.text);
		replay_rows_free(&r);
		part.lenient = true;
		CU_ASSERT_EQUAL(load(&r, cases[i].text, &part, &err), i ? 0 : -EINVAL);
		CU_ASSERT_EQUAL(r.beyond + r.wrong, i ? 1u : 0u);
		CU_ASSERT_EQUAL(r.rows, i ? 1u : 0u);
		replay_rows_free(&r);
	}
}

/* The folder of eight bits, and the name in it. */
static const char *object_name(const char *text, uint32_t *part)
{
	static char key[OBJECT_KEY_BYTES];
	char folder[OBJECT_KEY_BYTES];

	*part = (uint32_t)(replay_key_hash(text, strlen(text)) % OBJECTS_FOLDERS);
	replay_object_key("some/folder", 2, text, key);
	replay_objects_folder("some/folder", 2, *part, 2, folder);
	CU_ASSERT_EQUAL(strncmp(key, folder, strlen(folder)), 0);
	CU_ASSERT_EQUAL(strncmp(key, "some/folder/2/", 14), 0);
	return key + strlen(folder);
}

static void test_names(void)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{"conv_user_0007_17-9_turn_1", "conv_user_0007_17-9_turn_1"},
		{"../../etc/passwd", "%2E%2E%2F%2E%2E%2Fetc%2Fpasswd"},
		{".", "%2E"},
		{"a/b", "a%2Fb"},
		{"a%2Fb", "a%252Fb"},
		{"a b,\"c\"", "a%20b%2C%22c%22"},
		{"\xc3\xa4", "%C3%A4"},
		{"k.haul-0123abcd", "k%2Ehaul-0123abcd"},
	};
	char more[OBJECT_KEY_BYTES + 16];
	uint32_t part;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *name = object_name(cases[i].text, &part);

		CU_ASSERT_STRING_EQUAL(name, cases[i].name);
		CU_ASSERT_TRUE(replay_object_named(name));
		for (uint32_t p = 0; p < OBJECTS_FOLDERS; p++)
			CU_ASSERT_EQUAL(replay_object_of(name, p), p == part);
		snprintf(more, sizeof(more), "%s.haul-0123abcd", name);
		CU_ASSERT_TRUE(replay_object_of(more, part));
	}
}

/* The longest keys have names that file systems allow, different ones for different keys. */
static void test_long_names(void)
{
	char text[TRACE_KEY_MAX + 1], first[OBJECT_KEY_BYTES];
	static const struct {
		char fill;
		size_t length, name;
	} cases[] = {
		{'x', 240, 240}, {'x', 241, 234}, {'x', TRACE_KEY_MAX, 234},
		{'/', 80, 240},  {'/', 81, 234},  {'/', TRACE_KEY_MAX, 234},
	};
	uint32_t part;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(text, cases[i].fill, cases[i].length);
		text[cases[i].length] = '\0';
		snprintf(first, sizeof(first), "%s", object_name(text, &part));
		CU_ASSERT_EQUAL(strlen(first), cases[i].name);
		CU_ASSERT_TRUE(replay_object_of(first, part));
		CU_ASSERT_FALSE(replay_object_of(first, part ^ 1));
		text[cases[i].length - 1] = 'y';
		CU_ASSERT_NOT_EQUAL(strcmp(object_name(text, &part), first), 0);
	}
}

/* Names that haul does not make. */
static void test_other_names(void)
{
	static const char *const names[] = {"",
					    ".haul-replay.json",
					    "a.b",
					    "a/b",
					    "%2f",
					    "%2",
					    "%zz",
					    "a b",
					    "notes.txt",
					    "%%",
					    ".haul-0123abcd",
					    "x.haul-part"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CU_ASSERT_FALSE(replay_object_named(names[i]));
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"tiers", test_tiers},
		{"times", test_times},
		{"ranks and threads share the keys", test_spread},
		{"what is made first", test_made},
		{"a trace through tiers", test_through},
		{"a delete through tiers", test_through_delete},
		{"rows that are wrong", test_wrong},
		{"names of objects", test_names},
		{"long names", test_long_names},
		{"names that haul does not make", test_other_names},
		CU_TEST_INFO_NULL,
	};

	return unit_main("replay_rows", tests);
}
