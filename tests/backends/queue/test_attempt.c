/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of attempts: retries, the endpoints that they use, and what is counted, on a backend that
 * was made for this test. */
#include <errno.h>
#include <string.h>

#include "backends/queue/queue.h"
#include "tests/backends/rig.h"
#include "tests/libs/doubles/fake_clock.h"
#include "tests/unit.h"

enum { SCRIPT = 64, ENDPOINTS = 3 };

struct step {
	int status;
	enum request_fault fault;
	bool transient;
	uint64_t bytes, retry_after_ns;
};

struct script {
	struct step steps[SCRIPT];
	uint64_t takes_ns, at_ns[SCRIPT];
	uint32_t attempts, taken[SCRIPT];
	struct request *held[SCRIPT];
	uint32_t held_count;
	struct stop stop;
	uint32_t
		stops_at; /* the run is told to end during this attempt, counted from 1; 0: never */
	struct clock clock;
	struct store_options options;
	struct retry_options retry;
	struct endpoint_options balance;
	struct store store;
	struct queue queue;
};

static void attempt(struct script *s, struct request *req)
{
	const struct step *step = &s->steps[s->attempts];

	s->at_ns[s->attempts] = clock_now(&s->clock);
	s->taken[s->attempts++] = req->answer.endpoint;
	if (s->attempts == s->stops_at)
		stop_ask(&s->stop, STOP_SIGNAL);
	clock_advance(&s->clock, s->takes_ns);
	req->answer.status = step->status;
	req->answer.fault = (uint8_t)step->fault;
	req->answer.transient = step->transient;
	req->answer.retry_after_ns = step->retry_after_ns;
	req->answer.protocol_status = step->status ? 503 : 200;
	req->answer.done_bytes = step->status ? req->answer.done_bytes + step->bytes : req->length;
	req->answer.wire_bytes += step->status ? step->bytes + 7 : req->length;
}

static void sync_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		attempt(c->store->state, reqs[i]);
}

static void async_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	struct script *s = c->store->state;

	for (uint32_t i = 0; i < n; i++)
		s->held[s->held_count++] = reqs[i];
}

/* Completes requests in the order of their submission, one per call. */
static uint32_t async_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
			   uint64_t deadline_ns)
{
	struct script *s = c->store->state;

	(void)deadline_ns;
	if (!min || !max || !s->held_count)
		return 0;
	done[0] = s->held[0];
	memmove(s->held, s->held + 1, --s->held_count * sizeof(s->held[0]));
	attempt(s, done[0]);
	return 1;
}

static const struct backend_ops sync_ops = {
	.scheme = "sync", .capabilities = BACKEND_CONTENT, .depth_max = 8, .submit = sync_submit};
static const struct backend_ops async_ops = {.scheme = "async",
					     .capabilities = BACKEND_CONTENT,
					     .depth_max = 8,
					     .submit = async_submit,
					     .reap = async_reap};

static void script_begin(struct script *s, const struct backend_ops *ops, uint32_t depth,
			 enum balance balance)
{
	static const char *const names[ENDPOINTS] = {"http://a", "http://b", "http://c"};

	*s = (struct script){
		.retry = {.attempts = 4,
			  .first_ns = 1000,
			  .longest_ns = 3000,
			  .patience_ns = 2000000,
			  .budget = 0},
		.balance = {.balance = balance, .eject_failures = 2, .eject_ns = 1000000},
		.takes_ns = 100,
	};
	clock_init_fake(&s->clock, 1000000);
	s->store = (struct store){
		.ops = ops,
		.options = &s->options,
		.clock = &s->clock,
		.alignment = 1,
		.place = {.rank = 5, .ranks = 8, .endpoint = 4, .node = 2, .nodes = 4},
		.retry = &s->retry,
		.stop = &s->stop,
		.state = s};
	CU_ASSERT_EQUAL_FATAL(endpoints_open(&s->store.endpoints, names, ENDPOINTS, &s->balance,
					     &s->store.place, NULL),
			      0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&s->queue, &s->store, depth, NULL), 0);
}

