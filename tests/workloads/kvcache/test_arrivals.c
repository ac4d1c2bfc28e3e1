/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of recorded arrivals: which rows become requests and when, what is refused, and that they
 * are what a source offers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit.h"
#include "tests/workloads/kvcache/source_fixture.h"
#include "workloads/kvcache/requests/arrivals.h"
#include "workloads/kvcache/requests/steps.h"
#include "workloads/kvcache/tiers/entries.h"

#define BURST "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
#define MS    UINT64_C(1000000)

static const char burst[] = BURST "5,ChatGPT,472,18,490,Conversation log\r\n"
				  "45,ChatGPT,1087,230,1317,Conversation log\r\n"
				  "45,GPT-4,0,0,0,Conversation log\r\n"
				  "118.5,GPT-4,20000,276,20276,API log\r\n"
				  "119,ChatGPT,10.0,0,10,API log\r\n";
static const char azure[] = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
			    "2023-12-31 23:59:59.5000000,374,44\n"
			    "2024-01-01 00:00:01.7500000,396,109\n"
			    "2024-02-29T12:00:00,879,55\n";

/* Azure's of 2024, with a byte order mark, blank lines and zones. */
static const char azure_2024[] = "\xef\xbb\xbfTIMESTAMP,ContextTokens,GeneratedTokens\r\n"
				 "2024-05-12 00:00:00.001163+00:00,2162,5\r\n\r\n"
				 "2024-05-12 02:00:00.501163+02:00,2399,6\r\n\r\n";

/* Mooncake's, whose hashes have 64 bits; the two large ones are one double. Qwen's times are
 * seconds. */
#define MOONCAKE \
	"{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1, " \
	"18446744073709551615]}\n" \
	"{\"timestamp\": 27, \"input_length\": 7322, \"output_length\": 490, \"hash_ids\": [0, " \
	"18446744073709551614, -1]}\n" \
	"{\"hash_ids\": [], \"output_length\": 1, \"input_length\": 10, \"timestamp\": 3000}\n"
/* LMCache's lookups: only full chunks of 256 tokens have a hash, and a hash may have 256 bits. */
#define LMCACHE \
	"{\"timestamp\": 1756700000.25, \"request_id\": \"a\", \"model_name\": \"m\", \"chunk_size\": 256, " \
	"\"seq_len\": 700, \"chunk_hashes\": [\"0x1a\", \"0xffffffffffffffff\"]}\n" \
	"{\"timestamp\": 1756700001.75, \"chunk_size\": 256, \"seq_len\": 800, \"chunk_hashes\": [\"0x1a\", " \
	"\"0xffffffffffffffff\", " \
	"\"0x000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f\"]}\n" \
	"{\"timestamp\": 1756700002, \"chunk_size\": 256, \"seq_len\": 20, \"chunk_hashes\": []}\n"
static const char qwen[] =
	"{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 61.5, \"input_length\": 7, "
	"\"output_length\": 5, \"type\": \"text\", \"turn\": 1, \"hash_ids\": [9]}\n"
	"{\"chat_id\": 2, \"parent_chat_id\": 1, \"timestamp\": 62.25, \"input_length\": 8, "
	"\"output_length\": 6, \"type\": \"text\", \"turn\": 2, \"hash_ids\": [9, 10]}";

/* An answer to nobody, a question without an answer, characters of several bytes, and a key that
 * nobody knows. */
static const char sharegpt[] =
	"\xef\xbb\xbf [ {\"id\": \"a{\\\"\", \"conversations\": [\n"
	"{\"from\": \"gpt\", \"value\": \"hello\"}, {\"from\": \"human\", \"value\": \"12345678\"},"
	"{\"from\": \"gpt\", \"value\": \"éèüöäßñø—…“”\"}, {\"from\": \"user\", \"value\": \"\"},"
	"{\"from\": \"assistant\", \"value\": \"123\"}, {\"from\": \"human\", \"value\": \"bye\"}]},"
	"{\"id\": \"b\"}, {\"conversations\": [{\"from\": \"system\", \"value\": \"be nice\", \"more\": [{}]},"
	"{\"from\": \"human\", \"value\": \"123456789012\"}, {\"from\": \"gpt\", \"value\": \"12345678901234567890\"}]}"
	" ] \n";

