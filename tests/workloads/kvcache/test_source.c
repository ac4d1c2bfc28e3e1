/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the profile mlperf-v3: their distributions, rates and shares over 100,000 requests,
 * and that a seed always gives the same ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/fnv.h"
#include "tests/unit.h"
#include "tests/workloads/kvcache/source_fixture.h"
#include "workloads/kvcache/tiers/entries.h"

enum { LENGTHS = 25001, TEMPLATES = 3 };

static const uint64_t second_ns = 1000000000;

/* What the defaults are, said once more: MLPerf's templates. */
static const struct {
	unsigned context_min, context_max, generate_min, generate_max;
	double think_min, think_max;
} users[TEMPLATES] = {
	{512, 4096, 50, 200, 0.1, 0.5},
	{4096, 25000, 100, 500, 0.2, 1.0},
	{4096, 16384, 200, 800, 0.3, 1.5},
};

static uint64_t request_hash(uint64_t hash, const struct kv_request *r)
{
	const uint64_t words[] = {r->number, r->due_ns,  r->id.high,        r->id.low,
				  r->user,   r->context, r->generate,       r->prompt,
				  r->kind,   r->class,   r->retrieval.count};

	hash = fnv_add(hash, words, sizeof(words));
	return fnv_add(hash, r->retrieval.chunks,
		       r->retrieval.count * sizeof(r->retrieval.chunks[0]));
}

static uint64_t list_hash(const char *json, uint64_t seed, unsigned requests)
{
	struct source_fixture f;
	struct kv_request r;
	uint64_t hash = FNV_START, before = 0;

	source_fixture_open(&f, json, seed);
	for (unsigned i = 0; i < requests; i++) {
		kv_source_next(&f.source, &r);
		CU_ASSERT(r.due_ns >= before);
		before = r.due_ns;
		hash = request_hash(hash, &r);
	}
	kv_source_close(&f.source);
	return hash;
}

static void test_seed(void)
{
	static const char *const json[] = {"{\"users\": 200}",
					   "{\"users\": 70, \"rag\": {\"documents\": 10}}"};

	for (int i = 0; i < 2; i++) {
		uint64_t hash = list_hash(json[i], 42, 20000);

		CU_ASSERT_EQUAL(hash, list_hash(json[i], 42, 20000));
		CU_ASSERT_NOT_EQUAL(hash, list_hash(json[i], 43, 20000));
	}
}

/* The greatest distance between the distribution of counts and that of a length that is drawn from
 * [max(1, c / 4), c], where c is drawn from [least, most]. */
static double ks_distance(const unsigned counts[LENGTHS], unsigned least, unsigned most)
{
	static double change[LENGTHS + 1]; /* of the density, from one length to the next */
	double density = 0, wanted = 0, seen = 0, total = 0, distance = 0;

	memset(change, 0, sizeof(change));
	for (unsigned c = least; c <= most; c++) {
		unsigned first = c / 4 ? c / 4 : 1;
		double each = 1.0 / (c - first + 1) / (most - least + 1);

		change[first] += each;
		change[c + 1] -= each;
	}
	for (unsigned x = 0; x < LENGTHS; x++)
		total += counts[x];
	for (unsigned x = 0; x < LENGTHS; x++) {
		density += change[x];
		wanted += density;
		seen += counts[x] / total;
		distance = fmax(distance, fabs(seen - wanted));
	}
	CU_ASSERT_DOUBLE_EQUAL(wanted, 1, 1e-9);
	return distance;
}