static void script_end(struct script *s)
{
	queue_close(&s->queue);
	endpoints_close(s->store.endpoints);
}

static const struct step busy = {.status = -EBUSY, .fault = REQ_FAULT_THROTTLE, .transient = true};
static const struct step dead = {
	.status = -ECONNREFUSED, .fault = REQ_FAULT_CONNECT, .transient = true};

static int read_one(struct script *s, struct request *req)
{
	static struct object o;

	*req = (struct request){.op = REQ_READ, .object = &o, .length = 100};
	return queue_do(&s->queue, req);
}

/* Bytes on the wire are counted once, by the attempt that moved them. */
static uint64_t wire_bytes(const struct script *s)
{
	uint64_t bytes = 0;

	for (int i = 0; i < ENDPOINTS; i++)
		bytes += s->queue.endpoint_counts[i].wire_bytes;
	return bytes;
}

static int take_piece(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	(void)req;
	(void)offset;
	(void)data;
	(void)length;
	return 0;
}

/* The attempts of a request that is cut are those of its pieces, each of which has one at least. */
static void test_attempts_of_pieces(void)
{
	static const struct backend_ops *const ops[] = {&sync_ops, &async_ops};
	struct object o = {0};
	struct script s;
	char buffer[40];

	for (int i = 0; i < 2; i++) {
		struct request req = {.op = REQ_READ,
				      .object = &o,
				      .length = 100,
				      .data = buffer,
				      .buffer_bytes = sizeof(buffer),
				      .chunk = take_piece};

		script_begin(&s, ops[i], 2, BALANCE_RANK);
		s.steps[1] = s.steps[2] = s.steps[4] = busy; /* of three pieces, the last two */
		CU_ASSERT_EQUAL(queue_do(&s.queue, &req), 0);
		CU_ASSERT_EQUAL(s.attempts, 6);
		CU_ASSERT_EQUAL(req.answer.attempts, 4);
		CU_ASSERT_EQUAL(req.answer.done_bytes, 100);
		CU_ASSERT_EQUAL(req.answer.wire_bytes, 100 + 3 * 7);
		CU_ASSERT_EQUAL(wire_bytes(&s), 100 + 3 * 7);
		CU_ASSERT_EQUAL(req.answer.first_attempt_ns, s.at_ns[1] + 100);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].retries, 3);
		script_end(&s);
	}
}

/* Waits are drawn below a bound that doubles with each attempt, up to the longest. */
static void test_waits(void)
{
	static const uint64_t bounds[] = {1000, 2000, 3000, 3000};
	static const struct retry_options o = {.attempts = 9, .first_ns = 1000, .longest_ns = 3000};
	struct retry r;

	CU_ASSERT_EQUAL_FATAL(retry_open(&r, &o, 1, 7, NULL), 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct request req = {.answer.attempts = i + 1};
		uint64_t least = UINT64_MAX, most = 0;

		for (int k = 0; k < 2000; k++) {
			uint64_t wait = retry_at(&r, &req, 5000) - 5000;

			least = wait < least ? wait : least;
			most = wait > most ? wait : most;
		}
		CU_ASSERT(most < bounds[i] && most > bounds[i] * 9 / 10);
		CU_ASSERT(least < bounds[i] / 10);
	}
	retry_close(&r);
}

/* A seed repeats all waits of a queue; another queue of the store, or another seed, has others. */
static void test_seed_repeats_waits(void)
{
	uint64_t at_ns[3][4];
	struct request req;
	struct script s;

	for (int i = 0; i < 3; i++) {
		script_begin(&s, &sync_ops, 1, BALANCE_RANK);
		if (i == 2) {
			queue_close(&s.queue);
			CU_ASSERT_EQUAL_FATAL(queue_open(&s.queue, &s.store, 1, NULL), 0);
		}
		for (int k = 0; k < 4; k++)
			s.steps[k] = busy;
		CU_ASSERT_EQUAL(read_one(&s, &req), -EBUSY);
		memcpy(at_ns[i], s.at_ns, sizeof(at_ns[i]));
		script_end(&s);
	}
	CU_ASSERT_EQUAL(memcmp(at_ns[0], at_ns[1], sizeof(at_ns[0])), 0);
	CU_ASSERT_NOT_EQUAL(memcmp(at_ns[0], at_ns[2], sizeof(at_ns[0])), 0);
}