static const struct arrivals_window all = {
	.speed = 1, .context_max = 16384, .characters = 4, .part = 0, .parts = 1};
static const struct arrivals_window turns = {
	.speed = 1, .context_max = 16384, .characters = 4, .rate = 2, .part = 0, .parts = 1};

/* The requests of a text as "due in ms:context:generate …". */
static void expect(const char *text, const struct arrivals_window *window, const char *wanted)
{
	char found[256] = "";
	struct arrival row;
	struct arrivals a;
	struct err err = {0};
	size_t n = 0;

	CU_ASSERT_EQUAL_FATAL(arrivals_open(&a, NULL, text, strlen(text), window, &err), 0);
	while (arrivals_due(&a) != ARRIVALS_NEVER) {
		arrivals_next(&a, &row);
		n += (size_t)snprintf(found + n, sizeof(found) - n, "%s%llu:%llu:%llu",
				      n ? " " : "", (unsigned long long)(row.due_ns / MS),
				      (unsigned long long)row.context,
				      (unsigned long long)row.generate);
	}
	CU_ASSERT_STRING_EQUAL(found, wanted);
	arrivals_close(&a);
}

static void test_rows(void)
{
	struct arrivals_window w = all;

	/* A context of 0 tokens is left out, and one of 20,000 is cut. */
	expect(burst, &w, "0:472:18 40000:1087:230 113500:16384:276 114000:10:0");
	/* A leap year, and the end of another. */
	expect(azure, &w, "0:374:44 2250:396:109 5140800500:879:55");
	w.speed = 10;
	expect(burst, &w, "0:472:18 4000:1087:230 11350:16384:276 11400:10:0");
	w = all;
	w.from_ns = 40000 * MS;
	expect(burst, &w, "0:1087:230 73500:16384:276 74000:10:0");
	w.length_ns = 74000 * MS;
	expect(burst, &w, "0:1087:230 73500:16384:276");
}

/* What is cut, and left out, is counted, and said. */
static void test_cut(void)
{
	char text[ARRIVALS_TEXTS][ARRIVALS_TEXT_BYTES];
	struct arrivals_window w = all;
	uint64_t cut = 0, cut_generate = 0;
	struct err err = {0};
	struct arrival row;
	struct arrivals a;

	w.generate_max = 200;
	CU_ASSERT_EQUAL_FATAL(arrivals_open(&a, NULL, burst, strlen(burst), &w, &err), 0);
	arrivals_text(&a, text);
	CU_ASSERT_STRING_EQUAL(text[2], "2 requests are cut (arrivals.context_max, generate_max): "
					"3616 tokens of context and 106 of answers are left out");
	CU_ASSERT_STRING_EQUAL(text[3], "1 request without tokens of context is left out");
	while (arrivals_due(&a) != ARRIVALS_NEVER) {
		arrivals_next(&a, &row);
		cut += row.cut;
		cut_generate += row.cut_generate;
	}
	CU_ASSERT_EQUAL(cut, 20000 - 16384);
	CU_ASSERT_EQUAL(cut_generate, 30 + 76);
	arrivals_close(&a);
	CU_ASSERT_EQUAL_FATAL(arrivals_open(&a, NULL, azure, strlen(azure), &all, &err), 0);
	arrivals_text(&a, text);
	CU_ASSERT_STRING_EQUAL(text[2], "");
	CU_ASSERT_STRING_EQUAL(text[3], "");
	arrivals_close(&a);
}

