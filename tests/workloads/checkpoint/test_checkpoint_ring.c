/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the ring of the phase "checkpoint": whatever the numbers of fillers, writers, readers
 * and chunks in the ring, and in whatever order the store answers, every byte is read back right;
 * also where all bytes are in memory before the first is written. The store of this test is mem://
 * behind channels that hold requests back and complete them in any order. It takes the bytes of a
 * write only when it completes the write, so a chunk that is filled again too early is found. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/queue.h"
#include "backends/stores.h"
#include "core/content/random.h"
#include "tests/unit.h"
#include "tests/workloads/checkpoint/checkpoint_fixture.h"
#include "workloads/checkpoint/checkpoint.h"

enum { CHUNK = 4096 };

/* Requests that a channel has not completed yet. */
struct held {
	struct request *requests[QUEUE_DEPTH_MAX];
	uint32_t count;
	struct random random;
};

static int late_open(struct channel *c, struct err *err)
{
	struct held *h = calloc(1, sizeof(*h));

	(void)err;
	h->random.key = (uintptr_t)h;
	c->state = h;
	return 0;
}

static void late_close(struct channel *c)
{
	free(c->state);
}

static void late_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	struct held *h = c->state;

	for (uint32_t i = 0; i < n; i++)
		h->requests[h->count++] = reqs[i];
}

static uint32_t late_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
			  uint64_t deadline_ns)
{
	struct held *h = c->state;
	uint32_t n = 0, wanted = min + (uint32_t)(random_next(&h->random) % 3);

	(void)deadline_ns;
	while (n < wanted && n < max && h->count) {
		uint32_t i = (uint32_t)(random_next(&h->random) % h->count);

		done[n] = h->requests[i];
		h->requests[i] = h->requests[--h->count];
		mem_backend.submit(c, &done[n++], 1);
	}
	return n;
}

/* A store that changes a bit of each object, in its second chunk. */
static void wrong_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (reqs[i]->op == REQ_WRITE && reqs[i]->offset == CHUNK)
			*(char *)reqs[i]->data ^= 1;
	late_submit(c, reqs, n);
}

/* Copies of mem:// with other channels, made at the start. */
static struct backend_ops late_backend, wrong_backend;

static void late_make(struct backend_ops *ops, const char *scheme)
{
	*ops = mem_backend;
	ops->scheme = scheme;
	ops->section.name = scheme;
	ops->section.owner = ops;
	ops->channel_open = late_open;
	ops->channel_close = late_close;
	ops->submit = late_submit;
	ops->reap = late_reap;
}

/* About 430 chunks: per rank, a file of the optimizer with 3 quarters of them, and files of
 * weights. */
#define SHAPE \
	"\"model\": {\"vocabulary\": 1000, \"hidden\": 64, \"feed_forward\": 128, \"layers\": 3, " \
	"\"heads\": 8, \"kv_heads\": 8}, \"chunk\": 4096, "
#define MODEL SHAPE "\"count\": 1, \"verify\": \"full\", "
static const uint64_t chunks_least = 400;

struct ring {
	const char *more; /* options */
	const struct backend_ops *store;
	uint32_t ranks, chunks, fillers, writers, readers;
};

static struct fixture *ring_run(const struct ring *g)
{
	char store[64], phase[1024];

	snprintf(store, sizeof(store), "\"%s://ring\"", g->store->scheme);
	snprintf(phase, sizeof(phase),
		 MODEL "%s, \"buffers\": %" PRIu32 ", \"fillers\": %" PRIu32
		       ", \"writers\": %" PRIu32 ", \"readers\": %" PRIu32,
		 g->more, g->chunks * CHUNK, g->fillers, g->writers, g->readers);
	return checkpoint_fixture(&(struct checkpoint_case){
		.store = store,
		.phase = phase,
		.ranks = g->ranks,
		.own_store = g->store == &mem_backend ? NULL : &g->store->section});
}

#define ZERO1 "\"mesh\": {\"zero\": 1}"
#define ZERO3 "\"mesh\": {\"zero\": 3}"
#define LAYER ", \"layout\": \"layer\""
#define RAW   ", \"framing\": \"raw\""
#define SAFE  ", \"framing\": \"safetensors\""
#define WHOLE ", \"fill\": \"whole\""

