/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the stall watch, on a clock of their own: who stands still, who says that it waits, and
 * who only seems to do so because the watcher was away. */
#include "ranks/mpi/stall_watch.h"
#include "tests/unit.h"

#define SECOND_NS UINT64_C(1000000000)
enum { LIMIT_S = 8, START_S = 1000 };

struct case_watch {
	struct stall_watch watch;
	struct stall_seat seat;
	uint64_t beat, now_ns, elapsed_ns;
	bool waits, alive;
	uint32_t named;
	enum stall_kind last;
};

static void begin(struct case_watch *c)
{
	*c = (struct case_watch){.now_ns = START_S * SECOND_NS, .alive = true};
	stall_watch_init(&c->watch, LIMIT_S * SECOND_NS);
}

/* The watcher looks ten times a second for so long; the rank beats, and may wait. */
static void go_on(struct case_watch *c, double seconds)
{
	uint64_t until_ns = c->now_ns + (uint64_t)(seconds * 1e9), from_ns = c->now_ns;

	for (; c->now_ns < until_ns; c->now_ns += SECOND_NS / 10) {
		enum stall_kind kind;

		c->beat += c->alive;
		if (!stall_watch_due(&c->watch, c->now_ns))
			continue;
		kind = stall_watch_look(&c->watch, &c->seat, c->beat,
					c->waits ? c->now_ns - from_ns : 0, c->now_ns,
					&c->elapsed_ns);
		if (kind == STALL_NONE)
			continue;
		c->named++;
		c->last = kind;
	}
}

static void test_alive(void)
{
	struct case_watch c;

	begin(&c);
	go_on(&c, 100);
	CU_ASSERT_EQUAL(c.named, 0);
}

/* Named after the limit, and each time that it has lasted twice as long. */
static void test_stopped(void)
{
	struct case_watch c;

	begin(&c);
	go_on(&c, 20);
	c.alive = false;
	go_on(&c, LIMIT_S - 0.5);
	CU_ASSERT_EQUAL(c.named, 0);
	go_on(&c, 2);
	CU_ASSERT_EQUAL(c.named, 1);
	CU_ASSERT_EQUAL(c.last, STALL_SILENT);
	go_on(&c, 5);
	CU_ASSERT_EQUAL(c.named, 1);
	go_on(&c, 5);
	CU_ASSERT_EQUAL(c.named, 2);
	CU_ASSERT(c.elapsed_ns >= 2 * LIMIT_S * SECOND_NS);
	c.alive = true;
	go_on(&c, 50);
	CU_ASSERT_EQUAL(c.named, 2);
	c.alive = false;
	go_on(&c, LIMIT_S + 2);
	CU_ASSERT_EQUAL(c.named, 3);
}

static void test_waits(void)
{
	struct case_watch c;

	begin(&c);
	c.waits = true;
	go_on(&c, LIMIT_S - 0.5);
	CU_ASSERT_EQUAL(c.named, 0);
	begin(&c);
	c.waits = true;
	go_on(&c, LIMIT_S + 2);
	CU_ASSERT_EQUAL(c.named, 1);
	CU_ASSERT_EQUAL(c.last, STALL_WAITS);
	c.waits = false;
	go_on(&c, 10);
	c.waits = true;
	go_on(&c, LIMIT_S + 2);
	CU_ASSERT_EQUAL(c.named, 2);
}

/* A rank that was stopped while it waited no longer speaks for itself. */
static void test_stopped_while_it_waits(void)
{
	struct case_watch c;

	begin(&c);
	c.waits = true;
	c.alive = false;
	go_on(&c, LIMIT_S + 2);
	CU_ASSERT_EQUAL(c.last, STALL_SILENT);
}

/* The watcher was stopped, or between two phases: what it has not seen it does not blame on
 * others. */
static void test_watcher_was_away(void)
{
	struct case_watch c;

	begin(&c);
	go_on(&c, 10);
	c.alive = false;
	c.now_ns += 100 * SECOND_NS;
	go_on(&c, LIMIT_S - 1);
	CU_ASSERT_EQUAL(c.named, 0);
	go_on(&c, 2);
	CU_ASSERT_EQUAL(c.named, 1);
}

static void test_no_limit(void)
{
	struct case_watch c;

	begin(&c);
	stall_watch_init(&c.watch, 0);
	c.alive = false;
	c.waits = true;
	go_on(&c, 100);
	CU_ASSERT_EQUAL(c.named, 0);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"alive", test_alive},
		{"stopped", test_stopped},
		{"waits", test_waits},
		{"stopped while it waits", test_stopped_while_it_waits},
		{"the watcher was away", test_watcher_was_away},
		{"no limit", test_no_limit},
		CU_TEST_INFO_NULL,
	};

	return unit_main("stall_watch", tests);
}