static void test_json_lines(void)
{
	char text[ARRIVALS_TEXTS][ARRIVALS_TEXT_BYTES];
	struct arrivals_window w = turns;
	struct err err = {0};
	struct arrivals a;

	expect(azure_2024, &all, "0:2162:5 500:2399:6");
	expect(MOONCAKE, &all, "0:6758:500 27:7322:490 3000:10:1");
	expect(LMCACHE, &all, "0:700:0 1500:800:0 1750:20:0");
	expect(qwen, &all, "0:7:5 750:8:6");
	CU_ASSERT_EQUAL_FATAL(arrivals_open(&a, NULL, MOONCAKE, strlen(MOONCAKE), &all, &err), 0);
	CU_ASSERT_EQUAL(a.totals.blocks.references, 6);
	CU_ASSERT_EQUAL(a.totals.blocks.distinct, 4);
	arrivals_text(&a, text);
	CU_ASSERT_STRING_EQUAL(text[0],
			       "3 requests in 3.000 s, 14090 tokens of context, 991 generated");
	CU_ASSERT_STRING_EQUAL(
		text[1], "6 blocks, 4 of them different; they are not used, each request is new");
	arrivals_close(&a);
	/* Conversations in a line each, of speakers with other names. */
	w.rate = 1;
	expect("{\"conversations\": [{\"from\": \"human\", \"value\": \"12345678\"}, "
	       "{\"from\": \"chatgpt\", \"value\": \"1234\"}]}\n"
	       "{\"conversations\": [{\"from\": \"user\", \"value\": \"1234\"}, "
	       "{\"from\": \"bing\", \"value\": \"123456789012\"}]}\n",
	       &w, "0:2:1 1000:1:3");
}

/* Turns of conversations come one after the other. */
static void test_turns(void)
{
	struct arrivals_window w = turns;

	expect(sharegpt, &w, "0:2:3 500:1:1 1000:3:5");
	w.characters = 1;
	w.context_max = 10;
	w.generate_max = 4;
	w.speed = 2;
	expect(sharegpt, &w, "0:8:4 250:1:3 500:10:4");
	w = turns;
	w.from_ns = 400 * MS;
	w.length_ns = 200 * MS;
	expect(sharegpt, &w, "100:1:1");
	w = turns;
	w.conversations_max = 2;
	expect(sharegpt, &w, "0:2:3 500:1:1");
	/* A conversation stays with one part. The second object has none. */
	w = turns;
	w.parts = 2;
	expect(sharegpt, &w, "0:2:3 500:1:1 1000:3:5");
	w.parts = 3;
	w.part = 2;
	expect(sharegpt, &w, "1000:3:5");
}

/* Each row is of one part. */
static void test_parts(void)
{
	struct arrivals_window w = all;

	w.parts = 2;
	expect(burst, &w, "0:472:18 114000:10:0");
	w.part = 1;
	expect(burst, &w, "40000:1087:230 113500:16384:276");
}

/* The numbers of the first requests, as "number:due in ms", and of conversations
 * "conversation.turn:due in ms". */
static void expect_numbers(const char *text, const struct arrivals_window *window, int count,
			   const char *wanted)
{
	char found[256] = "";
	struct arrival row;
	struct arrivals a;
	struct err err = {0};
	size_t n = 0;

	CU_ASSERT_EQUAL_FATAL(arrivals_open(&a, NULL, text, strlen(text), window, &err), 0);
	for (int i = 0; i < count && arrivals_due(&a) != ARRIVALS_NEVER; i++) {
		unsigned long long number;

		arrivals_next(&a, &row);
		number = row.turn ? row.conversation : row.number;
		n += (size_t)snprintf(found + n, sizeof(found) - n, "%s%llu", n ? " " : "", number);
		if (row.turn)
			n += (size_t)snprintf(found + n, sizeof(found) - n, ".%u", row.turn);
		n += (size_t)snprintf(found + n, sizeof(found) - n, ":%llu",
				      (unsigned long long)(row.due_ns / MS));
	}
	CU_ASSERT_STRING_EQUAL(found, wanted);
	arrivals_close(&a);
}

/* A text that begins again has new requests. Those of burst are 114 s apart from the first to the
 * last, and 38 s on average. */
