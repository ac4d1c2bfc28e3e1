/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the queue, above two backends that were made for this test: one completes requests in
 * submit, as a script says; the other completes them later, in reverse order. */
#include <errno.h>
#include <string.h>

#include "backends/queue/queue.h"
#include "tests/backends/rig.h"
#include "tests/libs/doubles/fake_clock.h"
#include "tests/unit.h"

enum { SCRIPT = 64 };

struct script {
	uint64_t most[SCRIPT]; /* most bytes that the attempt moves */
	int status[SCRIPT];
	uint64_t takes_ns;
	uint32_t attempts;
	struct request *held[SCRIPT];
	uint32_t held_count;
	struct clock clock;
	struct store_options options;
	struct store store;
	struct queue queue;
};

static unsigned char byte_at(uint64_t at)
{
	return (unsigned char)(at * 7 + 3);
}

static void attempt(struct script *s, struct request *req)
{
	uint64_t bytes = req->length - req->answer.done_bytes;
	unsigned char *data = req->data;

	clock_advance(&s->clock, s->takes_ns);
	req->answer.status = s->status[s->attempts];
	if (bytes > s->most[s->attempts])
		bytes = s->most[s->attempts];
	s->attempts++;
	if (req->answer.status || (req->op != REQ_READ && req->op != REQ_WRITE))
		return;
	for (uint64_t i = req->answer.done_bytes; i < req->answer.done_bytes + bytes; i++) {
		if (req->op == REQ_READ)
			data[i] = byte_at(req->offset + i);
		else
			CU_ASSERT_EQUAL(data[i], byte_at(req->offset + i));
	}
	req->answer.done_bytes += bytes;
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

static uint32_t async_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
			   uint64_t deadline_ns)
{
	struct script *s = c->store->state;
	uint32_t n = 0;

	(void)deadline_ns;
	while (n < max && n < min) {
		done[n] = s->held[--s->held_count];
		attempt(s, done[n++]);
	}
	return n;
}

static const struct backend_ops sync_ops = {
	.scheme = "sync", .capabilities = BACKEND_CONTENT, .depth_max = 4, .submit = sync_submit};
static const struct backend_ops async_ops = {.scheme = "async",
					     .capabilities = BACKEND_CONTENT,
					     .depth_max = 4,
					     .submit = async_submit,
					     .reap = async_reap};

static struct rig_latency latency;

static void script_begin(struct script *s, const struct backend_ops *ops, uint32_t depth)
{
	memset(s, 0, sizeof(*s));
	memset(s->most, 0xff, sizeof(s->most));
	clock_init_fake(&s->clock, 1000);
	s->store = (struct store){
		.ops = ops, .options = &s->options, .clock = &s->clock, .alignment = 1, .state = s};
	CU_ASSERT_EQUAL_FATAL(queue_open(&s->queue, &s->store, depth, NULL), 0);
}

static void check_bytes(const unsigned char *data, uint64_t offset, uint64_t length)
{
	for (uint64_t i = 0; i < length; i++)
		CU_ASSERT_EQUAL_FATAL(data[i], byte_at(offset + i));
}

static void test_short_transfers_are_finished(void)
{
	static const struct backend_ops *const ops[] = {&sync_ops, &async_ops};
	unsigned char data[100] = {0};
	struct object o = {0};
	struct script s;

	for (int i = 0; i < 2; i++) {
		struct request req = {
			.op = REQ_READ, .object = &o, .offset = 11, .length = 100, .data = data};

		memset(data, 0, sizeof(data));
		script_begin(&s, ops[i], 1);
		s.most[0] = 33;
		s.most[1] = 1;
		s.takes_ns = 500;
		CU_ASSERT_EQUAL(queue_do(&s.queue, &req), 0);
		CU_ASSERT_EQUAL(req.answer.done_bytes, 100);
		CU_ASSERT_EQUAL(s.attempts, 3);
		CU_ASSERT_EQUAL(req.answer.done_ns - req.answer.submit_ns, 1500);
		check_bytes(data, 11, 100);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].short_transfers, 2);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].operations, 1);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].bytes, 100);
		CU_ASSERT_EQUAL(s.queue.op[REQ_READ].errors, 0);
		queue_close(&s.queue);
	}
}

