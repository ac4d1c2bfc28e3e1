/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of node blocks: phases on some ranks of a node find the same store as phases on the
 * others. */
#include "backends/node_block.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/backends/rig.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"

enum { MB = 1000000, MS = 1000000, RANKS = 4, READS = 20 };
static const uint64_t start_ns = 1000000000;

struct node {
	const char *json;
	uint64_t took_ns[RANKS];
};

/* As in a run, all ranks of the node reserve the block; then each half opens the store by
 * itself. */
static int half_open(struct rig *r, struct group *g, const char *json, struct group **half)
{
	struct rig reserving;
	int rc;

	rig_init(&reserving);
	reserving.node = g;
	rc = rig_open(&reserving, json);
	rig_close(&reserving);
	if (rc < 0)
		return rc;
	rc = group_split(g, g->rank / (g->size / 2), half, NULL);
	if (rc < 0)
		return rc;
	rig_init(r);
	r->all = r->node = *half;
	r->place = (struct rank_place){.rank = (*half)->rank,
				       .ranks = (*half)->size,
				       .world_rank = g->rank,
				       .world_ranks = g->size,
				       .nodes = 1};
	return rig_open(r, json);
}

static void half_close(struct rig *r, struct group *g, struct group *half)
{
	rig_close(r);
	group_free(half);
	group_barrier(g);
	node_blocks_free(g);
}

/* Each rank reads 20 MB. The ranks take turns, and those of the two halves alternate. */
static int read_in_halves(struct group *g, void *argument)
{
	struct node *n = argument;
	struct object o = {.key = "x"};
	struct group *half;
	struct queue q;
	struct rig r;

	if (half_open(&r, g, n->json, &half) < 0 || queue_open(&q, &r.store, 1, NULL) < 0)
		return -1;
	for (int i = 0; i < READS; i++) {
		struct request req = {.op = REQ_READ, .object = &o, .length = MB}, *list[] = {&req},
			       *done[1];

		for (uint32_t turn = 0; turn < g->size; turn++) {
			if (turn == g->rank)
				queue_submit(&q, list, 1);
			group_barrier(g);
		}
		queue_reap(&q, done, 1, 1, UINT64_MAX);
	}
	n->took_ns[g->rank] = q.now_ns - start_ns;
	queue_close(&q);
	half_close(&r, g, half);
	return 0;
}

/* 80 MB at 1 GB/s take 80 ms. If each half had a store of its own, it would end after 40 ms. */
static void test_halves_share_the_bandwidth(void)
{
	struct node n = {.json = "{\"uri\": \"sim://x\", \"bandwidth\": \"1 GB/s\"}"};

	CU_ASSERT_EQUAL(thread_group_run(RANKS, read_in_halves, &n, NULL), 0);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		CU_ASSERT_EQUAL(n.took_ns[rank], (77 + rank) * MS);
}

/* World rank 3 is rank 1 of the second half, and it alone has a quarter of the speed. */
static void test_slow_ranks_are_the_worlds(void)
{
	struct node n = {.json = "{\"uri\": \"sim://x\", \"rank_bandwidth\": \"1 GB/s\", "
				 "\"slow_ranks\": {\"3\": 0.25}}"};

	CU_ASSERT_EQUAL(thread_group_run(RANKS, read_in_halves, &n, NULL), 0);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		CU_ASSERT_EQUAL(n.took_ns[rank], (rank == 3 ? 4 : 1) * READS * MS);
}

static int write_here_read_there(struct group *g, void *argument)
{
	char data[100], back[100];
	struct group *half;
	struct queue q;
	struct rig r;
	int rc = 0;

	(void)argument;
	memset(data, 7, sizeof(data));
	if (half_open(&r, g, "{\"uri\": \"mem://m\"}", &half) < 0 ||
	    queue_open(&q, &r.store, 1, NULL) < 0)
		return -1;
	if (g->rank == 0)
		rc = rig_put(&q, "of the first half", data, sizeof(data));
	group_barrier(g);
	if (rc == 0 && rig_get(&q, "of the first half", back, sizeof(back)) < 0)
		rc = -2;
	if (rc == 0 && memcmp(data, back, sizeof(data)) != 0)
		rc = -3;
	queue_close(&q);
	half_close(&r, g, half);
	return rc;
}