static void test_cycles(void)
{
	static const char same[] = BURST "5,x,1,1,2,y\n5,x,1,1,2,y\n";
	struct arrivals_window w = all;
	struct arrivals a;
	struct err err = {0};

	w.again = 1;
	expect_numbers(burst, &w, 99,
		       "0:0 1:40000 3:113500 4:114000 5:152000 6:192000 8:265500 9:266000");
	w.speed = 2;
	w.again = ARRIVALS_NEVER;
	expect_numbers(burst, &w, 9,
		       "0:0 1:20000 3:56750 4:57000 5:76000 6:96000 8:132750 9:133000 10:152000");
	/* Three rows in the window, 37 s apart on average. */
	w = all;
	w.from_ns = 40000 * MS;
	w.again = 1;
	expect_numbers(burst, &w, 99, "1:0 3:73500 4:74000 6:111000 8:184500 9:185000");
	/* Two rows, 40 s apart. Those behind them are not read again. */
	w.from_ns = 0;
	w.length_ns = 50000 * MS;
	expect_numbers(burst, &w, 99, "0:0 1:40000 5:80000 6:120000");
	/* Each part has its rows of each cycle, and one without any ends at once. */
	w = all;
	w.again = 1;
	w.parts = 2;
	w.part = 1;
	expect_numbers(burst, &w, 99, "1:40000 3:113500 6:192000 8:265500");
	w.again = ARRIVALS_NEVER;
	w.parts = 8;
	w.part = 7;
	expect_numbers(burst, &w, 99, "");
	/* Conversations of another cycle are others. */
	w = turns;
	w.again = 1;
	expect_numbers(sharegpt, &w, 99, "0.1:0 0.2:500 2.1:1000 3.1:1500 3.2:2000 5.1:2500");
	w = all;
	CU_ASSERT_EQUAL(arrivals_open(&a, NULL, same, strlen(same), &w, &err), 0);
	arrivals_close(&a);
	w.again = 1;
	CU_ASSERT_EQUAL(arrivals_open(&a, NULL, same, strlen(same), &w, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "at the same time"));
}

/* A file that is gone when it shall be read again ends the requests, and says so. */
static void test_gone(void)
{
	static char path[] = "/tmp/haul-arrivals-XXXXXX";
	struct arrivals_window w = all;
	struct arrivals a;
	struct arrival row;
	struct err err = {0};
	int fd = mkstemp(path);

	CU_ASSERT_EQUAL_FATAL(write(fd, burst, strlen(burst)), (ssize_t)strlen(burst));
	close(fd);
	w.again = ARRIVALS_NEVER;
	CU_ASSERT_EQUAL_FATAL(arrivals_open(&a, path, NULL, 0, &w, &err), 0);
	unlink(path);
	for (int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(a.rc, 0);
		CU_ASSERT_NOT_EQUAL(arrivals_due(&a), ARRIVALS_NEVER);
		arrivals_next(&a, &row);
	}
	CU_ASSERT_EQUAL(arrivals_due(&a), ARRIVALS_NEVER);
	CU_ASSERT_EQUAL(a.rc, -ENOENT);
	CU_ASSERT_NOT_EQUAL(a.err.text[0], '\0');
	arrivals_close(&a);
}

#define TURN \
	"{\"conversations\": [{\"from\": \"human\", \"value\": \"a\"}, {\"from\": \"gpt\", \"value\": \"b\"}]}"

