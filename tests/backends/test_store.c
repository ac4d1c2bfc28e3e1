/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of choosing, checking and opening stores, and of null://. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "backends/stores.h"
#include "tests/backends/rig.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"

static void test_every_backend_is_whole(void)
{
	for (const struct backend_ops *const *b = backend_table(); *b; b++) {
		CU_ASSERT_PTR_EQUAL(backend_find((*b)->scheme), *b);
		CU_ASSERT_PTR_EQUAL((*b)->section.owner, *b);
		CU_ASSERT_STRING_EQUAL((*b)->section.name, (*b)->scheme);
		CU_ASSERT((*b)->section.size >= sizeof(struct store_options));
		CU_ASSERT_PTR_EQUAL((*b)->section.tables[0], store_common_options);
		CU_ASSERT((*b)->submit && (*b)->open && (*b)->help);
		CU_ASSERT_EQUAL((*b)->depth_max > 1, ((*b)->capabilities & BACKEND_DEPTH) != 0);
	}
	CU_ASSERT_PTR_NULL(backend_find("nfs"));
	for (int op = 0; op < REQ_OPS; op++)
		CU_ASSERT_STRING_NOT_EQUAL(request_op_name((enum request_op)op), "unknown");
}

static void test_uris_are_shared_out(void)
{
	static const char *const roots[] = {"a/0", "b/1", "c/2", "a/3"};
	struct rig r;

	for (uint32_t rank = 0; rank < 4; rank++) {
		rig_init(&r);
		r.place.rank = rank;
		r.place.endpoint = rank;
		CU_ASSERT_EQUAL(
			rig_open(
				&r,
				"{\"uri\": [\"null://a/{rank}\", \"null://b/{rank}\", \"null://c/{rank}\"]}"),
			0);
		CU_ASSERT_STRING_EQUAL(r.store.root, roots[rank]);
		rig_close(&r);
	}
}

static void test_refusals(void)
{
	static const struct {
		const char *json, *sentence;
	} cases[] = {
		{"{\"uri\": [\"null://a\", \"sim://b\"]}",
		 "/stores/s/uri: \"sim://b\" must be null:// like the first of the list"},
		{"{\"uri\": \"file://data\"}",
		 "/stores/s/uri: \"file://data\" names no path; write file:///absolute or file://./relative"},
		{"{\"uri\": \"sim://a\", \"slow_ranks\": {\"3\": 0.25}}",
		 "/stores/s/slow_ranks: has no effect on an unlimited store; set rank_bandwidth or bandwidth"},
		{"{\"uri\": \"sim://a\", \"latency_stdev\": \"1 ms\"}",
		 "/stores/s/latency_stdev: set latency, too"},
	};
	struct rig r;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_init(&r);
		CU_ASSERT_EQUAL(rig_open(&r, cases[i].json), -EINVAL);
		CU_ASSERT_STRING_EQUAL(r.err.text, cases[i].sentence);
		rig_close(&r);
	}
	rig_init(&r);
	r.place.nodes = 4;
	CU_ASSERT_EQUAL(rig_open(&r, "{\"uri\": \"mem://a\"}"), -EINVAL);
	CU_ASSERT_STRING_EQUAL(r.err.text, "/stores/s: mem:// serves one node, not 4");
	rig_close(&r);
}

static void test_transfer(void)
{
	struct rig r;

	rig_init(&r);
	CU_ASSERT_EQUAL(rig_open(&r, "{\"uri\": \"null://\", \"transfer\": \"1 MiB\"}"), 0);
	CU_ASSERT_EQUAL(store_transfer(&r.store), 1 << 20);
	r.store.alignment = 4096;
	((struct store_options *)r.described.options)->transfer = 10000;
	CU_ASSERT_EQUAL(store_transfer(&r.store), 8192);
	((struct store_options *)r.described.options)->transfer = 100;
	CU_ASSERT_EQUAL(store_transfer(&r.store), 4096);
	((struct store_options *)r.described.options)->transfer = 0;
	CU_ASSERT_EQUAL(store_transfer(&r.store), UINT64_MAX);
	rig_close(&r);
}