static void test_halves_find_the_same_objects(void)
{
	CU_ASSERT_EQUAL(thread_group_run(RANKS, write_here_read_there, NULL, NULL), 0);
}

static int open_unreserved(struct group *g, void *argument)
{
	struct rig r;
	int rc;

	(void)argument;
	rig_init(&r);
	rc = rig_open(&r, "{\"uri\": \"mem://m\"}");
	store_close(&r.store);
	if (rc < 0)
		return -1;
	r.all = r.node = g;
	rc = store_open(&r.store, &r.described,
			&(struct store_opener){.place = &r.place, .all = g, .node = g}, &r.err);
	rig_close(&r);
	return rc == -EINVAL && strstr(r.err.text, "was not reserved") ? 0 : -2;
}

static void test_what_was_not_reserved_is_refused(void)
{
	CU_ASSERT_EQUAL(thread_group_run(2, open_unreserved, NULL, NULL), 0);
}

/* A series of runs may vary the capacity: each run has a block of its own size. */
static int open_larger(struct group *g, void *argument)
{
	static const char *const runs[] = {"{\"uri\": \"mem://m\", \"capacity\": \"1 MiB\"}",
					   "{\"uri\": \"mem://m\", \"capacity\": \"2 MiB\"}"};
	static const uint64_t most[] = {1 << 20, 2 << 20};
	struct object o = {.key = "x"};
	struct queue q;
	struct rig r;
	int rc = 0;

	(void)argument;
	for (int i = 0; i < 2 && rc == 0; i++) {
		rig_init(&r);
		r.all = r.node = g;
		if (rig_open(&r, runs[i]) < 0 || queue_open(&q, &r.store, 1, NULL) < 0)
			return -1;
		if (g->rank == 0 && (rig_do(&q, &o, REQ_BEGIN, 0, most[i], NULL, NULL) != -ENOSPC ||
				     rig_do(&q, &o, REQ_BEGIN, 0, most[i] / 2, NULL, NULL) != 0 ||
				     rig_do(&q, &o, REQ_ABORT, 0, 0, NULL, NULL) != 0))
			rc = -2;
		queue_close(&q);
		rig_close(&r);
	}
	group_barrier(g);
	node_blocks_free(g);
	return rc;
}

static void test_the_next_run_may_want_another_size(void)
{
	CU_ASSERT_EQUAL(thread_group_run(2, open_larger, NULL, NULL), 0);
}

static void test_one_uri_has_one_size(void)
{
	struct job_store stores[2];
	struct rig a, b;

	rig_init(&a);
	rig_init(&b);
	CU_ASSERT_EQUAL_FATAL(rig_open(&a, "{\"uri\": \"mem://m\"}"), 0);
	CU_ASSERT_EQUAL_FATAL(rig_open(&b, "{\"uri\": \"mem://m\", \"capacity\": \"1 MiB\"}"), 0);
	stores[0] = a.described;
	stores[1] = b.described;
	CU_ASSERT_EQUAL(node_blocks_check(stores, 2, &a.err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(a.err.text, "/stores/s: store \"s\" has the same URI mem://m but "
					   "another capacity");
	stores[1] = a.described;
	CU_ASSERT_EQUAL(node_blocks_check(stores, 2, &a.err), 0);
	rig_close(&b);
	rig_close(&a);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"halves share the bandwidth", test_halves_share_the_bandwidth},
		{"slow ranks are the world's", test_slow_ranks_are_the_worlds},
		{"halves find the same objects", test_halves_find_the_same_objects},
		{"what was not reserved is refused", test_what_was_not_reserved_is_refused},
		{"the next run may want another size", test_the_next_run_may_want_another_size},
		{"one URI has one size", test_one_uri_has_one_size},
		CU_TEST_INFO_NULL,
	};

	return unit_main("node_block", tests);
}