/* The first request of each of 100,000 users: these are independent of each other. */
static void test_lengths(void)
{
	enum { USERS = 100000 };
	static unsigned context[TEMPLATES][LENGTHS], generate[TEMPLATES][LENGTHS];
	static bool seen[USERS];
	unsigned left = USERS, of[TEMPLATES] = {0};
	struct source_fixture f;
	struct kv_request r;

	source_fixture_open(&f, "{\"users\": 100000}", 42);
	while (left) {
		kv_source_next(&f.source, &r);
		if (seen[r.user])
			continue;
		seen[r.user] = true;
		left--;
		of[r.template]++;
		context[r.template][r.context]++;
		generate[r.template][r.generate]++;
		CU_ASSERT_EQUAL(r.kind, r.context >= 10000 ? KV_REQUEST_PREFILL
							   : KV_REQUEST_PREFILL_DECODE);
	}
	for (int t = 0; t < TEMPLATES; t++) {
		double most = 1.63 / sqrt(of[t]); /* 1 % of all samples are further away */

		CU_ASSERT_DOUBLE_EQUAL(of[t], USERS / 3.0, USERS * 0.005);
		CU_ASSERT(ks_distance(context[t], users[t].context_min, users[t].context_max) <
			  most);
		CU_ASSERT(ks_distance(generate[t], users[t].generate_min, users[t].generate_max) <
			  most);
	}
	kv_source_close(&f.source);
}

/* Requests per second of one user, on average. */
static double user_rate(int template)
{
	double a = users[template].think_min, b = users[template].think_max;

	return log(b / a) / (b - a);
}

struct load {
	double requests, of[TEMPLATES], classes[3], context, generate, bytes, prompts;
	double decodes[TEMPLATES], reads[TEMPLATES];
};

/* Requests that are due in [10 s, 10 s + seconds). */
static void load_measure(const char *json, uint64_t seed, double seconds, struct load *l)
{
	uint64_t begin = 10 * second_ns, end = begin + (uint64_t)(seconds * 1e9);
	struct source_fixture f;
	struct kv_request r;

	*l = (struct load){0};
	source_fixture_open(&f, json, seed);
	while (kv_source_due(&f.source) < end) {
		kv_source_next(&f.source, &r);
		if (r.due_ns < begin)
			continue;
		l->requests++;
		l->of[r.template]++;
		l->classes[r.class]++;
		l->context += r.context;
		l->generate += r.generate;
		l->bytes += (double)kv_model_bytes(&f.model, r.context);
		l->prompts += r.prompt != 0;
		if (r.kind == KV_REQUEST_PREFILL_DECODE) {
			l->decodes[r.template]++;
			l->reads[r.template] += 1 + (r.generate + 31) / 32;
		}
	}
	kv_source_close(&f.source);
}

static bool within(double value, double wanted, double share)
{
	return fabs(value / wanted - 1) <= share;
}

/* The load that MLPerf's users offer, from many users and also from the 200 of its first option. */
static void load_check(const char *json, double count, double seconds, double part_share,
		       double class_share)
{
	static const double reads[TEMPLATES] = {4, 7, 11};
	double mix = (user_rate(0) + user_rate(1) + user_rate(2)) / 3, context = 0, generate = 0;
	struct load l;

	load_measure(json, 42, seconds, &l);
	CU_ASSERT(l.requests > 95000);
	CU_ASSERT(within(l.requests, mix * count * seconds, 0.02));
	for (int t = 0; t < TEMPLATES; t++) {
		double part = user_rate(t) / (3 * mix);

		CU_ASSERT(within(l.of[t], user_rate(t) * count / 3 * seconds, part_share));
		context += part * 0.625 * (users[t].context_min + users[t].context_max) / 2;
		generate += part * 0.625 * (users[t].generate_min + users[t].generate_max) / 2;
	}
	/* 4,430 tokens, which are 0.54 GiB of llama3.1-8b; and the stated numbers of reads, which
	 * are rounded. */
	CU_ASSERT(within(context, 4430, 0.005));
	CU_ASSERT(within(l.context / l.requests, context, 0.02));
	CU_ASSERT(within(l.bytes / l.requests, 0.54 * (1 << 30), 0.02));
	for (int t = 0; t < TEMPLATES; t++)
		CU_ASSERT_DOUBLE_EQUAL(l.reads[t] / l.decodes[t], reads[t], 0.5);
	CU_ASSERT(within(l.generate / l.requests, generate, part_share));
	CU_ASSERT_DOUBLE_EQUAL(l.prompts / l.requests, 0.2, 0.005);
	CU_ASSERT_DOUBLE_EQUAL(l.classes[0] / l.requests, 0.15, class_share);
	CU_ASSERT_DOUBLE_EQUAL(l.classes[1] / l.requests, 0.35, class_share);
	CU_ASSERT_DOUBLE_EQUAL(l.classes[2] / l.requests, 0.5, class_share);
}