static const struct refused_case {
	const char *text, *says;
	double rate;
} refused[] = {
	{"", "is empty", 0},
	{"Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n",
	 "has operations, not requests of users: a phase \"replay\"", 0},
	{"idx\tthread\top\n", "has operations, not requests of users", 1},
	{"a,b,c\n1,2,3\n", "line 1: must have the columns Timestamp", 0},
	{BURST, "has no request at all", 0},
	{BURST "5,x,0,18,18,y\n", "has no request in this part of its time", 0},
	{BURST "5,x,1,18\n", "line 2: has 4 fields and not 6", 0},
	{BURST "soon,x,1,1,2,y\n", "line 2: the time must be a number of seconds, is \"soon\"", 0},
	{BURST "-5,x,1,1,2,y\n", "line 2: the time must be", 0},
	{BURST "1e400,x,1,1,2,y\n", "line 2: the time must be", 0},
	{BURST "5,x,-1,1,2,y\n", "line 2: the tokens of the context must be a whole number", 0},
	{BURST "5,x,1.5,1,2,y\n", "line 2: the tokens of the context must be a whole number", 0},
	{BURST "5,x,1,99999999,2,y\n", "line 2: the tokens generated must be a whole number", 0},
	{BURST "5,x,1,1,2,y\n4,x,1,1,2,y\n", "line 3: is earlier than the row before it", 0},
	{"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-01 00:00:00,1,1\n",
	 "line 2: the time must be like 2023-11-16", 0},
	{"TIMESTAMP,ContextTokens,GeneratedTokens\n5,1,1\n", "line 2: the time must be like", 0},
	{BURST "5,x,1,1,2,y\n", "is a table of requests, which has its own times; remove", 1},
	{MOONCAKE, "is a trace of requests as lines of JSON, which has its own times", 1},
	{"\xef\xbb\xbf\n", "is empty", 1},
	{" \n", "is empty", 1},
	{"BZh9", "is compressed by bzip2", 1},
	{"PK\x03\x04", "is a zip archive", 0},
	{"{}", "line 1: is JSON, but neither a request", 1},
	{"{\"timestamp\": 1, \"input_length\": 2}",
	 "line 1: is a trace of requests as lines of JSON, without \"output_length\"", 1},
	{TURN "\n" TURN, "is a list of conversations, which has no times: it needs a rate", 0},
	{MOONCAKE "{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 2}\n",
	 "line 4: is earlier than", 0},
	{MOONCAKE "{\"timestamp\": 9000, \"input_length\": 2.5, \"output_length\": 2}\n",
	 "line 4: \"input_length\" must be", 0},
	{MOONCAKE
	 "{\"timestamp\": 9000, \"input_length\": 2, \"output_length\": 2, \"hash_ids\": [1.5]}\n",
	 "line 4: \"hash_ids\" must be a list of whole", 0},
	{MOONCAKE
	 "{\"timestamp\": 9000, \"input_length\": 2, \"output_length\": 2, \"hash_ids\": [18446744073709551616]}\n",
	 "line 4: \"hash_ids\" must be a list of whole", 0},
	{MOONCAKE
	 "{\"timestamp\": 9000, \"input_length\": 9000, \"output_length\": 2, \"hash_ids\": [1]}\n",
	 "line 4: has 1 blocks for 9000 tokens, which does not fit the lines before it", 0},
	{LMCACHE "{\"timestamp\": 1756700009, \"seq_len\": 300, \"chunk_hashes\": [\"1a\"]}\n",
	 "line 4: \"chunk_hashes\" must be a list of texts", 0},
	{LMCACHE "{\"timestamp\": 1756700009, \"seq_len\": 300, \"chunk_hashes\": [7]}\n",
	 "line 4: \"chunk_hashes\" must be a list of texts", 0},
	{LMCACHE
	 "{\"timestamp\": 1756700009, \"chunk_size\": 0, \"seq_len\": 9, \"chunk_hashes\": []}\n",
	 "line 4: \"chunk_size\" must be above 0", 0},
	{LMCACHE
	 "{\"timestamp\": 1756700009, \"chunk_size\": 128, \"seq_len\": 9, \"chunk_hashes\": []}\n",
	 "line 4: says that a block has 128 tokens, and the lines before it 256", 0},
	{LMCACHE
	 "{\"timestamp\": 1756700009, \"chunk_size\": 256, \"seq_len\": 257, \"chunk_hashes\": []}\n",
	 "line 4: has 0 blocks for 257 tokens, which does not fit chunks of 256 tokens", 0},
	{LMCACHE "{\"timestamp\": 1756700009, \"chunk_hashes\": []}\n",
	 "line 4: has no \"seq_len\"", 0},
	{"[" TURN "]", "is a list of conversations, which has no times: it needs a rate", 0},
	{"[" TURN "]", "is a list of conversations, which has no times: it needs a rate", 0.0001},
	{"[]", "has no request at all", 1},
	{"[{}]", "has no request at all", 1},
	{"[" TURN, "conversation 2: needs a comma or the end of the list", 1},
	{"[" TURN TURN "]", "conversation 2: needs a comma or the end of the list", 1},
	{"[" TURN ",]", "conversation 2: must be an object", 1},
	{"[" TURN "] 1", "conversation 2: is behind the end of the list", 1},
	{"[" TURN ", {\"conversations\": [", "conversation 2: ends too early", 1},
	{"[" TURN ", {\"a\": tru}]", "conversation 2: line 1, column ", 1},
	{"[" TURN ", {\"a]: 1}]", "conversation 2: ends too early", 1},
	{"[{\"conversations\": 1}]", "conversation 1: \"conversations\" must be a list", 1},
	{"[{\"conversations\": [1]}]", "conversation 1: \"conversations\" must be a list of", 1},
	{"[{\"conversations\": [{\"from\": \"gpt\"}]}]",
	 "conversation 1: \"conversations\" must be a list of objects with", 1},
	{"[1]", "conversation 1: must be an object", 1},
};