static void test_temporary_failures_are_retried(void)
{
	static const struct backend_ops *const ops[] = {&sync_ops, &async_ops};
	struct script s;
	struct request req;
	static struct rig_latency latency;
	struct queue_latency reads;
	struct hist first;

	for (int i = 0; i < 2; i++) {
		script_begin(&s, ops[i], 2, BALANCE_RANK);
		rig_record(&s.queue, &latency);
		s.steps[0] = busy;
		s.steps[0].bytes = 40;
		s.steps[1] = busy;
		s.steps[1].retry_after_ns = 50000;
		CU_ASSERT_EQUAL(read_one(&s, &req), 0);
		CU_ASSERT_EQUAL(req.answer.attempts, 3);
		CU_ASSERT_EQUAL(s.attempts, 3);
		CU_ASSERT(s.at_ns[1] < s.at_ns[0] + 100 + 1000);
		CU_ASSERT_EQUAL(s.at_ns[2], s.at_ns[1] + 100 + 50000);
		CU_ASSERT_EQUAL(req.answer.done_bytes, 100);
		CU_ASSERT_EQUAL(req.answer.fault, REQ_FAULT_NONE);
		CU_ASSERT_EQUAL(req.answer.wire_bytes, 47 + 7 + 100);
		CU_ASSERT_EQUAL(wire_bytes(&s), 47 + 7 + 100);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].operations, 1);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].retries, 2);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].errors, 0);
		CU_ASSERT_EQUAL(req.answer.done_ns - req.answer.submit_ns,
				s.at_ns[2] - s.at_ns[0] + 100); /* total */
		CU_ASSERT_EQUAL(latency.first[REQ_READ].sum_ns, 100);
		s.steps[3] = (struct step){0};
		CU_ASSERT_EQUAL(read_one(&s, &req), 0);
		reads = rig_latency_of(&latency, REQ_READ);
		queue_first_attempts(&reads, &first);
		CU_ASSERT_EQUAL(hist_count(&first), 2);
		CU_ASSERT_EQUAL(first.sum_ns, 200);
		CU_ASSERT_EQUAL(first.bucket[hist_index(100)], 2);
		CU_ASSERT(first.max_ns >= 100 && first.max_ns < 102);
		script_end(&s);
	}
}

/* A store that asks for a longer pause than patience allows does not get it; one that asks for a
 * shorter pause does. */
static void test_patience(void)
{
	struct script s;
	struct request req;

	script_begin(&s, &sync_ops, 1, BALANCE_RANK);
	s.steps[0] = s.steps[1] = busy;
	s.steps[0].retry_after_ns = UINT64_MAX / 2;
	s.steps[1].retry_after_ns = 1999999;
	CU_ASSERT_EQUAL(read_one(&s, &req), 0);
	CU_ASSERT_EQUAL(s.at_ns[1], s.at_ns[0] + 100 + 2000000);
	CU_ASSERT_EQUAL(s.at_ns[2], s.at_ns[1] + 100 + 1999999);
	script_end(&s);
}

