/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of mem://: objects, versions, capacity, and the block that ranks share. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/node_block.h"
#include "core/content/random.h"
#include "tests/backends/rig.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"

static void mem_begin(struct rig *r, struct queue *q, const char *json)
{
	rig_init(r);
	CU_ASSERT_EQUAL_FATAL(rig_open(r, json), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(q, &r->store, 4, NULL), 0);
}

static void mem_end(struct rig *r, struct queue *q)
{
	queue_close(q);
	rig_close(r);
}

static void test_objects(void)
{
	char text[] = "what is written is read", back[sizeof(text)];
	struct object o = {.key = "a/b"};
	uint64_t bytes;
	struct queue q;
	struct rig r;

	mem_begin(&r, &q, "{\"uri\": \"mem://m\"}");
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_OPEN, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_READ, 0, 1, back, NULL), -EBADF);
	/* An object that was begun with length 0 takes no bytes. */
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_BEGIN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_WRITE, 0, 1, back, NULL), -EFBIG);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_COMMIT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, 0);
	CU_ASSERT_EQUAL(rig_put(&q, "a/b", text, sizeof(text)), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, sizeof(text));
	CU_ASSERT_EQUAL(rig_get(&q, "a/b", back, sizeof(back)), 0);
	CU_ASSERT_STRING_EQUAL(back, text);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(o.size, sizeof(text));
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_READ, 5, 4, back, NULL), 0);
	CU_ASSERT_EQUAL(memcmp(back, text + 5, 4), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_READ, sizeof(text) - 2, 4, back, &bytes), -ENODATA);
	CU_ASSERT_EQUAL(bytes, 2);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_BEGIN, 0, 10, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_WRITE, 5, 6, text, NULL), -EFBIG);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_ABORT, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL), -ENOENT);
	mem_end(&r, &q);
}

static void test_a_reader_keeps_its_version(void)
{
	struct object o = {.key = "x"};
	char data[4096], other[4096], back[4096];
	struct queue q;
	struct rig r;

	memset(data, 'a', sizeof(data));
	memset(other, 'b', sizeof(other));
	mem_begin(&r, &q, "{\"uri\": \"mem://m\", \"capacity\": \"64 KiB\"}");
	CU_ASSERT_EQUAL(rig_put(&q, "x", data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	for (int i = 0; i < 100; i++)
		CU_ASSERT_EQUAL(rig_put(&q, "x", other, sizeof(other)), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_READ, 0, sizeof(back), back, NULL), 0);
	CU_ASSERT_EQUAL(memcmp(back, data, sizeof(back)), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_get(&q, "x", back, sizeof(back)), 0);
	CU_ASSERT_EQUAL(memcmp(back, other, sizeof(back)), 0);
	mem_end(&r, &q);
}

/* 1 MiB has room for exactly 256 objects of 4032 bytes, as each needs 64 more. The space of deleted
 * objects is used again, also for larger objects where neighbours are free. */
static void test_capacity(void)
{
	static char data[16128];
	struct object o;
	char key[16];
	struct queue q;
	struct rig r;

	mem_begin(&r, &q, "{\"uri\": \"mem://m\", \"capacity\": \"1 MiB\"}");
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 256; i++) {
			snprintf(key, sizeof(key), "%d", i);
			CU_ASSERT_EQUAL_FATAL(rig_put(&q, key, data, 4032), 0);
		}
		CU_ASSERT_EQUAL(rig_put(&q, "more", data, 1), -ENOSPC);
		for (int i = 100; i < 104; i++) {
			o = (struct object){0};
			snprintf(o.key, sizeof(o.key), "%d", i);
			CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL), 0);
		}
		CU_ASSERT_EQUAL(rig_put(&q, "large", data, 16129 + 192), -ENOSPC);
		CU_ASSERT_EQUAL(rig_put(&q, "large", data, sizeof(data)), 0);
		CU_ASSERT_EQUAL(rig_put(&q, "more", data, 1), 0);
		for (int i = 0; i < 256; i++) {
			o = (struct object){0};
			snprintf(o.key, sizeof(o.key), "%d", i);
			CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL),
					i / 4 == 25 ? -ENOENT : 0);
		}
		strcpy(o.key, "large");
		CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL), 0);
		strcpy(o.key, "more");
		CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL), 0);
	}
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_BEGIN, 0, UINT64_MAX, NULL, NULL), -ENOSPC);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_BEGIN, 0, (1 << 20) - 63, NULL, NULL), -ENOSPC);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_BEGIN, 0, (1 << 20) - 64, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_ABORT, 0, 0, NULL, NULL), 0);
	mem_end(&r, &q);
}

