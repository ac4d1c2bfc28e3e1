/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of daos:// over the test library: what is written is read, whatever the library does, and
 * nothing hangs. No DAOS is asked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/content/random.h"
#include "tests/backends/dfs/container.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"

static void test_objects(void)
{
	char text[] = "what is written is read", back[sizeof(text)];
	struct object o = {.key = "a/b/c"};
	struct request rename = {.op = REQ_RENAME, .object = &o, .target = "a/b/d"};
	struct container c;
	uint64_t bytes;

	container_begin(&c);
	container_open(&c, STORE(""));
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_OPEN, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_READ, 0, 1, back, NULL), -EBADF);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_CLOSE, 0, 0, NULL, NULL), -EBADF);
	CU_ASSERT_EQUAL(rig_put(&c.q, "a/b/c", text, sizeof(text)), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_STAT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, sizeof(text));
	CU_ASSERT_EQUAL(rig_get(&c.q, "a/b/c", back, sizeof(back)), 0);
	CU_ASSERT_STRING_EQUAL(back, text);
	o.size = 0;
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(o.size, sizeof(text));
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_READ, sizeof(text) - 2, 4, back, &bytes), -ENODATA);
	CU_ASSERT_EQUAL(bytes, 2);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	/* What is aborted leaves the old version. */
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_BEGIN, 0, 4, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_WRITE, 0, 4, (char[]){"new"}, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_ABORT, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_get(&c.q, "a/b/c", back, sizeof(back)), 0);
	CU_ASSERT_STRING_EQUAL(back, text);
	/* A write in place shows at once. */
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_UPDATE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_WRITE, 0, 4, (char[]){"THAT"}, NULL), 0);
	CU_ASSERT_EQUAL(rig_get(&c.q, "a/b/c", back, sizeof(back)), 0);
	CU_ASSERT_STRING_EQUAL(back, "THAT is written is read");
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(queue_do(&c.q, &rename), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	strcpy(o.key, "a/b/");
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_DELETE, 0, 0, NULL, NULL), -ENOTEMPTY);
	strcpy(o.key, "a/b/d");
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_DELETE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_DELETE, 0, 0, NULL, NULL), -ENOENT);
	strcpy(o.key, "a/b/");
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_DELETE, 0, 0, NULL, NULL), 0);
	/* The folder is gone, and is made again where it is needed. */
	CU_ASSERT_EQUAL(rig_put(&c.q, "a/b/c", text, sizeof(text)), 0);
	CU_ASSERT_EQUAL(rig_put(&c.q, "top", text, sizeof(text)), 0);
	container_close(&c);
	container_end(&c);
}

static void object_fill(char *data, uint64_t length, uint64_t at)
{
	for (uint64_t i = 0; i < length; i++)
		data[i] = (char)mix64(at + i);
}

/* 200 reads of an object, as many in flight as the queue takes, each of which has its own place. */
static void read_all(struct queue *q, struct object *o, char *back, uint64_t piece, uint32_t count)
{
	struct request reqs[200], *done[DEPTH];
	uint32_t sent = 0, ended = 0, failed = 0;

	while (ended < count) {
		uint32_t n;

		for (; sent < count && sent - ended < DEPTH; sent++) {
			struct request *req = &reqs[sent];

			*req = (struct request){.op = REQ_READ,
						.object = o,
						.offset = sent * piece,
						.length = piece,
						.data = back + sent * piece};
			CU_ASSERT_EQUAL_FATAL(queue_submit(q, &req, 1), 0);
		}
		n = queue_reap(q, done, 1, DEPTH, UINT64_MAX);
		CU_ASSERT_FATAL(n > 0);
		for (uint32_t i = 0; i < n; i++)
			failed += done[i]->answer.status != 0;
		ended += n;
	}
	CU_ASSERT_EQUAL(failed, 0);
}

/* Whatever the library does to reads, the bytes arrive. */
static void test_reads(void)
{
	enum { PIECE = 5000, COUNT = 200, BYTES = PIECE * COUNT };
	static const struct {
		const char *name, *value;
	} cases[] = {
		{"HAUL_DFS_EVENTS", "4096"},       {"HAUL_DFS_DISORDER", "1"},
		{"HAUL_DFS_EVENTS", "16"},         {"HAUL_DFS_EVENTS", "1"},
		{"HAUL_DFS_CHUNK", "1024"},        {"HAUL_DFS_DELAY_US", "20"},
		{"HAUL_DFS_FAIL", "read:7:-1012"}, {"HAUL_DFS_FAIL", "read:5:16"},
		{"HAUL_DFS_LOST", "50:20"},
	};
	char *data = malloc(BYTES), *back = malloc(BYTES);
	struct object o = {.key = "o"};
	struct container c;

	object_fill(data, BYTES, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		container_begin(&c);
		setenv("HAUL_DFS_DISORDER", "1", 1);
		setenv(cases[i].name, cases[i].value, 1);
		container_open(&c, STORE(", \"transfer\": \"64 KiB\""));
		memset(back, 0, BYTES);
		CU_ASSERT_EQUAL(rig_put(&c.q, "o", data, BYTES), 0);
		CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
		read_all(&c.q, &o, back, PIECE, COUNT);
		CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
		CU_ASSERT_EQUAL(memcmp(data, back, BYTES), 0);
		container_close(&c);
		container_end(&c);
	}
	free(data);
	free(back);
}