static void test_retries_end(void)
{
	struct script s;
	struct request req;

	/* After the allowed number of attempts. */
	script_begin(&s, &async_ops, 1, BALANCE_RANK);
	for (int i = 0; i < 10; i++)
		s.steps[i] = busy;
	CU_ASSERT_EQUAL(read_one(&s, &req), -EBUSY);
	CU_ASSERT_EQUAL(req.answer.attempts, 4);
	CU_ASSERT_EQUAL(s.attempts, 4);
	CU_ASSERT_EQUAL(s.queue.op[REQ_READ].errors, 1);
	CU_ASSERT(s.at_ns[3] - s.at_ns[2] < 100 + 3000);
	script_end(&s);

	/* At once, where the error is permanent. */
	script_begin(&s, &async_ops, 1, BALANCE_RANK);
	s.steps[0] = (struct step){.status = -EACCES, .fault = REQ_FAULT_DENIED};
	CU_ASSERT_EQUAL(read_one(&s, &req), -EACCES);
	CU_ASSERT_EQUAL(s.attempts, 1);
	script_end(&s);

	/* When the retry budget is spent: it allows 2 at the start, and 10 successes add one. */
	script_begin(&s, &sync_ops, 1, BALANCE_RANK);
	queue_close(&s.queue);
	s.retry.budget = 2;
	CU_ASSERT_EQUAL_FATAL(queue_open(&s.queue, &s.store, 1, NULL), 0);
	for (int i = 0; i < 3; i++)
		s.steps[i] = busy;
	CU_ASSERT_EQUAL(read_one(&s, &req), -EBUSY);
	CU_ASSERT_EQUAL(req.answer.attempts, 3);
	for (int i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(read_one(&s, &req), 0);
	s.steps[s.attempts] = busy;
	s.steps[s.attempts + 1] = busy;
	CU_ASSERT_EQUAL(read_one(&s, &req), -EBUSY);
	CU_ASSERT_EQUAL(req.answer.attempts, 2);
	script_end(&s);
}

/* A request that waits for its next attempt does not hold up the others. */
static void test_others_go_on(void)
{
	struct request reqs[3], *all[3] = {&reqs[0], &reqs[1], &reqs[2]}, *done[3];
	struct object o = {0};
	struct script s;

	script_begin(&s, &async_ops, 3, BALANCE_RANK);
	s.steps[0] = busy;
	s.steps[0].retry_after_ns = 1000000;
	for (int i = 0; i < 3; i++)
		reqs[i] = (struct request){.op = REQ_READ, .object = &o, .length = 10};
	CU_ASSERT_EQUAL(queue_submit(&s.queue, all, 3), 0);
	CU_ASSERT_EQUAL(queue_reap(&s.queue, done, 2, 3, UINT64_MAX), 2);
	CU_ASSERT_PTR_EQUAL(done[0], &reqs[1]);
	CU_ASSERT_PTR_EQUAL(done[1], &reqs[2]);
	CU_ASSERT(clock_now(&s.clock) < 1000000 + 1000);
	CU_ASSERT_EQUAL(queue_reap(&s.queue, done, 1, 3, 1500000), 0);
	CU_ASSERT_EQUAL(clock_now(&s.clock), 1500000);
	CU_ASSERT_EQUAL(queue_reap(&s.queue, done, 1, 3, UINT64_MAX), 1);
	CU_ASSERT_PTR_EQUAL(done[0], &reqs[0]);
	CU_ASSERT_EQUAL(reqs[0].answer.status, 0);
	CU_ASSERT_EQUAL(s.queue.in_flight, 0);
	script_end(&s);
}

/* Once the run is to end, what failed in passing comes back given up, in no count. */
static void test_none_after_a_stop(void)
{
	static const struct backend_ops *const ops[] = {&sync_ops, &async_ops};
	struct request req;
	struct script s;

	for (int i = 0; i < 2; i++) {
		script_begin(&s, ops[i], 1, BALANCE_RANK);
		s.steps[0] = s.steps[1] = busy;
		s.stops_at = 2;
		CU_ASSERT_EQUAL(read_one(&s, &req), -ECANCELED);
		CU_ASSERT_EQUAL(s.attempts, 2);
		CU_ASSERT_EQUAL(req.answer.attempts, 2);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].operations, 0);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].errors, 0);
		/* What succeeds still counts, and what fails for good is still an error. */
		CU_ASSERT_EQUAL(read_one(&s, &req), 0);
		s.steps[3] = (struct step){.status = -EACCES, .fault = REQ_FAULT_DENIED};
		CU_ASSERT_EQUAL(read_one(&s, &req), -EACCES);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].operations, 2);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].errors, 1);
		script_end(&s);
	}
}

