/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of snapshots: what threads have counted is published while they work, by all ranks at the
 * same time, whether a thread is busy, waits for a file or has ended; and each snapshot agrees with
 * itself. */
#include "tests/libs/doubles/fake_clock.h"
#include "workloads/common/snapshot.h"

#include <string.h>

#include "tests/backends/rig.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"
#include "workloads/common/crew.h"

enum { MEASURE_READS = TALLY_COMMON, MEASURE_BODIES, MEASURES };
enum { HIST_READ, HISTS };
enum { READ_BYTES = 4096, WANTED = 8, RANKS_MAX = 3 };

static const struct measure measures[] = {TALLY_COMMON_LIST(MEASURE_ROW) MEASURE_ROW(
	MEASURE_READS, "reads", "", SUM, "") MEASURE_ROW(MEASURE_BODIES, "bodies", "", SUM, "")};
static const struct hist_kind hists[HISTS] = {{.name = "read"}};
static const struct tally_schema schema = {
	.rank = {.measures = measures, .measure_count = MEASURES},
	.hists = hists,
	.hist_count = HISTS};
static const struct meter_map maps[] = {
	{REQ_READ, MEASURE_READS, HIST_READ, METER_NONE, METER_NONE}};
static const struct meter_layout layout = {METER_MAPS(schema, maps), .live_op = REQ_READ};

/* What all ranks share. */
struct snapshot_case {
	uint64_t files;
	uint32_t threads;
	bool once;
	struct rig *rig;
	_Atomic uint32_t published; /* by rank 0 */
};

/* One rank. */
struct snapshot_rank {
	struct snapshot_case *of;
	struct group *group;
	struct tally tally;
	uint64_t before; /* reads in the last publication */
	uint32_t published;
	bool wrong;
};

static uint64_t rank_sum(const struct tally *t, unsigned measure, struct group *g)
{
	uint64_t word = t->rank_row[measure];

	group_allreduce(g, MERGE_SUM, &word, 1);
	return word;
}

/* Each read is in all counts or in none, but for the body's own, which follow it. */
static bool agrees(const struct tally *t, uint32_t threads)
{
	uint64_t reads = t->rank_row[MEASURE_READS], seconds = 0;

	for (uint32_t i = 0; i < t->timeline->rows; i++)
		seconds += t->timeline->row[i][SECOND_OPERATIONS];
	return t->rank_row[TALLY_OPERATIONS] == reads &&
	       hist_count(&t->hists[HIST_READ]) == reads &&
	       t->rank_row[TALLY_BYTES_READ] == reads * READ_BYTES && seconds == reads &&
	       t->rank_row[MEASURE_BODIES] <= reads &&
	       reads <= t->rank_row[MEASURE_BODIES] + threads;
}

static void publish(void *rank, struct tally *so_far)
{
	struct snapshot_rank *r = rank;
	uint64_t reads = rank_sum(so_far, MEASURE_READS, r->group);

	r->wrong = r->wrong || !agrees(so_far, r->of->threads) || reads < r->before;
	r->before = reads;
	r->published++;
	if (r->group->rank == 0)
		atomic_fetch_add(&r->of->published, 1);
}

static void complete(void *rank, struct tally *t)
{
	(void)rank;
	t->rank_row[TALLY_WALL_NS] = 1;
}

static const struct snapshot_hooks hooks = {.complete = complete};

static void count(const struct crew_thread *w, struct tally *t)
{
	t->rank_row[MEASURE_BODIES] += w->counts[0];
}

/* The first file goes on until enough was published; all others are over at once. */
static int read_file(struct crew_thread *w, uint64_t file)
{
	struct snapshot_case *c = w->crew->argument;
	struct object o = {.key = "file"};

	do {
		struct request req = {.op = REQ_READ, .object = &o, .length = READ_BYTES};

		if (crew_do(w, &req) < 0)
			return -1;
		w->counts[0]++;
	} while (file == 0 && atomic_load(&c->published) < WANTED);
	return 0;
}

