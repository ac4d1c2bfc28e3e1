/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the meter: how a thread's requests appear in the tally, and that the counts of the
 * warm-up are reset at its end. The requests of the store fail temporarily as often as a script
 * says. */
#include "tests/libs/doubles/fake_clock.h"
#include "workloads/common/meter.h"

#include <errno.h>
#include <string.h>

#include "tests/unit.h"

enum { MEASURE_READS = TALLY_COMMON, MEASURE_LATE, MEASURES };
enum { HIST_READ, HIST_FIRST, HIST_SYNC, HIST_PUBLISH, HIST_OWN, HISTS };

static const struct measure measures[] = {TALLY_COMMON_LIST(MEASURE_ROW) MEASURE_ROW(
	MEASURE_READS, "reads", "", SUM, "") MEASURE_ROW(MEASURE_LATE, "late", "", SUM, "")};
static const struct hist_kind hists[HISTS] = {{.name = "read"},
					      {.name = "read_first_attempt"},
					      {.name = "sync"},
					      {.name = "publish"},
					      {.name = "own"}};
static const struct tally_schema schema = {
	.rank = {.measures = measures, .measure_count = MEASURES},
	.hists = hists,
	.hist_count = HISTS};
static const struct meter_map maps[] = {
	{REQ_READ, MEASURE_READS, HIST_READ, METER_NONE, HIST_FIRST},
	{REQ_COMMIT, METER_NONE, METER_NONE, METER_NONE, METER_NONE},
};
static const int own[] = {HIST_OWN};
static const struct meter_layout layout = {
	METER_MAPS(schema, maps), .late = MEASURE_LATE, .sync = HIST_SYNC,
	.publish = HIST_PUBLISH,  .own = own,           .own_count = 1,
	.live_op = REQ_READ};

struct script {
	uint32_t fails; /* attempts that are to fail temporarily */
	uint64_t takes_ns;
	struct clock clock;
	struct store_options options;
	struct retry_options retry;
	struct store store;
	struct queue queue;
	struct meter meter;
	struct tally tally;
};

static void script_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	struct script *s = c->store->state;

	for (uint32_t i = 0; i < n; i++) {
		struct answer *a = &reqs[i]->answer;

		clock_advance(&s->clock, s->takes_ns);
		a->status = s->fails ? -EBUSY : 0;
		a->fault = s->fails ? REQ_FAULT_THROTTLE : REQ_FAULT_NONE;
		a->transient = s->fails;
		a->done_bytes = s->fails ? 0 : reqs[i]->length;
		if (reqs[i]->op == REQ_COMMIT) {
			a->sync_ns = 70;
			a->publish_ns = 30;
		}
		s->fails -= s->fails > 0;
	}
}

static const struct backend_ops script_ops = {.scheme = "script",
					      .capabilities = BACKEND_CONTENT,
					      .depth_max = 1,
					      .submit = script_submit};