static void test_no_progress_ends_it(void)
{
	unsigned char data[10];
	struct object o = {0};
	struct request req = {.op = REQ_READ, .object = &o, .length = 10, .data = data};
	struct script s;

	for (int i = 0; i < 10; i++)
		data[i] = byte_at(i);
	script_begin(&s, &sync_ops, 1);
	s.most[0] = 4;
	s.most[1] = 0;
	CU_ASSERT_EQUAL(queue_do(&s.queue, &req), -ENODATA);
	CU_ASSERT_EQUAL(req.answer.done_bytes, 4);
	CU_ASSERT_STRING_EQUAL(request_status_text(req.answer.status), "ends early");
	CU_ASSERT_EQUAL(s.queue.op[REQ_READ].errors, 1);
	req.op = REQ_WRITE;
	s.most[2] = 0;
	CU_ASSERT_EQUAL(queue_do(&s.queue, &req), -EIO);
	CU_ASSERT_EQUAL(s.queue.op[REQ_WRITE].errors, 1);
	queue_close(&s.queue);
}

static void test_errors_are_counted_absence_is_an_answer(void)
{
	struct object o = {0};
	struct script s;

	script_begin(&s, &sync_ops, 1);
	rig_record(&s.queue, &latency);
	for (int op = 0; op < REQ_OPS; op++) {
		struct listing listing = {.parts = 1};
		struct request req = {.op = (enum request_op)op, .object = &o};
		bool answer = op == REQ_STAT || op == REQ_DELETE || op == REQ_LIST;

		if (op == REQ_LIST)
			req.listing = &listing;
		s.status[s.attempts] = -ENOENT;
		CU_ASSERT_EQUAL(queue_do(&s.queue, &req), -ENOENT);
		CU_ASSERT_EQUAL(s.queue.op[op].errors, answer ? 0 : 1);
		CU_ASSERT_EQUAL(s.queue.op[op].operations, 1);
		CU_ASSERT_EQUAL(hist_count(&latency.service[op]), 1);
	}
	queue_close(&s.queue);
}

/* A part of a listing is refused where the store cannot list parts, because each caller would get
 * every entry. It is also refused where its number is not below the number of parts. A listing of
 * open uploads is refused where the store cannot list them, because it would give objects. */
static void test_listings_are_checked(void)
{
	enum { PARTS = BACKEND_LIST_PARTS, UPLOADS = BACKEND_UPLOADS };
	static const struct {
		uint32_t part, parts;
		bool uploads;
		uint32_t able;
		int status;
	} cases[] = {
		{0, 0, false, 0, 0},
		{0, 1, false, 0, 0},
		{0, 2, false, UPLOADS, -EOPNOTSUPP},
		{1, 2, false, PARTS, 0},
		{2, 2, false, PARTS, -EINVAL},
		{7, 2, false, 0, -EINVAL},
		{0, 4, false, PARTS, 0},
		{0, 0, true, 0, -EOPNOTSUPP},
		{0, 1, true, PARTS, -EOPNOTSUPP},
		{0, 1, true, UPLOADS, 0},
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct backend_ops ops = i % 2 ? async_ops : sync_ops;
		struct listing l = {.part = cases[i / 2].part,
				    .parts = cases[i / 2].parts,
				    .uploads = cases[i / 2].uploads};
		struct object o = {0};
		struct request req = {.op = REQ_LIST, .object = &o, .listing = &l};
		struct script s;

		ops.capabilities |= cases[i / 2].able;
		script_begin(&s, &ops, 1);
		CU_ASSERT_EQUAL(queue_do(&s.queue, &req), cases[i / 2].status);
		CU_ASSERT_EQUAL(req.answer.status, cases[i / 2].status);
		CU_ASSERT_EQUAL(s.attempts, cases[i / 2].status == 0);
		CU_ASSERT_EQUAL(s.queue.op[REQ_LIST].operations, 1);
		CU_ASSERT_EQUAL(s.queue.op[REQ_LIST].errors, cases[i / 2].status != 0);
		/* The next request succeeds, because the slot of the refused one is free again. */
		CU_ASSERT_EQUAL(queue_do(&s.queue, &(struct request){.op = REQ_STAT, .object = &o}),
				0);
		queue_close(&s.queue);
	}
}