/* The stop comes while a request waits for its next attempt: it comes back at once. */
static void test_stop_ends_waits(void)
{
	struct request reqs[2], *all[2] = {&reqs[0], &reqs[1]}, *done[2];
	struct object o = {0};
	struct script s;

	script_begin(&s, &async_ops, 2, BALANCE_RANK);
	s.steps[0] = busy;
	s.steps[0].retry_after_ns = 2000000;
	s.stops_at = 2;
	for (int i = 0; i < 2; i++)
		reqs[i] = (struct request){.op = REQ_READ, .object = &o, .length = 10};
	CU_ASSERT_EQUAL(queue_submit(&s.queue, all, 2), 0);
	CU_ASSERT_EQUAL(queue_reap(&s.queue, done, 2, 2, UINT64_MAX), 2);
	CU_ASSERT_EQUAL(reqs[0].answer.status, -ECANCELED);
	CU_ASSERT_EQUAL(reqs[1].answer.status, 0);
	CU_ASSERT_EQUAL(s.attempts, 2);
	CU_ASSERT(clock_now(&s.clock) < 1000000 + 1000);
	CU_ASSERT_EQUAL(s.queue.in_flight, 0);
	script_end(&s);
}

static void test_policies(void)
{
	static const struct {
		enum balance balance;
		uint32_t taken[4];
	} cases[] = {
		{BALANCE_RANK, {1, 1, 1, 1}},
		{BALANCE_NODE, {2, 2, 2, 2}},
		{BALANCE_ROUND_ROBIN, {1, 2, 0, 1}},
	};
	struct script s;
	struct request req;
	uint32_t seen = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		script_begin(&s, &sync_ops, 1, cases[i].balance);
		for (int k = 0; k < 4; k++) {
			read_one(&s, &req);
			CU_ASSERT_EQUAL(s.taken[k], cases[i].taken[k]);
		}
		script_end(&s);
	}
	script_begin(&s, &sync_ops, 1, BALANCE_RANDOM);
	for (int k = 0; k < 40; k++) {
		read_one(&s, &req);
		seen |= 1u << s.taken[k];
	}
	CU_ASSERT_EQUAL(seen, 7);
	script_end(&s);
}

/* A request that sends nothing to the store uses no endpoint's turn. */
static bool asks(const struct channel *c, const struct request *req)
{
	(void)c;
	return req->op == REQ_READ;
}

static void test_turns(void)
{
	static const uint32_t taken[] = {1, 2, 0};
	struct backend_ops ops = sync_ops;
	struct object o = {0};
	struct script s;
	struct request req;

	ops.asks = asks;
	script_begin(&s, &ops, 1, BALANCE_ROUND_ROBIN);
	for (int i = 0; i < 3; i++) {
		req = (struct request){.op = REQ_OPEN, .object = &o};
		queue_do(&s.queue, &req);
		read_one(&s, &req);
		CU_ASSERT_EQUAL(req.answer.endpoint, taken[i]);
		CU_ASSERT_EQUAL(s.queue.endpoint_counts[taken[i]].attempts, 1);
	}
	script_end(&s);
}

