/* Tests of recorded arrivals: which rows become requests and when, what is refused, and that they are what a source offers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit.h"
#include "tests/workloads/kvcache/source_fixture.h"
#include "workloads/kvcache/requests/arrivals.h"
#include "workloads/kvcache/requests/steps.h"
#include "workloads/kvcache/tiers/key.h"

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

static const struct arrivals_window all = {.speed = 1, .context_max = 16384, .part = 0, .parts = 1};

/* The requests of a text as "due in ms:context:generate …". */
static void expect(const char *text, const struct arrivals_window *window, const char *wanted)
{
	char found[256] = "";
	struct arrival row;
	struct arrivals a;
	struct err err = {0};
	size_t n = 0;

	CU_ASSERT_EQUAL_FATAL(arrivals_open_memory(&a, text, strlen(text), window, &err), 0);
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

/* Each row is of one part. */
static void test_parts(void)
{
	struct arrivals_window w = all;

	w.parts = 2;
	expect(burst, &w, "0:472:18 114000:10:0");
	w.part = 1;
	expect(burst, &w, "40000:1087:230 113500:16384:276");
}

static const struct refused_case {
	const char *text, *says;
} refused[] = {
	{"", "is empty"},
	{"a,b,c\n1,2,3\n", "line 1: must have the columns Timestamp"},
	{BURST, "has no request at all"},
	{BURST "5,x,0,18,18,y\n", "has no request in this part of its time"},
	{BURST "5,x,1,18\n", "line 2: has 4 fields and not 6"},
	{BURST "soon,x,1,1,2,y\n", "line 2: the time must be a number of seconds, is \"soon\""},
	{BURST "-5,x,1,1,2,y\n", "line 2: the time must be"},
	{BURST "1e400,x,1,1,2,y\n", "line 2: the time must be"},
	{BURST "5,x,-1,1,2,y\n", "line 2: the tokens of the context must be a whole number"},
	{BURST "5,x,1.5,1,2,y\n", "line 2: the tokens of the context must be a whole number"},
	{BURST "5,x,1,99999999,2,y\n", "line 2: the tokens generated must be a whole number"},
	{BURST "5,x,1,1,2,y\n4,x,1,1,2,y\n", "line 3: is earlier than the row before it"},
	{"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-01 00:00:00,1,1\n",
	 "line 2: the time must be like 2023-11-16"},
	{"TIMESTAMP,ContextTokens,GeneratedTokens\n5,1,1\n", "line 2: the time must be like"},
};

static void test_refused(void)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct arrivals a;
		struct err err = {0};

		CU_ASSERT_EQUAL(arrivals_open_memory(&a, refused[i].text, strlen(refused[i].text),
						     &all, &err),
				-EINVAL);
		CU_ASSERT_EQUAL(strncmp(err.text, refused[i].says, strlen(refused[i].says)), 0);
		if (strncmp(err.text, refused[i].says, strlen(refused[i].says)) != 0)
			fprintf(stderr, "\n%s\nsays: %s\n", refused[i].text, err.text);
	}
}

/* A source with recorded requests offers these and no others: a long context is only written, others are read, too. */
static void test_source(void)
{
	static char path[] = "/tmp/haul-arrivals-XXXXXX";
	int fd = mkstemp(path), writes = 0, reads = 0;
	struct source_fixture f = {0};
	struct kv_request r;
	struct kv_steps steps;
	struct kv_step step;
	struct err err = {0};
	char options[256], key[KV_KEY_BYTES];
	uint64_t number = 0;

	CU_ASSERT_EQUAL_FATAL(write(fd, burst, strlen(burst)), (ssize_t)strlen(burst));
	close(fd);
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
		{"parts", test_parts},
		{"what is refused", test_refused},
		{"a source of recorded requests", test_source},
		CU_TEST_INFO_NULL,
	};

	return unit_main("arrivals", tests);
}
