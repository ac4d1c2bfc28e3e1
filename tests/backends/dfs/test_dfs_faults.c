/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of daos:// over the test library, where the agent, the servers, rights or the container are
 * not as they should be: what is said, and that nothing crashes or waits for ever. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "tests/backends/dfs/container.h"
#include "tests/unit.h"

/* Opens a store and a queue; NULL, or the sentence why not. */
static const char *faults_open(struct container *c, const char *json, struct store_process *process,
			       const struct stop *stop, bool constant)
{
	static struct clock clock;

	rig_init(&c->rig);
	clock_init(&clock);
	c->rig.clock = &clock;
	c->rig.process = process;
	c->rig.stop = stop;
	c->rig.constant = constant;
	if (rig_open(&c->rig, json) < 0) {
		rig_close(&c->rig);
		return c->rig.err.text;
	}
	CU_ASSERT_EQUAL_FATAL(queue_open(&c->q, &c->rig.store, DEPTH, &c->rig.err), 0);
	return NULL;
}

/* The agent ends while a store is open: the next store of the process says so, or works when it is
 * back. */
static void test_agent_ends_between_stores(void)
{
	struct store_process process = {0};
	char data[8] = "";
	struct container c;

	container_begin(&c);
	container_point(&c, "HAUL_DFS_AGENT", "agent");
	CU_ASSERT_PTR_NOT_NULL(
		strstr(faults_open(&c, STORE(""), &process, NULL, false), "is daos_agent running"));
	CU_ASSERT_PTR_NOT_NULL(strstr(c.rig.err.text, "daos_agent.sock"));
	container_mark(&c, "agent", true);
	for (int n = 0; n < 3; n++) {
		CU_ASSERT_PTR_NULL(faults_open(&c, STORE(""), &process, NULL, false));
		CU_ASSERT_EQUAL(rig_put(&c.q, "o", data, sizeof(data)), 0);
		container_mark(&c, "agent", false);
		container_close(&c);
	}
	CU_ASSERT_EQUAL(container_lines(&c, "init"), 1);
	CU_ASSERT_EQUAL(container_lines(&c, "fini"), 0);
	/* Else the other tests would find a library that cannot be used any more. */
	container_mark(&c, "agent", true);
	backends_process_end(&process);
	CU_ASSERT_EQUAL(container_lines(&c, "fini"), 1);
	container_end(&c);
}

