/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of calls of DAOS that may never return: how long somebody waits for one, and who ends it
 * when nobody does. */
#include "backends/dfs/aside.h"

#include <semaphore.h>

#include "core/clock.h"
#include "tests/unit.h"

#define SECOND_NS UINT64_C(1000000000)

/* Each row is one look. A wait that has lasted for so long, at most so long, and that was asked to
 * stop so long ago (0: now, at this look). */
static void test_patience(void)
{
	static const struct {
		uint64_t limit_ns, waited_ns;
		bool stop;
		uint64_t stopped_ns;
		bool ends;
		int error;
	} rows[] = {
		{0, 0, false, 0, false, -ETIMEDOUT},
		{0, 3600 * SECOND_NS, false, 0, false, -ETIMEDOUT},
		{60 * SECOND_NS, 0, false, 0, false, -ETIMEDOUT},
		{60 * SECOND_NS, 30 * SECOND_NS, false, 0, false, -ETIMEDOUT},
		{60 * SECOND_NS, 60 * SECOND_NS, false, 0, true, -ETIMEDOUT},
		/* A stop lets calls end for three seconds, however long they took before. */
		{0, 0, true, 0, false, -ECANCELED},
		{0, 3600 * SECOND_NS, true, 0, false, -ECANCELED},
		{0, 3600 * SECOND_NS, true, SECOND_NS, false, -ECANCELED},
		{0, 3600 * SECOND_NS, true, 3 * SECOND_NS, true, -ECANCELED},
		{60 * SECOND_NS, 3600 * SECOND_NS, true, SECOND_NS, true, -ECANCELED},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t now_ns = clock_kernel_ns();
		struct stop stop = {0};
		struct dfs_patience p = {.stop = &stop,
					 .limit_ns = rows[i].limit_ns,
					 .began_ns = now_ns - rows[i].waited_ns};

		if (rows[i].stop)
			stop_ask(&stop, STOP_SIGNAL);
		if (rows[i].stopped_ns)
			p.stopped_ns = now_ns - rows[i].stopped_ns;
		CU_ASSERT_EQUAL(dfs_patience_ends(&p), rows[i].ends);
		CU_ASSERT_EQUAL(dfs_patience_error(&p), rows[i].error);
	}
}

struct call {
	sem_t go, done;
	bool dropped;
};

static void call_work(void *argument)
{
	struct call *c = argument;

	while (sem_wait(&c->go) < 0)
		;
}

static void call_drop(void *argument)
{
	struct call *c = argument;

	c->dropped = true;
	sem_post(&c->done);
}

static void call_init(struct call *c, unsigned go)
{
	sem_init(&c->go, 0, go);
	sem_init(&c->done, 0, 0);
	c->dropped = false;
}

/* A call that returns is whoever asked's, also after a stop. */
static void test_returns(void)
{
	struct stop stop = {0};
	struct dfs_patience p = {.stop = &stop};
	struct call c;

	call_init(&c, 2);
	CU_ASSERT_TRUE(dfs_aside_do(&p, call_work, call_drop, &c));
	stop_ask(&stop, STOP_SIGNAL);
	CU_ASSERT_TRUE(dfs_aside_do(&p, call_work, call_drop, &c));
	CU_ASSERT_FALSE(c.dropped);
}

/* A call that does not return is left, and its thread drops it when it does. */
static void test_is_left(void)
{
	struct dfs_patience p = {.limit_ns = 1};
	struct call c;

	call_init(&c, 0);
	CU_ASSERT_FALSE(dfs_aside_do(&p, call_work, call_drop, &c));
	sem_post(&c.go);
	while (sem_wait(&c.done) < 0)
		;
	CU_ASSERT_TRUE(c.dropped);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"patience", test_patience},
		{"a call that returns", test_returns},
		{"a call that is left", test_is_left},
		CU_TEST_INFO_NULL,
	};

	return unit_main("dfs_aside", tests);
}
