/* SPDX-License-Identifier: Apache-2.0 */
/* What a request asks of the cache, step by step, in every mode; keys; and documents. */
#include <stdio.h>
#include <string.h>

#include "core/time_ns.h"
#include "tests/unit.h"
#include "tests/workloads/kvcache/source_fixture.h"
#include "workloads/kvcache/requests/steps.h"
#include "workloads/kvcache/tiers/entries.h"

static void test_keys(void)
{
	static const struct {
		struct kv_id id;
		const char *key;
	} rows[] = {
		{{(uint64_t)KV_KEY_TURN << 56 | 17ull << 24 | 3, 1795305706932},
		 "conv_user_0017_1795305706932_turn_3"},
		{{(uint64_t)KV_KEY_TURN << 56 | 123456ull << 24 | 50, 0},
		 "conv_user_123456_0_turn_50"},
		{{(uint64_t)KV_KEY_REQUEST << 56 | 2ull << 24, 41}, "user_0002_req_000041"},
		{{(uint64_t)KV_KEY_PROMPT << 56, 3}, "kv_system_3"},
		{{(uint64_t)KV_KEY_CHUNK << 56 | 9ull << 24 | 12, 0}, "rag_doc_0009_chunk_12"},
		{{(uint64_t)KV_KEY_DOCUMENT << 56 | 9ull << 24, 0}, "rag_doc_0009"},
		{{(uint64_t)KV_KEY_FILL << 56, 100}, "precond_100"},
		{{(uint64_t)KV_KEY_STORED << 56, UINT64_MAX}, "prepop_18446744073709551615"},
	};
	char key[KV_KEY_BYTES];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL(kv_key_text(key, rows[i].id), strlen(rows[i].key));
		CU_ASSERT_STRING_EQUAL(key, rows[i].key);
	}
	/* The longest key that there can be fits. */
	CU_ASSERT(kv_key_text(key, kv_id_make(KV_KEY_TURN, UINT32_MAX, KV_KEY_SECOND_MAX,
					      UINT64_MAX)) < KV_KEY_BYTES);
}

/* Steps as words: "r key", "w key tokens", "d key". hits: whether the nth read is a hit ('h') or a
 * miss ('m'); 'h' after its end. */
static void steps_check(const struct source_fixture *f, const struct kv_request *r,
			const char *hits, const char *wanted)
{
	char text[2048] = "", key[KV_KEY_BYTES];
	struct kv_steps s;
	struct kv_step step;
	bool hit = false;

	kv_steps_begin(&s, &f->source, r);
	while (kv_steps_next(&s, hit, &step)) {
		size_t length = strlen(text);

		kv_key_text(key, step.id);
		snprintf(text + length, sizeof(text) - length, "%s%c %s", length ? ", " : "",
			 "rwd"[step.kind], key);
		length = strlen(text);
		if (step.kind == KV_STEP_WRITE)
			snprintf(text + length, sizeof(text) - length, " %llu",
				 (unsigned long long)step.tokens);
		hit = step.kind == KV_STEP_READ && *hits != 'm';
		if (step.kind == KV_STEP_READ && *hits)
			hits++;
	}
	if (strcmp(text, wanted) != 0) {
		fprintf(stderr, "asked  %s\nwanted %s\n", text, wanted);
		CU_FAIL("other steps");
	}
}

static struct kv_request turn(uint32_t number, uint32_t context, uint32_t generate)
{
	return (struct kv_request){.id = kv_id_make(KV_KEY_TURN, 1, number, 5),
				   .conversation = 5,
				   .user = 1,
				   .turn = number,
				   .context = context,
				   .generate = generate,
				   .kind = KV_REQUEST_PREFILL_DECODE};
}