static void expect_right(const struct ring *g)
{
	struct fixture *f = ring_run(g);
	uint64_t written = fixture_sum(f, TALLY_BYTES_WRITTEN);

	checkpoint_expect_ok(f);
	checkpoint_expect_accounts(f);
	CU_ASSERT_TRUE(written >= chunks_least * CHUNK);
	CU_ASSERT_TRUE(fixture_sum(f, TALLY_BYTES_READ) >= written * 9 / 10);
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 0);
	CU_ASSERT_EQUAL(fixture_sum(f, CHECKPOINT_PAYLOAD_ERRORS), 0);
	CU_ASSERT_TRUE(fixture_sum(f, CHECKPOINT_VERIFY_NS) > 0);
	fixture_free(f);
}

static void test_every_ring(void)
{
	static const uint32_t chunks[] = {2, 4, 9, 64}, threads[] = {1, 4}, fillers[] = {0, 1, 4};
	static const struct backend_ops *const stores[] = {&mem_backend, &late_backend};

	for (unsigned i = 0; i < 4 * 2 * 2 * 3 * 2; i++) {
		struct ring g = {ZERO1 RAW, stores[i % 2], .ranks = 1};

		g.chunks = chunks[i / 2 % 4];
		g.fillers = fillers[i / 8 % 3];
		g.writers = threads[i / 24 % 2];
		g.readers = threads[i / 48 % 2];
		if (g.writers <= g.chunks && g.readers <= g.chunks)
			expect_right(&g);
	}
}

/* Files of several writers, framings, ranks, and another mesh of readers. */
static void test_every_layout(void)
{
	static const struct ring rings[] = {
		{ZERO1 LAYER SAFE, &late_backend, 1, 2, 1, 1, 1},
		{ZERO1 LAYER, &late_backend, 1, 4, 1, 4, 1},
		{ZERO1 SAFE, &late_backend, 1, 9, 4, 4, 2},
		{ZERO1 LAYER RAW, &late_backend, 1, 64, 4, 4, 4},
		{ZERO3 LAYER, &late_backend, 3, 8, 4, 4, 4},
		{ZERO3 ", \"layout\": \"distributed\"", &late_backend, 2, 16, 1, 4, 1},
		{ZERO3 RAW ", \"read_mesh\": {\"tensor\": 2, \"zero\": 1}", &late_backend, 2, 16, 4,
		 2, 4},
		{ZERO1 LAYER WHOLE, &late_backend, 1, 4, 1, 4, 1},
		{ZERO1 SAFE WHOLE, &late_backend, 1, 9, 4, 4, 2},
		{ZERO3 LAYER WHOLE, &late_backend, 3, 8, 4, 4, 4},
		{ZERO3 ", \"layout\": \"distributed\"" WHOLE, &late_backend, 2, 16, 1, 4, 1},
	};

	for (unsigned i = 0; i < sizeof(rings) / sizeof(rings[0]); i++)
		expect_right(&rings[i]);
}

static void test_every_whole_shard(void)
{
	static const uint32_t chunks[] = {4, 64}, threads[] = {1, 4}, fillers[] = {0, 1, 4};

	for (unsigned i = 0; i < 2 * 2 * 3; i++) {
		struct ring g = {ZERO1 RAW WHOLE, &late_backend, .ranks = 1, .readers = 1};

		g.chunks = chunks[i % 2];
		g.writers = threads[i / 2 % 2];
		g.fillers = fillers[i / 4];
		expect_right(&g);
	}
}