static void test_load(void)
{
	load_check("{\"users\": 20000}", 20000, 2, 0.02, 0.005);
	/* 200 users cannot have all shares exactly, but together they offer the load. */
	load_check("{\"users\": 200}", 200, 200, 0.08, 0.03);
}

/* Conversations end with a probability of 0.2, or after 50 turns. */
static void test_conversations(void)
{
	enum { USERS = 1500 };
	static uint64_t conversation[USERS];
	static uint32_t turn[USERS];
	double begun = 0, later = 0;
	struct source_fixture f;
	struct kv_request r;

	source_fixture_open(&f, "{\"users\": 1500}", 7);
	for (int i = 0; i < 100000; i++) {
		kv_source_next(&f.source, &r);
		if (r.turn == 1) {
			CU_ASSERT(r.conversation > conversation[r.user]);
			begun += turn[r.user] > 0; /* not the first one of the user */
		} else {
			CU_ASSERT_EQUAL(r.conversation, conversation[r.user]);
			CU_ASSERT_EQUAL(r.turn, turn[r.user] + 1);
		}
		CU_ASSERT(r.turn <= 50);
		conversation[r.user] = r.conversation;
		later += turn[r.user] > 0;
		turn[r.user] = r.turn;
	}
	CU_ASSERT_DOUBLE_EQUAL(begun / later, 0.2, 0.005);
	kv_source_close(&f.source);
}

/* Turns of a conversation at most; and conversations at most, of which the least recent is
 * forgotten. */
static void test_conversation_limits(void)
{
	struct source_fixture f;
	struct kv_request r;
	uint32_t most = 0;

	source_fixture_open(&f, "{\"users\": 10, \"conversation\": {\"end\": 0, \"turns\": 4}}", 7);
	for (int i = 0; i < 1000; i++) {
		kv_source_next(&f.source, &r);
		most = r.turn > most ? r.turn : most;
	}
	CU_ASSERT_EQUAL(most, 4);
	kv_source_close(&f.source);

	source_fixture_open(&f, "{\"users\": 2, \"conversation\": {\"end\": 0, \"held\": 1}}", 7);
	for (int i = 0, before = -1; i < 1000; i++) {
		kv_source_next(&f.source, &r);
		CU_ASSERT_EQUAL(r.turn == 1, before != (int)r.user || r.turn == 1);
		CU_ASSERT(before == (int)r.user || r.turn == 1);
		CU_ASSERT(f.source.conversations <= 1);
		before = (int)r.user;
	}
	kv_source_close(&f.source);

	source_fixture_open(&f, "{\"users\": 2, \"conversation\": {\"enabled\": false}}", 7);
	kv_source_next(&f.source, &r);
	CU_ASSERT(r.turn == 0 && kv_id_kind(r.id) == KV_KEY_REQUEST);
	kv_source_close(&f.source);
}