static void test_refused(void)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct arrivals_window w = all;
		struct arrivals a;
		struct err err = {0};

		w.rate = refused[i].rate;
		CU_ASSERT_EQUAL(
			arrivals_open(&a, NULL, refused[i].text, strlen(refused[i].text), &w, &err),
			-EINVAL);
		CU_ASSERT_EQUAL(strncmp(err.text, refused[i].says, strlen(refused[i].says)), 0);
		if (strncmp(err.text, refused[i].says, strlen(refused[i].says)) != 0)
			fprintf(stderr, "\n%s\nsays: %s\n", refused[i].text, err.text);
	}
}

/* How many rows are passed over, and what is said of the first one. */
static void test_lenient(void)
{
	static const struct {
		const char *text;
		double rate;
		uint64_t rows, wrong;
		const char *first;
	} cases[] = {
		{BURST "5,x,1,1,2,y\n4,x,1,1,2,y\n6,x,1\n7,x,1,1,2,y\n", 0, 2, 2,
		 "line 3: is earlier"},
		{MOONCAKE "{\"timestamp\": 9000, \"input_", 0, 3, 1, "line 4: line 1, column"},
		{"[" TURN ", {\"a\": tru}, {\"conversations\": [1]}, " TURN "]", 1, 2, 2,
		 "conversation 2: line 1"},
		{"[" TURN ", {\"conversations\": [", 1, 1, 1, "conversation 2: ends too early"},
		{"[" TURN "] 1", 1, 1, 1, "conversation 2: is behind"},
		{"[" TURN TURN "]", 1, 1, 1, "conversation 2: needs a comma"},
	};
	char text[ARRIVALS_TEXTS][ARRIVALS_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arrivals_window w = all;
		struct err err = {0};
		struct arrivals a;

		w.rate = cases[i].rate;
		w.lenient = true;
		CU_ASSERT_EQUAL_FATAL(
			arrivals_open(&a, NULL, cases[i].text, strlen(cases[i].text), &w, &err), 0);
		CU_ASSERT_EQUAL(a.totals.rows, cases[i].rows);
		CU_ASSERT_EQUAL(a.totals.wrong, cases[i].wrong);
		CU_ASSERT_EQUAL(
			strncmp(a.totals.first_wrong, cases[i].first, strlen(cases[i].first)), 0);
		arrivals_text(&a, text);
		CU_ASSERT_PTR_NOT_NULL(strstr(text[4], "wrong and left out"));
		arrivals_close(&a);
	}
}