static void test_late_requests_are_counted(void)
{
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o};
	struct script s;

	script_begin(&s, &sync_ops, 1);
	s.queue.timeout_ns = 1000;
	s.takes_ns = 1000;
	queue_do(&s.queue, &req);
	CU_ASSERT_EQUAL(s.queue.op[REQ_STAT].late, 0);
	s.takes_ns = 1001;
	queue_do(&s.queue, &req);
	CU_ASSERT_EQUAL(s.queue.op[REQ_STAT].late, 1);
	CU_ASSERT_EQUAL(req.answer.status, 0);
	queue_close(&s.queue);
}

static void test_two_latencies(void)
{
	struct object o = {0};
	struct request req = {.op = REQ_OPEN, .object = &o};
	struct script s;

	script_begin(&s, &sync_ops, 1);
	rig_record(&s.queue, &latency);
	s.takes_ns = 100;
	req.due_ns = 400; /* submitted at 1000 */
	queue_do(&s.queue, &req);
	CU_ASSERT_EQUAL(req.due_ns, 400);
	CU_ASSERT_EQUAL(latency.service[REQ_OPEN].max_ns, 100);
	CU_ASSERT_EQUAL(latency.response[REQ_OPEN].max_ns, 700);
	req.due_ns = 0; /* due at the submit */
	queue_do(&s.queue, &req);
	CU_ASSERT_EQUAL(~latency.response[REQ_OPEN].min_not_ns, 100);
	CU_ASSERT_EQUAL(latency.service[REQ_OPEN].sum_ns, 200);
	CU_ASSERT_EQUAL(s.queue.now_ns, 1200);
	queue_close(&s.queue);
}

struct pieces {
	uint64_t next, count, fail_at;
	bool filling;
};

static int piece(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct pieces *p = req->user;

	CU_ASSERT_EQUAL(offset, p->next);
	CU_ASSERT(length > 0 && length <= req->buffer_bytes);
	p->next += length;
	if (++p->count == p->fail_at)
		return -EBADMSG;
	for (uint64_t i = 0; p->filling && i < length; i++)
		((unsigned char *)data)[i] = byte_at(offset + i);
	if (!p->filling)
		check_bytes(data, offset, length);
	return 0;
}

static void stream_both_ways(const struct backend_ops *ops)
{
	static const enum request_op kinds[] = {REQ_READ, REQ_WRITE};
	unsigned char window[16];
	struct object o = {0};
	struct pieces p;
	struct script s;

	script_begin(&s, ops, 1);
	for (int i = 0; i < 2; i++) {
		struct request req = {.op = kinds[i],
				      .object = &o,
				      .offset = 5,
				      .length = 101,
				      .data = window,
				      .buffer_bytes = sizeof(window),
				      .chunk = piece,
				      .user = &p};

		p = (struct pieces){.next = 5, .filling = kinds[i] == REQ_WRITE};
		CU_ASSERT_EQUAL(queue_do(&s.queue, &req), 0);
		CU_ASSERT_EQUAL(req.answer.done_bytes, 101);
		CU_ASSERT_EQUAL(p.next, 106);
		CU_ASSERT_EQUAL(p.count, 7);
		CU_ASSERT_EQUAL(s.queue.op[kinds[i]].operations, 1);
		CU_ASSERT_EQUAL(s.queue.op[kinds[i]].bytes, 101);
		/* A refusal by the consumer or the producer ends the request. */
		p = (struct pieces){.next = 5, .filling = kinds[i] == REQ_WRITE, .fail_at = 3};
		CU_ASSERT_EQUAL(queue_do(&s.queue, &req), -EBADMSG);
		CU_ASSERT_EQUAL(p.count, 3);
		CU_ASSERT_EQUAL(req.answer.done_bytes, kinds[i] == REQ_WRITE ? 32 : 48);
		/* The request ends before the first piece. */
		p = (struct pieces){.next = 5, .filling = kinds[i] == REQ_WRITE, .fail_at = 1};
		CU_ASSERT_EQUAL(queue_do(&s.queue, &req), -EBADMSG);
		req.length = 0;
		CU_ASSERT_EQUAL(queue_do(&s.queue, &req), 0);
		req.buffer_bytes = 0;
		req.length = 1;
		CU_ASSERT_EQUAL(queue_do(&s.queue, &req), -EINVAL);
		CU_ASSERT_EQUAL(s.queue.in_flight, 0);
	}
	queue_close(&s.queue);
}

