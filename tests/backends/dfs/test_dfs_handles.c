/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the files that daos:// keeps open, and of its client profiles, over the test library. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/backends/dfs/container.h"
#include "tests/unit.h"

/* Reads the object by an open, a read and a close of its own. */
static int read_once(struct queue *q, const char *key, char byte)
{
	struct object o = {.key = ""};
	char data[64];
	int rc;

	snprintf(o.key, sizeof(o.key), "%s", key);
	rc = rig_do(q, &o, REQ_OPEN, 0, 0, NULL, NULL);
	if (rc == 0)
		rc = rig_do(q, &o, REQ_READ, 0, sizeof(data), data, NULL);
	if (rc == 0)
		rc = rig_do(q, &o, REQ_CLOSE, 0, 0, NULL, NULL);
	return rc ? rc : o.size == sizeof(data) && data[0] == byte && data[63] == byte ? 0 : -EIO;
}

/* What one caller believes of the size is not told to another. */
static void check_sizes(struct queue *q)
{
	static const uint64_t believed[] = {99, 0, 7, 0}, is[] = {99, 64, 7, 64};

	for (int i = 0; i < 4; i++) {
		struct object o = {.key = "f/c", .size = believed[i]};

		CU_ASSERT_EQUAL(rig_do(q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
		CU_ASSERT_EQUAL(o.size, is[i]);
		CU_ASSERT_EQUAL(rig_do(q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	}
}

static void put_letters(struct container *c)
{
	char key[] = "f/a", data[64];

	for (; key[2] < 'i'; key[2]++) {
		memset(data, key[2], sizeof(data));
		CU_ASSERT_EQUAL(rig_put(&c->q, key, data, sizeof(data)), 0);
	}
}

/* Files that are read again are not opened again, where nobody changes them. */
static void test_handles(void)
{
	static const struct {
		const char *options;
		bool constant;
		int opened;
	} cases[] = {
		{"", true, 2},
		{"", false, 6},
		{", \"handles\": 0", true, 6},
		{", \"client\": \"pydaos\"", true, 6},
		{", \"client\": \"pydaos\", \"handles\": 10", true, 2},
	};
	char data[64], json[256];
	struct container c;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		container_begin(&c);
		container_open(&c, STORE(""));
		put_letters(&c);
		container_close(&c);
		snprintf(json, sizeof(json), STORE("%s"), cases[i].options);
		rig_init(&c.rig);
		c.rig.constant = cases[i].constant;
		CU_ASSERT_EQUAL_FATAL(rig_open(&c.rig, json), 0);
		CU_ASSERT_EQUAL_FATAL(queue_open(&c.q, &c.rig.store, DEPTH, NULL), 0);
		for (int n = 0; n < 3; n++) {
			CU_ASSERT_EQUAL(read_once(&c.q, "f/a", 'a'), 0);
			CU_ASSERT_EQUAL(read_once(&c.q, "f/b", 'b'), 0);
		}
		CU_ASSERT_EQUAL(container_lines(&c, "open "), cases[i].opened);
		CU_ASSERT_EQUAL(read_once(&c.q, "f/z", 'z'), -ENOENT);
		check_sizes(&c.q);
		/* Who only reads is connected for reading. */
		memset(data, 'B', sizeof(data));
		CU_ASSERT_EQUAL(rig_put(&c.q, "f/b", data, sizeof(data)),
				cases[i].constant ? -EPERM : 0);
		CU_ASSERT_EQUAL(read_once(&c.q, "f/b", cases[i].constant ? 'b' : 'B'), 0);
		container_close(&c);
		container_end(&c);
	}
}

static void *read_letters(void *argument)
{
	struct store *store = argument;
	intptr_t failed = 0;
	char key[] = "f/a";
	struct queue q;

	if (queue_open(&q, store, 4, NULL) < 0)
		return (void *)1;
	for (uint64_t i = 0; i < 400; i++) {
		key[2] = (char)('a' + mix64(i) % 8);
		failed += read_once(&q, key, key[2]) != 0;
	}
	queue_close(&q);
	return (void *)failed;
}

/* Threads of a rank share what is kept open, which has fewer places than there are files. */
static void test_handles_of_threads(void)
{
	pthread_t threads[4];
	struct container c;
	void *failed;

	container_begin(&c);
	container_open(&c, STORE(""));
	put_letters(&c);
	container_close(&c);
	rig_init(&c.rig);
	c.rig.constant = true;
	CU_ASSERT_EQUAL_FATAL(rig_open(&c.rig, STORE(", \"handles\": 5")), 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, read_letters, &c.rig.store);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		CU_ASSERT_PTR_NULL(failed);
	}
	rig_close(&c.rig);
	container_end(&c);
}

/* What pydaos does by default, and options that say otherwise. */
static void test_clients(void)
{
	static const struct {
		const char *options, *client;
		uint64_t transfer, part;
		uint32_t in_flight;
	} cases[] = {
		{"", "dfs", 4 << 20, 4 << 20, 1},
		{", \"transfer\": \"1 MiB\", \"part\": \"2 MiB\"", "dfs", 1 << 20, 2 << 20, 1},
		{", \"client\": \"pydaos\"", "pydaos", 1ull << 40, 64 << 20, 4},
		{", \"client\": \"pydaos\", \"part\": \"8 MiB\", \"in_flight\": 2", "pydaos",
		 1ull << 40, 8 << 20, 2},
	};
	struct store_facts facts;
	char json[256];
	struct container c;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		container_begin(&c);
		snprintf(json, sizeof(json), STORE("%s"), cases[i].options);
		container_open(&c, json);
		store_describe(&c.rig.store, &c.rig.described, &facts);
		CU_ASSERT_STRING_EQUAL(facts.client, cases[i].client);
		CU_ASSERT_EQUAL(store_transfer(&c.rig.store), cases[i].transfer);
		CU_ASSERT_EQUAL(store_part(&c.rig.store, 1 << 30), cases[i].part);
		CU_ASSERT_EQUAL(backend_in_flight(&c.rig.described), cases[i].in_flight);
		container_close(&c);
		container_end(&c);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"handles", test_handles},
		{"handles of threads", test_handles_of_threads},
		{"clients", test_clients},
		CU_TEST_INFO_NULL,
	};

	return unit_main("dfs_handles", tests);
}