static void script_open(struct script *s)
{
	struct rank_place place = {.rank = 1, .world_rank = 3, .node = 1};

	memset(s, 0, sizeof(*s));
	clock_init_fake(&s->clock, 1000000);
	s->takes_ns = 1000;
	s->retry = (struct retry_options){.attempts = 4, .first_ns = 100, .longest_ns = 100};
	s->store = (struct store){.ops = &script_ops,
				  .options = &s->options,
				  .clock = &s->clock,
				  .alignment = 1,
				  .retry = &s->retry,
				  .state = s};
	CU_ASSERT_EQUAL_FATAL(tally_init(&s->tally, &schema, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(meter_open(&s->meter, &layout, &place, 1000000, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&s->queue, &s->store, 1, NULL), 0);
	meter_attach(&s->meter, &s->queue);
}

static void script_close(struct script *s)
{
	queue_close(&s->queue);
	meter_close(&s->meter);
	tally_free(&s->tally);
}

/* Does one read of ten bytes whose first attempts fail. */
static int read_one(struct script *s, uint32_t fails)
{
	char bytes[10];
	struct object o = {.key = "a"};
	struct request req = {.op = REQ_READ, .object = &o, .length = 10, .data = bytes};

	s->fails = fails;
	return queue_do(&s->queue, &req);
}

static void test_counts(void)
{
	static struct script s;
	struct object o = {.key = "a"};
	struct request req = {.op = REQ_COMMIT, .object = &o};
	uint64_t *row;

	script_open(&s);
	for (uint32_t i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(read_one(&s, i % 2), 0);
	CU_ASSERT_EQUAL(read_one(&s, 9), -EBUSY);
	s.fails = 0;
	CU_ASSERT_EQUAL(queue_do(&s.queue, &req), 0);
	hist_record(meter_hist(&s.meter, HIST_OWN), 5);
	meter_error(&s.meter);
	meter_merge(&s.meter, &s.tally);
	row = s.tally.rank_row;
	/* A commit is a part of a write. */
	CU_ASSERT_EQUAL(row[TALLY_OPERATIONS], 11);
	CU_ASSERT_EQUAL(row[TALLY_STORE_REQUESTS], 12);
	CU_ASSERT_EQUAL(row[MEASURE_READS], 11);
	CU_ASSERT_EQUAL(row[TALLY_BYTES_READ], 100);
	CU_ASSERT_EQUAL(row[TALLY_RETRIES], 5 + 3);
	CU_ASSERT_EQUAL(row[TALLY_ERRORS], 2);
	CU_ASSERT_EQUAL(hist_count(&s.tally.hists[HIST_READ]), 11);
	CU_ASSERT_EQUAL(hist_count(&s.tally.hists[HIST_FIRST]), 11);
	CU_ASSERT_EQUAL(hist_count(&s.tally.hists[HIST_SYNC]), 1);
	CU_ASSERT_EQUAL(hist_count(&s.tally.hists[HIST_PUBLISH]), 1);
	CU_ASSERT_EQUAL(hist_count(&s.tally.hists[HIST_OWN]), 1);
	script_close(&s);
}

/* Regression: retries of the warm-up were kept although its counts had been reset, so the first
 * attempts were negative. */
static void test_retries_of_the_warmup_left_first_attempts_below_zero(void)
{
	static struct script s;
	uint64_t sum = 0;
	struct failure *f;

	script_open(&s);
	for (uint32_t i = 0; i < 20; i++)
		CU_ASSERT_EQUAL(read_one(&s, 2), 0);
	CU_ASSERT_EQUAL(read_one(&s, 9), -EBUSY);
	meter_error(&s.meter);
	hist_record(meter_hist(&s.meter, HIST_OWN), 5);
	CU_ASSERT_EQUAL(meter_clear(&s.meter, clock_now(&s.clock)), 21);
	for (uint32_t i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(read_one(&s, i == 0), 0);
	meter_merge(&s.meter, &s.tally);
	CU_ASSERT_EQUAL(s.tally.rank_row[TALLY_OPERATIONS], 5);
	CU_ASSERT_EQUAL(s.tally.rank_row[TALLY_RETRIES], 1);
	CU_ASSERT_EQUAL(s.tally.rank_row[TALLY_ERRORS], 0);
	CU_ASSERT_EQUAL(hist_count(&s.tally.hists[HIST_READ]), 5);
	CU_ASSERT_EQUAL(hist_count(&s.tally.hists[HIST_OWN]), 0);
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		CU_ASSERT_TRUE(s.tally.hists[HIST_FIRST].bucket[i] <= 5);
		sum += s.tally.hists[HIST_FIRST].bucket[i];
	}
	CU_ASSERT_EQUAL(sum, 5);
	CU_ASSERT_EQUAL(s.tally.failure_count, 0);
	/* Times of failures count from the end of the warm-up. */
	f = meter_fail(&s.meter, &(struct request){.object = &(struct object){.key = "b"}}, -EIO,
		       s.meter.start_ns + 7, "text");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->time_ns, 7);
	CU_ASSERT_EQUAL(f->rank, 3);
	script_close(&s);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"counts", test_counts},
		{"retries of the warm-up left first attempts below zero",
		 test_retries_of_the_warmup_left_first_attempts_below_zero},
		CU_TEST_INFO_NULL,
	};

	return unit_main("meter", tests);
}