static void test_steps(void)
{
	static struct source_fixture f;
	struct kv_request r = turn(1, 100, 65);

	source_fixture_open(&f, "{\"users\": 10}", 1);
	/* One read, and one per batch of 32 tokens. */
	steps_check(&f, &r, "",
		    "w conv_user_0001_5_turn_1 100, r conv_user_0001_5_turn_1, "
		    "r conv_user_0001_5_turn_1, r conv_user_0001_5_turn_1, "
		    "r conv_user_0001_5_turn_1");
	/* Of an entry that was evicted meanwhile, one read, and it is written again. */
	steps_check(&f, &r, "m",
		    "w conv_user_0001_5_turn_1 100, r conv_user_0001_5_turn_1, "
		    "w conv_user_0001_5_turn_1 100");
	/* Where accelerators keep it while they decode, it is only written, and one from before is
	 * read once. */
	f.options.decode_reads = false;
	steps_check(&f, &r, "", "w conv_user_0001_5_turn_1 100");
	r.kind = KV_REQUEST_DECODE;
	steps_check(&f, &r, "", "r conv_user_0001_5_turn_1");
	steps_check(&f, &r, "m", "r conv_user_0001_5_turn_1, w conv_user_0001_5_turn_1 100");
	f.options.decode_reads = true;
	/* A long context is only written. Earlier turns are read first, whether they are there or
	 * not. */
	r = turn(3, 10000, 10);
	r.kind = KV_REQUEST_PREFILL;
	steps_check(&f, &r, "mh",
		    "r conv_user_0001_5_turn_1, r conv_user_0001_5_turn_2, "
		    "w conv_user_0001_5_turn_3 10000");
	/* A prompt is written when it is missed, and is no part of the entry. */
	r.turn = 1;
	r.prompt = 1;
	steps_check(&f, &r, "h", "r kv_system_1, w conv_user_0001_5_turn_3 9995");
	r.prompt = 3;
	steps_check(&f, &r, "m", "r kv_system_3, w kv_system_3 9, w conv_user_0001_5_turn_3 9991");
	f.options.prefix.shortest = 9;
	r.prompt = 2;
	steps_check(&f, &r, "m", "w conv_user_0001_5_turn_3 9993");
	kv_source_close(&f.source);
}

static void test_modes(void)
{
	static struct source_fixture f;
	struct kv_request r = turn(2, 100, 20);

	source_fixture_open(&f, "{\"mode\": \"prefill\"}", 1);
	steps_check(&f, &r, "", "r conv_user_0001_5_turn_1, w conv_user_0001_5_turn_2 100");
	kv_source_close(&f.source);

	source_fixture_open(&f, "{\"mode\": \"decode\", \"users\": 3}", 1);
	r.stored = 17;
	steps_check(&f, &r, "", "r prepop_17, r prepop_17");
	steps_check(&f, &r, "m", "r prepop_17");
	f.options.decode_reads = false;
	steps_check(&f, &r, "", "r prepop_17");
	for (int i = 0; i < 1000; i++) {
		kv_source_next(&f.source, &r);
		CU_ASSERT(r.stored < 3 * 10);
	}
	kv_source_close(&f.source);
}