static void test_load_and_latency(void)
{
	struct endpoint_options o = {.balance = BALANCE_LEAST_LOADED};
	static const char *const names[] = {"a", "b", "c"};
	struct rank_place place = {.ranks = 1};
	struct random r = {0};
	struct endpoints *e;

	CU_ASSERT_EQUAL_FATAL(endpoints_open(&e, names, 3, &o, &place, NULL), 0);
	/* Each endpoint gets one request; then the first to become free is chosen and, of several,
	 * the one idle longest. */
	CU_ASSERT_EQUAL(endpoints_choose(e, &r, UINT32_MAX, 10), 0);
	CU_ASSERT_EQUAL(endpoints_choose(e, &r, UINT32_MAX, 20), 1);
	CU_ASSERT_EQUAL(endpoints_choose(e, &r, UINT32_MAX, 30), 2);
	endpoints_done(e, 1, REQ_FAULT_NONE, 5, 40);
	CU_ASSERT_EQUAL(endpoints_choose(e, &r, UINT32_MAX, 50), 1);
	endpoints_done(e, 2, REQ_FAULT_NONE, 5, 60);
	endpoints_done(e, 0, REQ_FAULT_NONE, 5, 60);
	CU_ASSERT_EQUAL(endpoints_choose(e, &r, UINT32_MAX, 70), 0);
	endpoints_close(e);

	/* An endpoint that is ten times slower gets at most one request in eleven; a second without
	 * requests halves what is known. */
	o.balance = BALANCE_LATENCY;
	CU_ASSERT_EQUAL_FATAL(endpoints_open(&e, names, 2, &o, &place, NULL), 0);
	for (uint32_t i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(endpoints_choose(e, &r, UINT32_MAX, i + 1), i);
		endpoints_done(e, i, REQ_FAULT_NONE, i ? 1000 : 10000, 10);
	}
	for (int i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(endpoints_choose(e, &r, UINT32_MAX, 20), i < 9 ? 1 : 0);
	for (int i = 0; i < 9; i++)
		endpoints_done(e, 1, REQ_FAULT_NONE, 1000, 30);
	endpoints_done(e, 0, REQ_FAULT_NONE, 10000, 30);
	CU_ASSERT_EQUAL(endpoints_choose(e, &r, UINT32_MAX, 2000000000), 1);
	endpoints_done(e, 1, REQ_FAULT_NONE, 1000, 2000001000);
	CU_ASSERT_EQUAL(endpoints_choose(e, &r, UINT32_MAX, 8000000000), 1);
	CU_ASSERT_EQUAL(endpoints_choose(e, &r, UINT32_MAX, 8000000000), 0);
	endpoints_close(e);
}

/* Two failures in a row eject an endpoint for 1 ms. Then one attempt tries it again and fails,
 * which ejects it for 2 ms. */
static void test_failing_endpoints_are_ejected(void)
{
	struct script s;
	struct request req;

	script_begin(&s, &sync_ops, 1, BALANCE_RANK);
	s.steps[0] = dead;
	s.steps[1] = dead;
	CU_ASSERT_EQUAL(read_one(&s, &req), 0);
	CU_ASSERT_EQUAL(s.taken[0], 1);
	CU_ASSERT_EQUAL(s.taken[1], 1);
	CU_ASSERT_EQUAL(s.taken[2], 2);
	read_one(&s, &req);
	CU_ASSERT_EQUAL(s.taken[3], 2);
	clock_advance(&s.clock, 1000000);
	s.steps[4] = dead;
	read_one(&s, &req);
	CU_ASSERT_EQUAL(s.taken[4], 1);
	CU_ASSERT_EQUAL(s.taken[5], 2);
	clock_advance(&s.clock, 1000000);
	read_one(&s, &req);
	CU_ASSERT_EQUAL(s.taken[6], 2);
	clock_advance(&s.clock, 1000000);
	read_one(&s, &req);
	read_one(&s, &req);
	CU_ASSERT_EQUAL(s.taken[7], 1);
	CU_ASSERT_EQUAL(s.taken[8], 1);
	CU_ASSERT_EQUAL(s.queue.endpoint_counts[1].attempts, 5);
	CU_ASSERT_EQUAL(s.queue.endpoint_counts[1].failures, 3);
	CU_ASSERT_EQUAL(s.queue.endpoint_counts[1].fault[REQ_FAULT_CONNECT], 3);
	CU_ASSERT_EQUAL(s.queue.endpoint_counts[2].attempts, 4);
	CU_ASSERT_EQUAL(s.queue.endpoint_counts[2].bytes, 400);
	CU_ASSERT_EQUAL(s.queue.endpoint_counts[2].time_ns, 400);
	script_end(&s);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"temporary failures are retried", test_temporary_failures_are_retried},
		{"attempts of pieces", test_attempts_of_pieces},
		{"waits", test_waits},
		{"a seed repeats waits", test_seed_repeats_waits},
		{"patience", test_patience},
		{"retries end", test_retries_end},
		{"others go on", test_others_go_on},
		{"none after a stop", test_none_after_a_stop},
		{"a stop ends waits", test_stop_ends_waits},
		{"policies", test_policies},
		{"turns", test_turns},
		{"load and latency", test_load_and_latency},
		{"failing endpoints are ejected", test_failing_endpoints_are_ejected},
		CU_TEST_INFO_NULL,
	};

	return unit_main("attempt", tests);
}