/* A failure that stays: its errno, its kind, its sentence. */
static void test_failures(void)
{
	static const struct {
		const char *fails;
		enum request_op op;
		int status;
		enum request_fault fault;
		const char *says;
	} cases[] = {
		{"read:1:-1006", REQ_READ, -EHOSTUNREACH, REQ_FAULT_CONNECT, "cannot be reached"},
		{"read:1:-1011", REQ_READ, -ETIMEDOUT, REQ_FAULT_TIMEOUT, "did not answer in time"},
		{"read:1:-1012", REQ_READ, -EBUSY, REQ_FAULT_THROTTLE, "takes no more requests"},
		{"read:1:-2021", REQ_READ, -EIO, REQ_FAULT_SERVER, "I/O error"},
		{"read:1:-2001", REQ_READ, -EIO, REQ_FAULT_SERVER, "I/O error"},
		{"read:1:-2999", REQ_READ, -EIO, REQ_FAULT_SERVER, "D_LOG_FILE"},
		{"read:1:-2034", REQ_READ, -EIO, REQ_FAULT_SERVER, "daos_agent"},
		{"open:1:-1015", REQ_OPEN, -EIO, REQ_FAULT_SERVER, "daos container query"},
		{"open:1:-1032", REQ_OPEN, -EIO, REQ_FAULT_SERVER, "dmg system query"},
		{"read:1:-1002", REQ_READ, -EINVAL, REQ_FAULT_OTHER, "evicted or destroyed"},
		{"stat:1:-2025", REQ_STAT, -ERESTART, REQ_FAULT_THROTTLE, "try again"},
		{"write:1:-1007", REQ_WRITE, -ENOSPC, REQ_FAULT_OTHER, "back late"},
		{"read:1:113", REQ_READ, -EHOSTUNREACH, REQ_FAULT_CONNECT, "cannot be reached"},
		{"write:1:28", REQ_WRITE, -ENOSPC, REQ_FAULT_OTHER, "No space"},
		{"open:1:1", REQ_OPEN, -EPERM, REQ_FAULT_DENIED, "does not permit"},
		{"poll:3:-1020", REQ_READ, -EHOSTUNREACH, REQ_FAULT_CONNECT, "cannot be reached"},
		{"stat:1:5", REQ_STAT, -EIO, REQ_FAULT_SERVER, "I/O error"},
		{"remove:1:16", REQ_ABORT, -EBUSY, REQ_FAULT_THROTTLE, "takes no more requests"},
	};
	char data[100] = "";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct object o = {.key = "o"};
		struct request req = {.op = cases[i].op, .object = &o, .length = 100, .data = data};
		struct container c;

		container_begin(&c);
		container_open(&c, STORE(""));
		CU_ASSERT_EQUAL(rig_put(&c.q, "o", data, 100), 0);
		container_close(&c);
		setenv("HAUL_DFS_FAIL", cases[i].fails, 1);
		container_open(&c, STORE(", \"retry\": {\"attempts\": 3}"));
		if (req.op == REQ_READ)
			rig_do(&c.q, &o, REQ_OPEN, 0, 0, NULL, NULL);
		if (req.op == REQ_WRITE || req.op == REQ_ABORT)
			rig_do(&c.q, &o, REQ_BEGIN, 0, 0, NULL, NULL);
		for (int n = 0; n < 3 && (n == 0 || strstr(cases[i].fails, "poll")); n++)
			queue_do(&c.q, &req);
		CU_ASSERT_EQUAL(req.answer.status, cases[i].status);
		CU_ASSERT_EQUAL(req.answer.fault, cases[i].fault);
		CU_ASSERT_PTR_NOT_NULL(strstr(request_text(&req), cases[i].says));
		/* An abort that failed has left the object open for another one. */
		if (req.op == REQ_READ || req.op == REQ_ABORT)
			CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
		if (req.op == REQ_WRITE)
			rig_do(&c.q, &o, REQ_ABORT, 0, 0, NULL, NULL);
		container_close(&c);
		container_end(&c);
	}
}