static int body(struct group *g, void *argument)
{
	struct snapshot_case *c = argument;
	struct snapshot_rank r = {.of = c, .group = g};
	struct clock clock;
	struct phase_context ctx = {.clock = &clock,
				    .group = g,
				    .tally = &r.tally,
				    .publish_every_ns = 1,
				    .publish = publish,
				    .publish_argument = &r};
	struct snapshot snapshot;
	enum stop_reason stopped;
	struct crew crew = {.files = c->files,
			    .once = c->once,
			    .store = &c->rig->store,
			    .group = g,
			    .threads = c->threads,
			    .layout = &layout,
			    .kind = "test",
			    .count = count,
			    .snapshot = &snapshot,
			    .argument = c};
	bool whole;
	int rc;

	clock_init(&clock);
	tally_init(&r.tally, &schema, NULL, NULL);
	rc = snapshot_open(&snapshot, &ctx, hooks, &r, NULL);
	if (rc == 0)
		rc = crew_open(&crew, NULL);
	snapshot_start(&snapshot, clock_now(&clock));
	if (rc == 0)
		rc = crew_run(&crew, read_file, &stopped, NULL);
	crew_merge(&crew, &r.tally);
	whole = agrees(&r.tally, 0) && rank_sum(&r.tally, MEASURE_READS, g) >= r.before;
	crew_close(&crew);
	snapshot_close(&snapshot);
	tally_free(&r.tally);
	return rc == 0 && whole && !r.wrong && r.published >= WANTED ? 0 : -1;
}

static void run(uint32_t ranks, uint64_t files, uint32_t threads, bool once)
{
	static struct snapshot_case c;
	struct rig rig;

	memset(&c, 0, sizeof(c));
	c.files = files;
	c.threads = threads;
	c.once = once;
	c.rig = &rig;
	rig_init(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_open(&rig, "{\"uri\": \"null://\"}"), 0);
	CU_ASSERT_EQUAL(thread_group_run(ranks, body, &c, NULL), 0);
	rig_close(&rig);
}

/* More files than threads: most are done, and then their threads wait. */
static void test_busy_and_idle_threads(void)
{
	run(1, 1, 1, false);
	run(1, 50, 4, false);
	run(RANKS_MAX, 50, 2, false);
}

/* A rank without any file takes part, too. */
static void test_ranks_without_files(void)
{
	run(RANKS_MAX, 1, 2, false);
}

/* Where each thread has one piece of work, all but the first have ended. */
static void test_threads_that_have_ended(void)
{
	run(1, 0, 3, true);
}

/* A thread whose turn it is not goes on, and is counted after a later request. */
static void add_one(void *argument, struct tally *t)
{
	(void)argument;
	t->rank_row[MEASURE_BODIES]++;
}