/* More and fewer users change the load; the ones that stay go on as before. */
static void test_scale(void)
{
	struct source_fixture f;
	struct kv_request r;
	double requests[3] = {0};

	source_fixture_open(&f, "{\"users\": 2000}", 7);
	kv_source_scale(&f.source, 1000, 0);
	for (int part = 0; part < 3; part++) {
		/* A second for those who come and go, and then four. */
		uint64_t begin = (uint64_t)part * 6 * second_ns, end = begin + 6 * second_ns;

		while (kv_source_due(&f.source) < end) {
			kv_source_next(&f.source, &r);
			requests[part] += r.due_ns >= begin + 2 * second_ns;
			CU_ASSERT(part == 1 || r.due_ns < begin + 2 * second_ns || r.user < 1000);
		}
		kv_source_scale(&f.source, part ? 1000 : 2000, end);
	}
	CU_ASSERT(within(requests[0], 1000 * 2.46 * 4, 0.02));
	CU_ASSERT(within(requests[1], 2000 * 2.46 * 4, 0.02));
	CU_ASSERT(within(requests[2], 1000 * 2.46 * 4, 0.02));
	kv_source_scale(&f.source, 0, 18 * second_ns);
	CU_ASSERT_EQUAL(kv_source_due(&f.source), KV_NEVER);
	kv_source_close(&f.source);
}

/* Templates and classes of one's own. */
static void test_own_users(void)
{
	struct source_fixture f;
	struct kv_request r;
	double second = 0;

	source_fixture_open(&f,
			    "{\"users\": 1000, \"templates\": ["
			    "{\"name\": \"a\", \"think_min\": 1, \"think_max\": 1}, "
			    "{\"name\": \"b\", \"share\": 3, \"think_min\": 1, \"think_max\": 1, "
			    "\"context_min\": 8, \"context_max\": 8}], "
			    "\"classes\": [{\"name\": \"all\"}]}",
			    7);
	for (int i = 0; i < 10000; i++) {
		kv_source_next(&f.source, &r);
		CU_ASSERT_EQUAL(r.class, 0);
		CU_ASSERT(r.template == 0 || (r.context >= 2 && r.context <= 8));
		second += r.template;
	}
	CU_ASSERT(within(second, 7500, 0.02));
	kv_source_close(&f.source);
}

static void test_refused(void)
{
	static const char *const rows[][2] = {
		{"{\"templates\": [{\"name\": \"a\", \"context_min\": 5000}]}",
		 "/kvcache/templates/0/context_max: must be at least"},
		{"{\"templates\": [{\"name\": \"a\", \"generate_min\": 5000}]}",
		 "/kvcache/templates/0/generate_max: must be at least"},
		{"{\"templates\": [{\"name\": \"a\", \"think_min\": 5}]}",
		 "/kvcache/templates/0/think_max: must be at least"},
		{"{\"templates\": [{\"name\": \"a\", \"share\": 0}]}", "/kvcache/templates: one"},
		{"{\"classes\": [{\"name\": \"a\", \"share\": 0}]}", "/kvcache/classes: one"},
		{"{\"prefix\": {\"tokens_min\": 50}}", "/kvcache/prefix/tokens_max: must be"},
		{"{\"rag\": {\"tokens_min\": 50}}", "/kvcache/rag/tokens_max: is missing"},
		{"{\"rag\": {\"tokens_min\": 50, \"tokens_max\": 40}}",
		 "/kvcache/rag/tokens_max: must be"},
		{"{\"rag\": {\"generate_min\": 5000}}", "/kvcache/rag/generate_max: must be"},
		{"{\"users\": 4194304, \"stored_per_user\": 1048576}",
		 "/kvcache/stored_per_user: 4194304 users"},
	};
	static struct kv_source_options o;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};

		CU_ASSERT(source_options_read(&o, rows[i][0], &err) < 0);
		if (!strstr(err.text, rows[i][1])) {
			fprintf(stderr, "%s\n", err.text);
			CU_FAIL(rows[i][1]);
		}
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"the seed decides", test_seed},
		{"distributions of lengths", test_lengths},
		{"offered load", test_load},
		{"conversations", test_conversations},
		{"limits of conversations", test_conversation_limits},
		{"more and fewer users", test_scale},
		{"own templates and classes", test_own_users},
		{"refused", test_refused},
		CU_TEST_INFO_NULL,
	};

	return unit_main("source", tests);
}