/* What each of them is, in words that say where to look. */
static void test_who_is_to_blame(void)
{
	static const struct {
		const char *name, *value, *says;
	} cases[] = {
		{"FAIL", "init:1:5", "is daos_agent running"},
		{"FAIL", "init:1:-2034", "is daos_agent running"},
		{"FAIL", "init:1:22", "compare the name in daos_agent.yml"},
		{"FAIL", "init:1:113", "access points in daos_agent.yml"},
		{"FAIL", "connect:1:5", "is daos_agent running"},
		{"FAIL", "connect:1:113", "dmg system query"},
		{"FAIL", "connect:1:2,pool:1:-1005", "there is no pool \"pool\" (daos pool list)"},
		{"FAIL", "connect:1:2",
		 "the pool \"pool\" has no container \"cont\" (daos container list pool)"},
		{"FAIL", "connect:1:2,pool:1:-2034", "or it has no container"},
		{"FAIL", "connect:1:1", "daos container get-acl"},
		{"FAIL", "connect:1:13", "daos container get-acl"},
		{"TYPE", "PYTHON", "--type=POSIX"},
		{"READ_ONLY", "1", "daos pool get-acl"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[32];
		struct container c;
		const char *said;

		container_begin(&c);
		snprintf(name, sizeof(name), "HAUL_DFS_%s", cases[i].name);
		setenv(name, cases[i].value, 1);
		said = faults_open(&c, STORE(""), NULL, NULL, false);
		CU_ASSERT_PTR_NOT_NULL_FATAL(said);
		CU_ASSERT_PTR_NOT_NULL(strstr(said, cases[i].says));
		container_end(&c);
	}
}

static void test_read_only_users(void)
{
	char data[8] = "", back[8];
	struct object folder = {.key = "a/"};
	struct container c;

	container_begin(&c);
	CU_ASSERT_PTR_NULL(faults_open(&c, STORE(""), NULL, NULL, false));
	CU_ASSERT_EQUAL(rig_put(&c.q, "a/o", data, sizeof(data)), 0);
	container_close(&c);
	setenv("HAUL_DFS_READ_ONLY", "1", 1);
	CU_ASSERT_PTR_NULL(faults_open(&c, STORE(""), NULL, NULL, true));
	CU_ASSERT_EQUAL(rig_get(&c.q, "a/o", back, sizeof(back)), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &folder, REQ_STAT, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_put(&c.q, "a/p", data, sizeof(data)), -EPERM);
	container_close(&c);
	CU_ASSERT_EQUAL(container_lines(&c, "connect pool/cont r"), 2);
	CU_ASSERT_EQUAL(container_lines(&c, "connect pool/cont rw"), 1);
	container_end(&c);
}

static void test_class_that_the_pool_cannot_carry(void)
{
	struct object o = {.key = "o"};
	struct request req = {.op = REQ_BEGIN, .object = &o, .length = 1};
	struct container c;

	container_begin(&c);
	setenv("HAUL_DFS_TARGETS", "8", 1);
	CU_ASSERT_PTR_NULL(
		faults_open(&c, STORE(", \"object_class\": \"EC_16P2GX\""), NULL, NULL, false));
	CU_ASSERT_EQUAL(queue_do(&c.q, &req), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(request_text(&req), "EC_16P2GX, which needs 18 targets"));
	container_close(&c);
	container_end(&c);
}

static void test_facts_of_an_old_version(void)
{
	struct store_facts facts;
	struct store_space space;
	struct container c;

	container_begin(&c);
	setenv("HAUL_DFS_OLD", "1", 1);
	setenv("HAUL_DFS_SPACE", "3000001", 1);
	CU_ASSERT_PTR_NULL(faults_open(&c, STORE(""), NULL, NULL, true));
	store_describe(&c.rig.store, &c.rig.described, &facts);
	CU_ASSERT_PTR_NOT_NULL(strstr(facts.layout, "new files: class SX, no redundancy"));
	CU_ASSERT_EQUAL(store_space(&c.rig.store, &space), 0);
	CU_ASSERT_EQUAL(space.free_bytes, 3000001);
	CU_ASSERT_FALSE(space.node);
	container_close(&c);
	container_end(&c);
}

/* Handles that DAOS no longer knows. */
static void test_handles_go_bad(void)
{
	struct object o = {.key = "o"};
	char data[8] = "";
	struct request req = {.op = REQ_READ, .object = &o, .length = 8, .data = data};
	struct container c;

	container_begin(&c);
	container_point(&c, "HAUL_DFS_STALE", "stale");
	CU_ASSERT_PTR_NULL(faults_open(&c, STORE(""), NULL, NULL, false));
	CU_ASSERT_EQUAL(rig_put(&c.q, "o", data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	container_mark(&c, "stale", true);
	CU_ASSERT_EQUAL(queue_do(&c.q, &req), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(request_text(&req), "daos_agent of this node was stopped"));
	container_mark(&c, "stale", false);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	container_close(&c);
	container_end(&c);
}

/* A time-out of DAOS that comes later than the store's own is an error; before that, it is tried
 * again. */
static void test_timeout_of_the_store(void)
{
	static const struct {
		const char *json;
		uint32_t attempts;
	} cases[] = {
		{STORE(", \"retry\": {\"attempts\": 4, \"first\": \"1 ns\"}"), 4},
		{STORE(", \"retry\": {\"attempts\": 4, \"first\": \"1 ns\"}, \"timeout\": \"1 ms\""),
		 1},
		{STORE(", \"retry\": {\"attempts\": 4, \"first\": \"1 ns\"}, \"timeout\": \"1 h\""),
		 4},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct object o = {.key = "o"};
		struct request req = {.op = REQ_STAT, .object = &o};
		struct container c;

		container_begin(&c);
		setenv("HAUL_DFS_FAIL", "lookup:1:-1011", 1);
		setenv("HAUL_DFS_OPEN_US", "2000", 1);
		CU_ASSERT_PTR_NULL(faults_open(&c, cases[i].json, NULL, NULL, false));
		CU_ASSERT_EQUAL(queue_do(&c.q, &req), -ETIMEDOUT);
		CU_ASSERT_EQUAL(req.answer.attempts, cases[i].attempts);
		container_close(&c);
		container_end(&c);
	}
}

/* Reads, an open and a listing are under way when servers fall silent for ever. A stop gives all of
 * them back, and nothing waits for the library: not the requests, the queue, or the store. */
static void servers_fall_silent(void)
{
	enum { READS = 20 };
	struct object o = {.key = "o"}, other = {.key = "p"}, folder = {.key = ""};
	struct listing listing = {.entry = NULL};
	struct request reqs[READS + 2], *all[READS + 2], *done[READS + 2];
	struct store_process process = {0};
	struct stop stop = {0};
	char data[64] = "";
	struct container c;
	uint32_t n = 0;

	container_begin(&c);
	container_point(&c, "HAUL_DFS_HANG", "hang");
	CU_ASSERT_PTR_NULL(faults_open(&c, STORE(", \"openers\": 2"), &process, &stop, false));
	CU_ASSERT_EQUAL(rig_put(&c.q, "o", data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	container_mark(&c, "hang", true);
	for (int i = 0; i < READS; i++)
		reqs[i] = (struct request){
			.op = REQ_READ, .object = &o, .length = sizeof(data), .data = data};
	reqs[READS] = (struct request){.op = REQ_OPEN, .object = &other};
	reqs[READS + 1] = (struct request){.op = REQ_LIST, .object = &folder, .listing = &listing};
	for (int i = 0; i < READS + 2; i++)
		all[i] = &reqs[i];
	CU_ASSERT_EQUAL(queue_submit(&c.q, all, READS + 2), 0);
	CU_ASSERT_EQUAL(queue_reap(&c.q, done, 1, READS, clock_now(c.rig.clock) + 50000000), 0);
	stop_ask(&stop, STOP_SIGNAL);
	while (n < READS + 2)
		n += queue_reap(&c.q, done + n, READS + 2 - n, READS + 2 - n, UINT64_MAX);
	for (uint32_t i = 0; i < READS + 2; i++) {
		CU_ASSERT_EQUAL(reqs[i].answer.status, -ECANCELED);
		CU_ASSERT_PTR_NOT_NULL(strstr(request_text(&reqs[i]), "given up"));
	}
	/* Later ones are not begun. */
	CU_ASSERT_EQUAL(rig_do(&c.q, &other, REQ_STAT, 0, 0, NULL, NULL), -ECANCELED);
	container_close(&c);
	backends_process_end(&process);
	/* What was left behind ends when servers are back; it stays open, which the library calls
	 * wrong. */
	container_mark(&c, "hang", false);
	usleep(50000);
	unlink(c.log);
	container_end(&c);
}

/* A queue that cannot be polled any more is ended, and its end waits for servers, even by force:
 * its requests fail nevertheless, and nobody waits. */
static void the_end_of_a_queue_blocks(void)
{
	enum { READS = 3 };
	struct object o = {.key = "o"};
	struct request reqs[READS], *all[READS], *done[READS];
	struct store_process process = {0};
	char data[64] = "";
	struct container c;
	uint32_t n = 0;

	container_begin(&c);
	container_point(&c, "HAUL_DFS_HANG", "hang");
	/* The first two polls are of the write and of the first look. */
	setenv("HAUL_DFS_FAIL", "poll:3:-1020", 1);
	CU_ASSERT_PTR_NULL(
		faults_open(&c, STORE(", \"retry\": {\"attempts\": 1}"), &process, NULL, false));
	CU_ASSERT_EQUAL(rig_put(&c.q, "o", data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	container_mark(&c, "hang", true);
	for (int i = 0; i < READS; i++) {
		reqs[i] = (struct request){
			.op = REQ_READ, .object = &o, .length = sizeof(data), .data = data};
		all[i] = &reqs[i];
	}
	CU_ASSERT_EQUAL(queue_submit(&c.q, all, READS), 0);
	while (n < READS)
		n += queue_reap(&c.q, done + n, READS - n, READS - n, UINT64_MAX);
	for (uint32_t i = 0; i < READS; i++)
		CU_ASSERT_EQUAL(reqs[i].answer.status, -EHOSTUNREACH);
	container_close(&c);
	container_mark(&c, "hang", false);
	usleep(50000);
	backends_process_end(&process);
	unlink(c.log);
	container_end(&c);
}

/* In a process of its own, with which ends what is left behind. */
static void apart(void (*test)(void))
{
	pid_t child = fork();
	int status = -1;

	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		test();
		fflush(NULL);
		_exit((int)CU_get_number_of_failures());
	}
	waitpid(child, &status, 0);
	CU_ASSERT_EQUAL(status, 0);
}

static void test_servers_fall_silent(void)
{
	apart(servers_fall_silent);
}

static void test_the_end_of_a_queue_blocks(void)
{
	apart(the_end_of_a_queue_blocks);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"agent ends between stores", test_agent_ends_between_stores},
		{"who is to blame", test_who_is_to_blame},
		{"read-only users", test_read_only_users},
		{"class that the pool cannot carry", test_class_that_the_pool_cannot_carry},
		{"facts of an old version", test_facts_of_an_old_version},
		{"handles go bad", test_handles_go_bad},
		{"timeout of the store", test_timeout_of_the_store},
		{"servers fall silent", test_servers_fall_silent},
		{"the end of a queue blocks", test_the_end_of_a_queue_blocks},
		CU_TEST_INFO_NULL,
	};

	return unit_main("dfs_faults", tests);
}