static void test_large_requests_are_streamed(void)
{
	stream_both_ways(&sync_ops);
	stream_both_ways(&async_ops);
}

/* Streams and plain requests are in flight together; their pieces come back short and out of
 * order. */
static void test_streams_run_side_by_side(void)
{
	unsigned char data[4][64];
	struct request reqs[4], *list[4], *done[4];
	struct object o = {0};
	struct pieces p[4];
	struct script s;
	uint32_t got = 0;

	script_begin(&s, &async_ops, 4);
	s.most[1] = 3;
	s.most[4] = 5;
	for (uint64_t i = 0; i < 4; i++) {
		reqs[i] = (struct request){.op = REQ_READ,
					   .object = &o,
					   .offset = i * 1000,
					   .length = 40 + i,
					   .data = data[i]};
		p[i] = (struct pieces){.next = i * 1000};
		list[i] = &reqs[i];
		if (i == 2)
			continue;
		reqs[i].buffer_bytes = 16;
		reqs[i].chunk = piece;
		reqs[i].user = &p[i];
	}
	CU_ASSERT_EQUAL(queue_submit(&s.queue, list, 4), 0);
	while (got < 4) {
		uint32_t n = queue_reap(&s.queue, done, 1, 4, UINT64_MAX);

		CU_ASSERT_FATAL(n > 0);
		got += n;
	}
	for (uint64_t i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(reqs[i].answer.status, 0);
		CU_ASSERT_EQUAL(reqs[i].answer.done_bytes, 40 + i);
		CU_ASSERT_EQUAL(p[i].next, i == 2 ? 2000 : i * 1000 + 40 + i);
	}
	check_bytes(data[2], 2000, 42);
	CU_ASSERT_EQUAL(s.queue.op[REQ_READ].operations, 4);
	CU_ASSERT_EQUAL(s.queue.op[REQ_READ].bytes, 40 + 41 + 42 + 43);
	CU_ASSERT_EQUAL(s.queue.op[REQ_READ].short_transfers, 2);
	queue_close(&s.queue);
}

static void test_depth_bounds_what_is_in_flight(void)
{
	static const struct backend_ops *const ops[] = {&sync_ops, &async_ops};
	struct request reqs[5], *list[5], *done[5];
	struct object o = {0};
	struct script s;

	for (int i = 0; i < 5; i++) {
		reqs[i] = (struct request){.op = REQ_OPEN, .object = &o};
		list[i] = &reqs[i];
	}
	for (int i = 0; i < 2; i++) {
		script_begin(&s, ops[i], 3);
		CU_ASSERT_EQUAL(queue_submit(&s.queue, list, 4), -EAGAIN);
		CU_ASSERT_EQUAL(s.queue.in_flight, 0);
		CU_ASSERT_EQUAL(queue_submit(&s.queue, list, 2), 0);
		CU_ASSERT_EQUAL(queue_submit(&s.queue, list + 2, 2), -EAGAIN);
		CU_ASSERT_EQUAL(queue_do(&s.queue, list[4]), -EBUSY);
		for (int k = 0; k < 10; k++) { /* around the ring */
			CU_ASSERT_EQUAL(queue_submit(&s.queue, list + 2, 1), 0);
			CU_ASSERT_EQUAL(s.queue.in_flight, 3);
			CU_ASSERT_EQUAL(queue_reap(&s.queue, done, 1, 1, UINT64_MAX), 1);
			list[2] = done[0];
		}
		CU_ASSERT_EQUAL(queue_reap(&s.queue, done, 5, 5, UINT64_MAX), 2);
		CU_ASSERT_EQUAL(queue_reap(&s.queue, done, 1, 5, UINT64_MAX), 0);
		CU_ASSERT_EQUAL(s.queue.op[REQ_OPEN].operations, 12);
		queue_close(&s.queue);
	}
}