static void test_turns(void)
{
	struct snapshot_rank r = {0};
	struct clock clock;
	struct group *alone;
	struct phase_context ctx = {.clock = &clock, .tally = &r.tally, .publish_every_ns = 10};
	struct snapshot s;
	struct snapshot_part parts[2];

	clock_init_fake(&clock, 100);
	CU_ASSERT_EQUAL_FATAL(group_alone(&alone, NULL), 0);
	ctx.group = r.group = alone;
	CU_ASSERT_EQUAL_FATAL(tally_init(&r.tally, &schema, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(snapshot_open(&s, &ctx, hooks, &r, NULL), 0);
	for (int i = 0; i < 2; i++) {
		snapshot_join(&s, &parts[i], add_one, NULL);
		snapshot_wake(&parts[i]);
	}
	snapshot_start(&s, 100);
	CU_ASSERT_EQUAL(snapshot_poll(&s), 0);
	snapshot_look(&parts[0]);
	CU_ASSERT_FALSE(snapshot_wanted(&s));
	clock_advance(&clock, 10);
	CU_ASSERT_EQUAL(snapshot_poll(&s), 0);
	CU_ASSERT_TRUE(snapshot_wanted(&s));
	snapshot_look(&parts[0]);
	snapshot_look(&parts[0]);
	atomic_store(&s.adding, true);
	snapshot_look(&parts[1]);
	CU_ASSERT_EQUAL(snapshot_poll(&s), 0);
	CU_ASSERT_EQUAL(s.tally.rank_row[MEASURE_BODIES], 1);
	atomic_store(&s.adding, false);
	snapshot_rest(&parts[1]);
	CU_ASSERT_EQUAL(snapshot_poll(&s), 1);
	CU_ASSERT_EQUAL(s.tally.rank_row[MEASURE_BODIES], 2);
	CU_ASSERT_FALSE(snapshot_wanted(&s));
	snapshot_close(&s);
	tally_free(&r.tally);
	group_free(alone);
}

/* Publication is at most every publish_every_ns, all together, and takes no more than half of the
 * time. */
static void publish_slowly(void *clock, struct tally *so_far)
{
	(void)so_far;
	clock_advance(clock, 60);
}

static void test_published_when_all_have_it(void)
{
	struct tally tally;
	struct clock clock;
	struct phase_context ctx = {.clock = &clock,
				    .tally = &tally,
				    .publish_every_ns = 100,
				    .publish = publish_slowly,
				    .publish_argument = &clock};
	struct snapshot s;

	clock_init_fake(&clock, 0);
	CU_ASSERT_EQUAL_FATAL(tally_init(&tally, &schema, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(snapshot_open(&s, &ctx, hooks, NULL, NULL), 0);
	snapshot_start(&s, 0);
	clock_advance(&clock, 100);
	CU_ASSERT_EQUAL(snapshot_poll(&s), 1);
	CU_ASSERT_FALSE(snapshot_publish(&s, &(struct status){.snapshot = 0}));
	CU_ASSERT_TRUE(snapshot_publish(&s, &(struct status){.snapshot = 1}));
	CU_ASSERT_FALSE(snapshot_publish(&s, &(struct status){.snapshot = 1}));
	CU_ASSERT_EQUAL(clock_now(&clock), 160);
	clock_advance(&clock, 59);
	CU_ASSERT_EQUAL(snapshot_poll(&s), 1);
	clock_advance(&clock, 1);
	CU_ASSERT_EQUAL(snapshot_poll(&s), 2);
	snapshot_close(&s);
	tally_free(&tally);
}

/* Where nobody asks for it, nothing is kept and nothing is published. */
static void test_not_asked_for(void)
{
	struct phase_context ctx = {.publish_every_ns = 0};
	struct snapshot s;
	struct snapshot_part part;

	CU_ASSERT_EQUAL(snapshot_open(&s, &ctx, hooks, NULL, NULL), 0);
	snapshot_join(&s, &part, add_one, NULL);
	CU_ASSERT_PTR_NULL(part.of);
	snapshot_start(&s, 0);
	snapshot_look(&part);
	CU_ASSERT_EQUAL(snapshot_poll(&s), 0);
	CU_ASSERT_FALSE(snapshot_publish(&s, &(struct status){.snapshot = 1}));
	snapshot_close(&s);
}

static void must_not_be_asked(void *argument, struct tally *t)
{
	(void)t;
	++*(int *)argument;
}

/* A process that has to end before its phase has begun to count finds nothing, and asks nobody. */
static void test_frozen_before_it_begins(void)
{
	static const struct snapshot_hooks early = {.own = must_not_be_asked,
						    .complete = must_not_be_asked};
	struct phase_context ctx = {.publish_every_ns = 0};
	struct tally tally, found;
	struct snapshot_part part;
	struct snapshot s;
	int asked = 0;

	CU_ASSERT_EQUAL_FATAL(tally_init(&tally, &schema, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(tally_init_like(&found, &tally, NULL), 0);
	ctx.tally = &tally;
	CU_ASSERT_EQUAL_FATAL(snapshot_open(&s, &ctx, early, &asked, NULL), 0);
	snapshot_join(&s, &part, must_not_be_asked, &asked);
	snapshot_freeze(&s, &found);
	CU_ASSERT_EQUAL(asked, 0);
	snapshot_start(&s, 0);
	snapshot_freeze(&s, &found);
	CU_ASSERT_EQUAL(asked, 3);
	snapshot_close(&s);
	tally_free(&found);
	tally_free(&tally);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"busy and idle threads", test_busy_and_idle_threads},
		{"ranks without files", test_ranks_without_files},
		{"threads that have ended", test_threads_that_have_ended},
		{"threads take turns", test_turns},
		{"published when all have it", test_published_when_all_have_it},
		{"not asked for", test_not_asked_for},
		{"frozen before it begins", test_frozen_before_it_begins},
		CU_TEST_INFO_NULL,
	};

	return unit_main("snapshot", tests);
}