static void write_file(char *path, const char *text)
{
	int fd = mkstemp(path);

	CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* The second turn of a conversation reads the first one, which is of the same user and class. */
static void test_conversation(void)
{
	static char path[] = "/tmp/haul-sharegpt-XXXXXX";
	static const char *const keys[] = {"conv_user_0000_0_turn_1", "conv_user_0000_0_turn_2",
					   "conv_user_0002_2_turn_1"};
	struct source_fixture f = {0};
	struct kv_request r, before = {0};
	struct kv_steps steps;
	struct kv_step step;
	struct err err = {0};
	char options[256], key[KV_KEY_BYTES];

	write_file(path, sharegpt);
	snprintf(options, sizeof(options),
		 "{\"users\": 7, \"arrivals\": {\"file\": \"%s\", \"rate\": 10}, "
		 "\"prefix\": {\"enabled\": false}}",
		 path);
	source_fixture_open(&f, options, 1);
	CU_ASSERT_EQUAL_FATAL(kv_source_recorded(&f.source, 0, 1, "/kvcache", &err), 0);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(kv_source_due(&f.source), 100 * MS * (uint64_t)i);
		kv_source_next(&f.source, &r);
		kv_key_text(key, r.id);
		CU_ASSERT_STRING_EQUAL(key, keys[i]);
		kv_steps_begin(&steps, &f.source, &r);
		CU_ASSERT_TRUE_FATAL(kv_steps_next(&steps, true, &step));
		CU_ASSERT_EQUAL(step.kind, i == 1 ? KV_STEP_READ : KV_STEP_WRITE);
		kv_key_text(key, step.id);
		CU_ASSERT_STRING_EQUAL(key, keys[i == 1 ? 0 : i]);
		if (i == 1)
			CU_ASSERT_EQUAL(r.class, before.class);
		before = r;
	}
	CU_ASSERT_EQUAL(kv_source_due(&f.source), KV_NEVER);
	kv_source_close(&f.source);
	unlink(path);
}

/* A source with recorded requests offers these and no others: a long context is only written,
 * others are read, too. */
static void test_source(void)
{
	static char path[] = "/tmp/haul-arrivals-XXXXXX";
	int writes = 0, reads = 0;
	struct source_fixture f = {0};
	struct kv_request r;
	struct kv_steps steps;
	struct kv_step step;
	struct err err = {0};
	char options[256], key[KV_KEY_BYTES];
	uint64_t number = 0;

	write_file(path, burst);
	snprintf(options, sizeof(options),
		 "{\"users\": 3, \"arrivals\": {\"file\": \"%s\", \"speed\": 1000}, "
		 "\"prefix\": {\"enabled\": false}}",
		 path);
	source_fixture_open(&f, options, 1);
	CU_ASSERT_EQUAL_FATAL(kv_source_recorded(&f.source, 0, 1, "/kvcache", &err), 0);
	for (; kv_source_due(&f.source) != KV_NEVER; number++) {
		kv_source_next(&f.source, &r);
		CU_ASSERT_EQUAL(r.number, number);
		CU_ASSERT_EQUAL(r.turn, 0);
		CU_ASSERT_EQUAL(r.kind,
				number == 2 ? KV_REQUEST_PREFILL : KV_REQUEST_PREFILL_DECODE);
		kv_steps_begin(&steps, &f.source, &r);
		while (kv_steps_next(&steps, true, &step)) {
			writes += step.kind == KV_STEP_WRITE;
			reads += step.kind == KV_STEP_READ;
		}
	}
	CU_ASSERT_EQUAL(number, 4);
	CU_ASSERT_EQUAL(writes, 4);
	/* 1 + 1 of 32 tokens, 1 + 8, none of the long one, 1 for no token. */
	CU_ASSERT_EQUAL(reads, 2 + 9 + 0 + 2);
	CU_ASSERT_EQUAL(r.due_ns, 114 * MS);
	kv_key_text(key, r.id);
	CU_ASSERT_STRING_EQUAL(key, "user_0001_req_000004");
	kv_source_close(&f.source);
	unlink(path);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"rows", test_rows},
		{"what is cut, and left out", test_cut},
		{"lines of JSON", test_json_lines},
		{"turns of conversations", test_turns},
		{"parts", test_parts},
		{"cycles", test_cycles},
		{"a file that is gone", test_gone},
		{"what is refused", test_refused},
		{"what is wrong is left out", test_lenient},
		{"a source of conversations", test_conversation},
		{"a source of recorded requests", test_source},
		CU_TEST_INFO_NULL,
	};

	return unit_main("arrivals", tests);
}