static void test_depth_is_refused_in_a_sentence(void)
{
	struct err err = {0};
	struct script s;
	struct queue q;

	script_begin(&s, &sync_ops, 1);
	CU_ASSERT_EQUAL(queue_open(&q, &s.store, 5, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "sync:// works on 4 at a time, not 5; set depth 4");
	CU_ASSERT_EQUAL(queue_open(&q, &s.store, 0, &err), -EINVAL);
	CU_ASSERT_EQUAL(queue_open(&q, &s.store, QUEUE_DEPTH_MAX + 1, &err), -EINVAL);
	queue_close(&s.queue);
}

static void count_bytes(void *argument, const struct request *req)
{
	*(uint64_t *)argument += req->answer.done_bytes;
}

static void test_observers_see_every_request(void)
{
	unsigned char data[10];
	struct object o = {0};
	struct request req = {.op = REQ_READ, .object = &o, .length = 10, .data = data},
		       *reqs[] = {&req}, *done[1];
	uint64_t bytes = 0, again = 0;
	struct script s;

	script_begin(&s, &async_ops, 1);
	queue_observe(&s.queue, count_bytes, &bytes);
	queue_observe(&s.queue, count_bytes, &again);
	for (int i = 0; i < 3; i++) {
		queue_submit(&s.queue, reqs, 1);
		CU_ASSERT_EQUAL(queue_reap(&s.queue, done, 1, 1, UINT64_MAX), 1);
	}
	CU_ASSERT_EQUAL(bytes, 30);
	CU_ASSERT_EQUAL(again, 30);
	queue_close(&s.queue);
}

static void test_queues_share_histograms(void)
{
	struct object o = {0};
	struct script a, b;

	script_begin(&a, &sync_ops, 1);
	script_begin(&b, &sync_ops, 1);
	rig_record(&a.queue, &latency);
	rig_record(&b.queue, &latency);
	for (int i = 0; i < 30; i++) {
		struct request req = {.op = i % 2 ? REQ_OPEN : REQ_STAT, .object = &o};

		a.takes_ns = b.takes_ns = (uint64_t)i * 100;
		queue_do(i % 3 ? &a.queue : &b.queue, &req);
	}
	CU_ASSERT_EQUAL(a.queue.op[REQ_OPEN].operations + b.queue.op[REQ_OPEN].operations, 15);
	CU_ASSERT_EQUAL(hist_count(&latency.service[REQ_OPEN]), 15);
	CU_ASSERT_EQUAL(latency.service[REQ_OPEN].sum_ns + latency.service[REQ_STAT].sum_ns, 43500);
	CU_ASSERT_EQUAL(latency.response[REQ_OPEN].max_ns, 2900);
	queue_clear(&a.queue);
	CU_ASSERT_EQUAL(a.queue.op[REQ_OPEN].operations, 0);
	CU_ASSERT_EQUAL(b.queue.op[REQ_OPEN].operations, 5);
	queue_close(&a.queue);
	queue_close(&b.queue);
}

static void test_buffer_has_room_for_whole_blocks(void)
{
	struct store buffered = {.alignment = 1}, direct = {.alignment = 512};

	CU_ASSERT_EQUAL(queue_buffer_bytes(&buffered, 1000), 1000);
	for (uint64_t offset = 0; offset < 1024; offset += 37) {
		for (uint64_t length = 1; length < 2000; length += 111) {
			uint64_t from = offset / 512 * 512,
				 end = (offset + length + 511) / 512 * 512;

			CU_ASSERT(queue_buffer_bytes(&direct, length) >= end - from);
		}
	}
	CU_ASSERT_EQUAL(queue_buffer_bytes(&direct, UINT64_MAX), UINT64_MAX);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"short transfers are finished", test_short_transfers_are_finished},
		{"no progress ends it", test_no_progress_ends_it},
		{"errors are counted, absence is an answer",
		 test_errors_are_counted_absence_is_an_answer},
		{"listings are checked", test_listings_are_checked},
		{"late requests are counted", test_late_requests_are_counted},
		{"two latencies", test_two_latencies},
		{"large requests are streamed", test_large_requests_are_streamed},
		{"streams run side by side", test_streams_run_side_by_side},
		{"depth bounds what is in flight", test_depth_bounds_what_is_in_flight},
		{"depth is refused in a sentence", test_depth_is_refused_in_a_sentence},
		{"observers see every request", test_observers_see_every_request},
		{"queues share histograms", test_queues_share_histograms},
		{"a buffer has room for whole blocks", test_buffer_has_room_for_whole_blocks},
		CU_TEST_INFO_NULL,
	};

	return unit_main("queue", tests);
}