/* A training of 12 steps writes 3 checkpoints, which it holds in memory until they are written. */
static void expect_held(const struct ring *g)
{
	char options[512], job[2048];
	struct fixture *f;

	snprintf(options, sizeof(options), SHAPE "\"store\": \"c\", %s, \"buffers\": %" PRIu32,
		 g->more, g->chunks * CHUNK);
	snprintf(
		job, sizeof(job),
		"{\"seed\": 7, \"stores\": {\"d\": {\"uri\": \"null://d\"}, \"c\": {\"uri\": "
		"\"late://c\"}}, \"dataset\": {\"store\": \"d\", \"format\": \"raw\", \"files\": %" PRIu32
		", \"sample_bytes\": 1000}, \"phases\": [{\"train\": {\"null_steps\": 0, "
		"\"checkpoint\": {\"every_steps\": 4, \"async\": \"hold\", \"fillers\": %" PRIu32
		", \"writers\": %" PRIu32 ", %s}}}, {\"checkpoint\": {\"operation\": \"read\", "
		"\"count\": 3, \"verify\": \"full\", %s}}]}",
		12 * g->ranks, g->fillers, g->writers, options, options);
	f = fixture_new_with(job, &late_backend.section);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fixture_run(f, g->ranks);
	checkpoint_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, CHECKPOINT_READ_BACK), 3 * (uint64_t)g->ranks);
	CU_ASSERT_TRUE(fixture_sum(f, TALLY_BYTES_READ) >= 3 * chunks_least * CHUNK);
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 0);
	CU_ASSERT_EQUAL(fixture_sum(f, CHECKPOINT_PAYLOAD_ERRORS), 0);
	fixture_free(f);
}

static void test_every_held_shard(void)
{
	static const struct ring rings[] = {
		{ZERO1 RAW, &late_backend, 1, 4, 0, 1, 1},
		{ZERO1 RAW, &late_backend, 1, 16, 1, 4, 1},
		{ZERO3 LAYER, &late_backend, 2, 8, 4, 4, 1},
		{ZERO3 SAFE, &late_backend, 3, 8, 1, 1, 1},
	};

	for (unsigned i = 0; i < sizeof(rings) / sizeof(rings[0]); i++)
		expect_held(&rings[i]);
}

/* No address space has 1 PiB. With ZeRO 0 only rank 0 needs it, and the other rank, whose threads
 * write already, ends, too. */
static void test_memory_that_is_not_there(void)
{
	static const char *const phases[] = {
		"{\"train\": {\"null_steps\": 0, \"checkpoint\": {\"every_steps\": 4, \"store\": \"c\", "
		"\"async\": \"hold\", \"model\": {\"bytes\": \"1 PiB\"}, \"mesh\": {\"zero\": 0}}}}",
		"{\"checkpoint\": {\"operation\": \"write\", \"store\": \"c\", \"fill\": \"whole\", \"null_passes\": 0, "
		"\"model\": {\"bytes\": \"1 PiB\"}, \"mesh\": {\"zero\": 0}}}",
	};

	for (unsigned i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		char job[1024];
		struct fixture *f;

		snprintf(
			job, sizeof(job),
			"{\"stores\": {\"d\": {\"uri\": \"null://d\"}, \"c\": {\"uri\": \"mem://c\"}}, "
			"\"dataset\": {\"store\": \"d\", \"format\": \"raw\", \"files\": 16, "
			"\"sample_bytes\": 1000}, \"phases\": [%s]}",
			phases[i]);
		f = fixture_of(job, 2);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		for (uint32_t rank = 0; rank < 2; rank++)
			CU_ASSERT_EQUAL(f->rc[rank], -ENOMEM);
		CU_ASSERT_PTR_NOT_NULL(strstr(f->err[0].text, "rank 0 has 1 PiB"));
		if (!strstr(f->err[0].text, "rank 0 has 1 PiB"))
			printf("%s\n", f->err[0].text);
		fixture_free(f);
	}
}

/* Each of the two files has one wrong bit. */
static void test_a_wrong_byte_is_found(void)
{
	static const struct ring wrong = {
		ZERO1 RAW ", \"on_error\": \"count\"", &wrong_backend, 1, 8, 4, 2, 2};
	struct fixture *f = ring_run(&wrong);

	CU_ASSERT_EQUAL(fixture_sum(f, CHECKPOINT_PAYLOAD_ERRORS), 2);
	fixture_free(f);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"every ring", test_every_ring},
		{"every layout", test_every_layout},
		{"every whole shard", test_every_whole_shard},
		{"every held shard", test_every_held_shard},
		{"memory that is not there", test_memory_that_is_not_there},
		{"a wrong byte is found", test_a_wrong_byte_is_found},
		CU_TEST_INFO_NULL,
	};

	late_make(&late_backend, "late");
	late_make(&wrong_backend, "wrong");
	wrong_backend.submit = wrong_submit;
	return unit_main("checkpoint_ring", tests);
}