/* Random puts and deletes, compared with a table of the objects that must exist. */
static void test_against_a_model(void)
{
	enum { KEYS = 50, STEPS = 20000, LARGEST = 3000 };
	static unsigned char data[LARGEST];
	uint64_t length[KEYS] = {0}, refused = 0, wrong;
	struct object o;
	struct queue q;
	struct rig r;
	char key[16];

	mem_begin(&r, &q, "{\"uri\": \"mem://m\", \"capacity\": \"64 KiB\"}");
	for (uint64_t i = 0; i < STEPS; i++) {
		uint64_t k = random_at(1, i, 0) % KEYS, n = 1 + random_at(1, i, 1) % LARGEST;

		snprintf(key, sizeof(key), "k%d", (int)k);
		if (random_at(1, i, 2) % 3 == 0) {
			o = (struct object){0};
			strcpy(o.key, key);
			CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL),
					length[k] ? 0 : -ENOENT);
			length[k] = 0;
			continue;
		}
		memset(data, (int)(k * 5 + n), n);
		if (rig_put(&q, key, data, n) == 0)
			length[k] = n;
		else
			refused++;
		k = random_at(1, i, 3) % KEYS;
		if (!length[k])
			continue;
		snprintf(key, sizeof(key), "k%d", (int)k);
		CU_ASSERT_EQUAL(rig_get(&q, key, data, length[k]), 0);
		wrong = 0;
		for (uint64_t b = 0; b < length[k]; b++)
			wrong += data[b] != (unsigned char)(k * 5 + length[k]);
		CU_ASSERT_EQUAL(wrong, 0);
	}
	CU_ASSERT(refused > 0 && refused < STEPS / 2);
	mem_end(&r, &q);
}

static int share(struct group *g, void *argument)
{
	char key[16], data[100], back[100];
	struct queue q;
	struct rig r;

	(void)argument;
	/* Twice, as in two phases: the second finds what the first has written. */
	for (int phase = 0; phase < 2; phase++) {
		rig_init(&r);
		r.all = r.node = g;
		r.place.rank = r.place.local_rank = g->rank;
		r.place.ranks = r.place.local_ranks = g->size;
		if (rig_open(&r, "{\"uri\": \"mem://m\"}") < 0 ||
		    queue_open(&q, &r.store, 1, NULL) < 0)
			return -1;
		snprintf(key, sizeof(key), "%u", g->rank);
		memset(data, (int)g->rank + 1, sizeof(data));
		if (phase == 0 && rig_put(&q, key, data, sizeof(data)) < 0)
			return -2;
		group_barrier(g);
		snprintf(key, sizeof(key), "%u", (g->rank + 1) % g->size);
		memset(data, (int)((g->rank + 1) % g->size) + 1, sizeof(data));
		if (rig_get(&q, key, back, sizeof(back)) < 0 ||
		    memcmp(data, back, sizeof(data)) != 0)
			return -3;
		queue_close(&q);
		rig_close(&r);
	}
	group_barrier(g);
	node_blocks_free(g);
	return 0;
}

static void test_ranks_share_it_from_phase_to_phase(void)
{
	CU_ASSERT_EQUAL(thread_group_run(1, share, NULL, NULL), 0);
	CU_ASSERT_EQUAL(thread_group_run(8, share, NULL, NULL), 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"objects", test_objects},
		{"a reader keeps its version", test_a_reader_keeps_its_version},
		{"capacity", test_capacity},
		{"against a model", test_against_a_model},
		{"ranks share it from phase to phase", test_ranks_share_it_from_phase_to_phase},
		CU_TEST_INFO_NULL,
	};

	return unit_main("mem", tests);
}