enum { ENTRIES = 300 };
struct names {
	uint32_t seen[ENTRIES], folders, others, pages;
};

static int names_see(struct request *req, const char *name, uint64_t size)
{
	struct names *names = req->user;
	uint32_t number;

	if (sscanf(name, "o%u", &number) == 1 && number < ENTRIES && size == number % 7)
		names->seen[number]++;
	else if (strcmp(name, "folder/") == 0)
		names->folders++;
	else
		names->others++;
	return 0;
}

static void list_part(struct queue *q, uint32_t part, uint32_t parts, struct names *names)
{
	struct object o = {.key = "many/"};
	struct listing listing = {.entry = names_see, .part = part, .parts = parts};
	struct request req = {
		.op = REQ_LIST, .object = &o, .length = 50, .listing = &listing, .user = names};

	do {
		CU_ASSERT_EQUAL_FATAL(queue_do(q, &req), 0);
		CU_ASSERT(req.answer.done_bytes <= 50);
		names->pages++;
	} while (listing.more);
}

static void list_with(const char *fault)
{
	struct names names = {.pages = 0};
	char key[32], data[8] = "";
	uint32_t once = 0;
	struct container c;

	container_begin(&c);
	setenv("HAUL_DFS_FAIL", fault, 1);
	container_open(&c, STORE(""));
	for (uint32_t i = 0; i < ENTRIES; i++) {
		snprintf(key, sizeof(key), "many/o%u", i);
		CU_ASSERT_EQUAL(rig_put(&c.q, key, data, i % 7), 0);
	}
	list_part(&c.q, 0, 1, &names);
	for (uint32_t n = 0; n < ENTRIES; n++)
		once += names.seen[n] == 1;
	CU_ASSERT_EQUAL(once, ENTRIES);
	container_close(&c);
	container_end(&c);
}

/* Each entry comes once, although pages fail, once the library has gone on, and before. */
static void test_listing_again(void)
{
	list_with("stat:211:11");
	list_with("list:3:11");
}

/* Parts: fewer than the anchors of the library, as many, and more. */
static void test_listing(void)
{
	static const uint32_t parts[] = {0, 1, 2, 3, 4, 9};
	struct object o = {.key = "nothing/"};
	struct listing listing = {.entry = names_see};
	struct request req = {.op = REQ_LIST, .object = &o, .listing = &listing};
	char key[32], data[8] = "";
	struct container c;

	container_begin(&c);
	container_open(&c, STORE(""));
	for (uint32_t i = 0; i < ENTRIES; i++) {
		snprintf(key, sizeof(key), "many/o%u", i);
		CU_ASSERT_EQUAL(rig_put(&c.q, key, data, i % 7), 0);
	}
	CU_ASSERT_EQUAL(rig_put(&c.q, "many/folder/x", data, 1), 0);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct names names = {.pages = 0};
		uint32_t once = 0;

		for (uint32_t part = 0; part < parts[i] || part == 0; part++)
			list_part(&c.q, part, parts[i], &names);
		for (uint32_t n = 0; n < ENTRIES; n++)
			once += names.seen[n] == 1;
		CU_ASSERT_EQUAL(once, ENTRIES);
		CU_ASSERT_EQUAL(names.folders, 1);
		CU_ASSERT_EQUAL(names.others, 0);
		CU_ASSERT(names.pages >= ENTRIES / 50);
	}
	CU_ASSERT_EQUAL(queue_do(&c.q, &req), -ENOENT);
	container_close(&c);
	container_end(&c);
}

static int share(struct group *g, void *argument)
{
	char key[32], data[100], back[100];
	struct queue q;
	struct rig r;

	(void)argument;
	rig_init(&r);
	r.all = r.node = g;
	r.place.rank = r.place.local_rank = g->rank;
	r.place.ranks = r.place.local_ranks = g->size;
	if (rig_open(&r, STORE("")) < 0 || queue_open(&q, &r.store, 4, NULL) < 0)
		return -__LINE__;
	snprintf(key, sizeof(key), "of/rank%u", g->rank);
	memset(data, (int)g->rank + 1, sizeof(data));
	if (rig_put(&q, key, data, sizeof(data)) < 0)
		return -__LINE__;
	group_barrier(g);
	snprintf(key, sizeof(key), "of/rank%u", (g->rank + 1) % g->size);
	memset(data, (int)((g->rank + 1) % g->size) + 1, sizeof(data));
	if (rig_get(&q, key, back, sizeof(back)) < 0 || memcmp(data, back, sizeof(data)) != 0)
		return -__LINE__;
	queue_close(&q);
	rig_close(&r);
	return 0;
}