static void test_null_moves_nothing(void)
{
	struct object o = {.key = "x"};
	uint64_t bytes;
	struct queue q;
	struct rig r;

	rig_init(&r);
	CU_ASSERT_EQUAL(rig_open(&r, "{\"uri\": \"null://\"}"), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, 8, NULL), 0);
	CU_ASSERT_FALSE(store_can(&r.store, BACKEND_CONTENT));
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_READ, 1ull << 40, 1 << 30, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, 1 << 30);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_BEGIN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_WRITE, 4096, 10, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_COMMIT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, 4106);
	CU_ASSERT_EQUAL(q.op[REQ_READ].bytes, 1 << 30);
	queue_close(&q);
	rig_close(&r);
}

/* A store with one connection for all ranks, which one of them makes, as a client library with
 * global handles does. */
struct shared_connection {
	_Atomic uint32_t connects, closes;
	uint32_t fails_at; /* UINT32_MAX: no rank fails */
	uint64_t handles[8];
};

struct connected_options {
	struct store_options common;
	struct shared_connection *connection;
};

static int connected_open(struct store *store, struct err *err)
{
	const struct connected_options *o = store->options;
	uint64_t handle = 0;

	if (store->all->rank == 0) {
		atomic_fetch_add(&o->connection->connects, 1);
		handle = 4711;
	}
	group_broadcast(store->all, &handle, sizeof(handle));
	if (store->all->rank == o->connection->fails_at)
		return err_set(err, -EIO, "the handle is of no use here");
	o->connection->handles[store->all->rank] = handle;
	return 0;
}

static void connected_close(struct store *store)
{
	const struct connected_options *o = store->options;

	atomic_fetch_add(&o->connection->closes, 1);
}

static int connect_all(struct group *g, void *argument)
{
	static const struct backend_ops ops = {.scheme = "connected",
					       .capabilities = BACKEND_MANY_NODES,
					       .open = connected_open,
					       .close = connected_close};
	const struct section section = {.name = "connected", .owner = &ops};
	char uri[] = "connected://all", *uris[] = {uri};
	struct connected_options options = {.common.uri = {.count = 1, .items = uris},
					    .connection = argument};
	struct job_store described = {.name = "c", .section = &section, .options = &options};
	struct rank_place place = {.rank = g->rank, .ranks = g->size, .nodes = 4};
	struct group *node;
	struct store store;
	struct err err;
	int rc;

	if (group_split(g, g->rank / 2, &node, NULL) < 0)
		return -1;
	rc = store_open(&store, &described,
			&(struct store_opener){.place = &place, .all = g, .node = node}, &err);
	if (rc == 0)
		store_close(&store);
	else if (rc != -EIO || !strstr(err.text, "the handle is of no use here"))
		rc = -1;
	group_free(node);
	return rc;
}

static void test_one_rank_connects_for_all(void)
{
	struct shared_connection c = {.fails_at = UINT32_MAX};

	CU_ASSERT_EQUAL(thread_group_run(8, connect_all, &c, NULL), 0);
	CU_ASSERT_EQUAL(c.connects, 1);
	CU_ASSERT_EQUAL(c.closes, 8);
	for (int rank = 0; rank < 8; rank++)
		CU_ASSERT_EQUAL(c.handles[rank], 4711);
}

/* Whichever node fails, all ranks get the error, and the stores that were already open are
 * closed. */
static void test_all_ranks_open_it_or_none(void)
{
	struct shared_connection c = {.fails_at = 5};

	CU_ASSERT_EQUAL(thread_group_run(8, connect_all, &c, NULL), -EIO);
	CU_ASSERT_EQUAL(c.connects, 1);
	CU_ASSERT_EQUAL(c.closes, 7);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"every backend is whole", test_every_backend_is_whole},
		{"URIs are shared out", test_uris_are_shared_out},
		{"refusals", test_refusals},
		{"transfer", test_transfer},
		{"null moves nothing", test_null_moves_nothing},
		{"one rank connects for all", test_one_rank_connects_for_all},
		{"all ranks open it or none", test_all_ranks_open_it_or_none},
		CU_TEST_INFO_NULL,
	};

	return unit_main("store", tests);
}