static void test_documents(void)
{
	static struct source_fixture f;
	struct kv_request r;
	double asked = 0, retrieved = 0, requests = 0;

	source_fixture_open(&f,
			    "{\"users\": 100, \"rag\": {\"documents\": 3, \"held\": 2, "
			    "\"tokens_min\": 1100, \"tokens_max\": 1100}}",
			    1);
	kv_source_next(&f.source, &r);
	steps_check(&f, &r, "",
		    "w rag_doc_0000_chunk_0 512, w rag_doc_0000_chunk_1 512, "
		    "w rag_doc_0000_chunk_2 76");
	kv_source_next(&f.source, &r);
	kv_source_next(&f.source, &r);
	steps_check(&f, &r, "",
		    "d rag_doc_0000_chunk_0, d rag_doc_0000_chunk_1, d rag_doc_0000_chunk_2, "
		    "w rag_doc_0002_chunk_0 512, w rag_doc_0002_chunk_1 512, "
		    "w rag_doc_0002_chunk_2 76");
	for (int i = 0; i < 100000; i++) {
		kv_source_next(&f.source, &r);
		CU_ASSERT(!r.retrieval.count || r.retrieval.document > 0);
		CU_ASSERT(!r.retrieval.count || r.retrieval.count == 3);
		retrieved += r.retrieval.count != 0;
		if (r.kind != KV_REQUEST_DECODE) {
			requests++;
			continue;
		}
		CU_ASSERT_EQUAL(r.context, 1100);
		CU_ASSERT(r.generate >= 50 && r.generate <= 200);
		asked++;
	}
	CU_ASSERT_DOUBLE_EQUAL(asked / requests, 0.1, 0.003);
	CU_ASSERT_DOUBLE_EQUAL(retrieved / 100000, 0.1, 0.003);
	/* A request for a document, which retrieves one as well. */
	r = (struct kv_request){.kind = KV_REQUEST_DECODE,
				.id = kv_id_make(KV_KEY_DOCUMENT, 2, 0, 0),
				.context = 600,
				.generate = 1,
				.retrieval = {1, 2, {2, 0}}};
	steps_check(&f, &r, "hhm",
		    "r rag_doc_0001_chunk_2, r rag_doc_0001_chunk_0, r rag_doc_0002, "
		    "w rag_doc_0002 600");
	kv_source_close(&f.source);
}

/* The first of two chunks is retrieved first with the probability 2/3 by Zipf's law, and 1/2
 * uniformly. Documents have chunks as long as the model allows. */
static void test_retrieval(void)
{
	static const struct {
		const char *json;
		double first;
	} rows[] = {{"{\"rag\": {\"documents\": 1}}", 2.0 / 3},
		    {"{\"rag\": {\"documents\": 1, \"order\": \"uniform\"}}", 0.5}};
	static struct source_fixture f;

	for (int i = 0; i < 2; i++) {
		struct kv_documents *d = &f.source.documents;
		struct random random = {.key = 3};
		struct kv_retrieval r;
		double first = 0, second = 0;

		source_fixture_open(&f, rows[i].json, 1);
		CU_ASSERT(d->tokens_min == 4000 && d->tokens_max == 12000);
		CU_ASSERT_EQUAL(d->chunk_tokens, 512);
		d->tokens_min = d->tokens_max = 1024;
		for (int n = 0; n < 100000; n++) {
			kv_documents_retrieve(d, 0, &random, &r);
			CU_ASSERT_EQUAL(r.count, 2);
			first += r.chunks[0] == 0;
			second += r.chunks[1] == 0;
			CU_ASSERT_EQUAL(kv_retrieval_tokens(d, &r), 1024);
		}
		CU_ASSERT_DOUBLE_EQUAL(first / 100000, rows[i].first, 0.005);
		CU_ASSERT_EQUAL(first + second, 100000);
		kv_source_close(&f.source);
	}
	/* A chunk of llama3.1-8b has at most 1 MiB. */
	source_fixture_open(&f, "{\"rag\": {\"documents\": 1, \"chunk_bytes\": \"1 MiB\"}}", 1);
	CU_ASSERT_EQUAL(f.source.documents.chunk_tokens, 8);
	kv_source_close(&f.source);
}