static void test_one_connection_for_all_ranks(void)
{
	static const uint32_t ranks[] = {1, 2, 8};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		struct err err = {0};
		struct container c;

		container_begin(&c);
		CU_ASSERT_EQUAL(thread_group_run(ranks[i], share, NULL, &err), 0);
		CU_ASSERT_EQUAL(container_lines(&c, "connect pool/cont"), 1);
		CU_ASSERT_EQUAL(container_lines(&c, "global pool/cont"), (int)ranks[i] - 1);
		CU_ASSERT_EQUAL(container_lines(&c, "queue"), (int)ranks[i]);
		container_end(&c);
	}
}

/* All ranks fail, and with the same sentence, whoever it was that could not connect. */
static int refuse(struct group *g, void *argument)
{
	struct rig r;
	int rc;

	rig_init(&r);
	r.all = r.node = g;
	rc = rig_open(&r, STORE(""));
	rig_close(&r);
	if (rc == 0 || !strstr(r.err.text, argument))
		return -__LINE__;
	return 0;
}

static void test_ranks_fail_together(void)
{
	static const struct {
		const char *fails, *says;
	} cases[] = {
		{"connect:1:111", "connecting to the container"},
		{"connect:1:2", "the pool \"pool\" has no container \"cont\""},
		{"global:3:113",
		 "taking over the connection of rank 0: a server of DAOS cannot be"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		struct container c;

		container_begin(&c);
		setenv("HAUL_DFS_FAIL", cases[i].fails, 1);
		CU_ASSERT_EQUAL(thread_group_run(4, refuse, (void *)cases[i].says, &err), 0);
		container_end(&c);
	}
}

static void test_hints(void)
{
	struct store_facts facts;
	struct container c;
	char data[10] = "";

	container_begin(&c);
	container_open(&c, STORE(", \"object_class\": \"EC_16P2GX\", \"folder_class\": \"S1\", "
				 "\"chunk_size\": \"2 MiB\""));
	CU_ASSERT_EQUAL(rig_put(&c.q, "folder/x", data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(container_lines(&c, "create x.haul-* 300ffff 2097152"), 1);
	CU_ASSERT_EQUAL(container_lines(&c, "mkdir folder 1000001"), 1);
	store_describe(&c.rig.store, &c.rig.described, &facts);
	CU_ASSERT_STRING_EQUAL(facts.engine, "libdfs, API 2.8.0");
	CU_ASSERT_STRING_EQUAL(
		facts.layout,
		"4 engines with 64 targets; new files: class EC_16P2GX, 2 parities for 16 parts, "
		"chunks of 2 MiB");
	CU_ASSERT_STRING_EQUAL(facts.degraded, "3 of 64 targets are out of service");
	container_close(&c);
	/* What was not asked for, and a pool that does not tell. */
	setenv("HAUL_DFS_FAIL", "query:1:-1006", 1);
	container_open(&c, STORE(""));
	store_describe(&c.rig.store, &c.rig.described, &facts);
	CU_ASSERT_STRING_EQUAL(facts.layout, "new files: class SX, no redundancy, chunks of 1 MiB");
	container_close(&c);
	container_end(&c);
}

static void test_refusals(void)
{
	static const struct {
		const char *json, *says;
	} cases[] = {
		{"{\"uri\": \"daos://pool\", \"library\": \"" TEST_DFS "\"}", "names no container"},
		{"{\"uri\": \"daos:///pool/cont\"}", "names no container"},
		{"{\"uri\": \"daos://pool/cont\", \"library\": \"/nowhere/libdfs.so\"}",
		 "module load daos"},
		{"{\"uri\": \"daos://pool/other\", \"library\": \"" TEST_DFS "\"}",
		 "the pool \"pool\" has no container \"other\" (daos container list pool)"},
		{"{\"uri\": \"daos://nopool/cont\", \"library\": \"" TEST_DFS "\"}",
		 "there is no pool \"nopool\" (daos pool list)"},
		{STORE(", \"object_class\": \"SZ\""),
		 "object_class: DAOS knows no object class \"SZ\""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct container c;

		container_begin(&c);
		rig_init(&c.rig);
		CU_ASSERT_NOT_EQUAL(rig_open(&c.rig, cases[i].json), 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(c.rig.err.text, cases[i].says));
		rig_close(&c.rig);
		container_end(&c);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"objects", test_objects},
		{"reads", test_reads},
		{"failures", test_failures},
		{"listing", test_listing},
		{"listing again", test_listing_again},
		{"one connection for all ranks", test_one_connection_for_all_ranks},
		{"ranks fail together", test_ranks_fail_together},
		{"hints", test_hints},
		{"refusals", test_refusals},
		CU_TEST_INFO_NULL,
	};

	return unit_main("dfs_store", tests);
}