static void test_large_model(void)
{
	struct kv_rag_options o = {.documents = 1, .chunk_tokens = 1, .chunk_bytes = 1};
	struct model m = {.layers = 64,
			  .kv_heads = 1,
			  .head_dim = 1,
			  .type = MODEL_INT8,
			  .attention = MODEL_GQA};
	struct kv_documents d;
	struct err err = {0};

	CU_ASSERT_EQUAL(kv_documents_open(&d, &o, &m, 1, "/kvcache", &err), 0);
	CU_ASSERT(d.tokens_min == 1024 && d.tokens_max == 4096 && d.chunk_tokens == 1);
	kv_documents_close(&d);
	m.layers = 63;
	CU_ASSERT(kv_documents_open(&d, &o, &m, 1, "/kvcache", &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/kvcache/rag/chunk_tokens: a document has"));
}

/* Users who think 10 s, with a context of one token: each request writes one and reads it twice. In
 * conversations without end, the nth request reads n - 1 of them, too. */
static void test_demand(void)
{
	static const struct {
		const char *conversation, *more;
		double seconds, read, written, most;
	} rows[] = {
		{"\"enabled\": false", "", 1000, 0.2, 0.1, 3},
		/* 100 turns, each of which reads 49.5 earlier ones on average. */
		{"\"end\": 0, \"turns\": 1000000", "", 1000, 5.15, 0.1, 97.5},
		{"\"enabled\": false", ", \"mode\": \"prefill\"", 1000, 0, 0.1, 1},
		{"\"enabled\": false", "", 1, 0, 0, 0},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct source_fixture f;
		struct kv_demand d;
		struct err err = {0};
		char json[512];
		double token;

		snprintf(json, sizeof(json),
			 "{\"users\": 64, \"templates\": [{\"name\": \"x\", \"context_min\": 1, "
			 "\"context_max\": 1, \"generate_min\": 1, \"generate_max\": 1, "
			 "\"think_min\": 10, \"think_max\": 10}], \"conversation\": {%s}, "
			 "\"prefix\": {\"enabled\": false}%s}",
			 rows[i].conversation, rows[i].more);
		source_fixture_open(&f, json, 1);
		CU_ASSERT_EQUAL(kv_demand_of(&f.options, &f.model, 1,
					     (uint64_t)(rows[i].seconds * 1e9), "/kvcache", &d,
					     &err),
				0);
		token = (double)kv_model_bytes(&f.model, 1);
		CU_ASSERT_DOUBLE_EQUAL(d.read / token, rows[i].read, 0.03 * rows[i].read);
		CU_ASSERT_DOUBLE_EQUAL(d.written / token, rows[i].written, 0.03 * rows[i].written);
		CU_ASSERT_DOUBLE_EQUAL((double)d.request / token, rows[i].most,
				       0.05 * rows[i].most);
		kv_source_close(&f.source);
	}
}

/* Half of the layers keep the last 128 tokens: of 256 to 1,024 tokens, that is 0.6 of all. What a
 * user asks for has the bytes of the entries that a run moves. */
static void test_demand_window(void)
{
	struct source_fixture f;
	struct kv_demand all, some;
	struct err err = {0};

	source_fixture_open(
		&f,
		"{\"users\": 64, \"templates\": [{\"name\": \"x\", \"context_min\": 1024, "
		"\"context_max\": 1024}], \"prefix\": {\"enabled\": false}}",
		1);
	CU_ASSERT_EQUAL(kv_demand_of(&f.options, &f.model, 1, 30 * NS_PER_S, "", &all, &err), 0);
	f.model.window_layers = f.model.layers / 2;
	f.model.window = 128;
	CU_ASSERT_EQUAL(kv_demand_of(&f.options, &f.model, 1, 30 * NS_PER_S, "", &some, &err), 0);
	CU_ASSERT_DOUBLE_EQUAL(some.written / all.written, 0.6, 0.01);
	CU_ASSERT_DOUBLE_EQUAL(some.read / all.read, 0.6, 0.01);
	CU_ASSERT_TRUE(some.request < all.request);
	kv_source_close(&f.source);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"keys", test_keys},
		{"steps of a request", test_steps},
		{"prefill only, decode only", test_modes},
		{"documents", test_documents},
		{"retrieval", test_retrieval},
		{"what a user asks for", test_demand},
		{"what a user asks for of a model with windows", test_demand_window},
		{"large models have shorter documents", test_large_model},
		CU_TEST_INFO_NULL,
	};

	return unit_main("steps", tests);
}
