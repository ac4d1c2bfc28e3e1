/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the writer: every byte of an object reaches the store once and unchanged, whatever the
 * numbers of buffers, writes in flight, fillers and writers, and in whatever order the store
 * completes writes. After the first error, the writer ends with all of its buffers returned. The
 * stores of this test read a write's bytes only when they complete it. */
#include "workloads/common/writer.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/unit.h"

enum { OBJECT_MAX = 1 << 20, PIECES = 150, WRITERS_MAX = 4 };

struct disk {
	uint8_t *bytes;                         /* [OBJECT_MAX] */
	_Atomic uint32_t times[OBJECT_MAX / 8]; /* writes of each eighth byte */
	_Atomic uint64_t writes, wrong;         /* wrong: requests that no writer may make */
	uint64_t fail_at;                       /* the number of the write that fails; 0: none */
	struct clock clock;
	struct store_options options;
	struct store store;
};

/* Requests that a channel has not completed yet. */
struct held {
	struct request *requests[WRITER_PIECES_MAX];
	uint32_t count;
	struct random random;
};

static void disk_write(struct disk *d, struct request *req)
{
	bool fails = atomic_fetch_add(&d->writes, 1) + 1 == d->fail_at;
	const uint8_t *data = req->data;

	if (req->offset + req->length > OBJECT_MAX) {
		atomic_fetch_add(&d->wrong, 1);
		return;
	}
	req->answer.status = fails ? -ENOSPC : 0;
	req->answer.done_bytes = fails ? 0 : req->length;
	if (fails)
		return;
	if (data)
		memcpy(d->bytes + req->offset, data, req->length);
	for (uint64_t at = (req->offset + 7) / 8 * 8; at < req->offset + req->length; at += 8)
		atomic_fetch_add_explicit(&d->times[at / 8], 1, memory_order_relaxed);
}

static void now_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		disk_write(c->store->state, reqs[i]);
}

static int later_open(struct channel *c, struct err *err)
{
	struct held *h = calloc(1, sizeof(*h));

	(void)err;
	h->random.key = (uintptr_t)h;
	c->state = h;
	return 0;
}

static void later_close(struct channel *c)
{
	free(c->state);
}

static void later_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	struct held *h = c->state;

	for (uint32_t i = 0; i < n; i++)
		h->requests[h->count++] = reqs[i];
}

/* Completes some of its requests, in any order. */
static uint32_t later_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
			   uint64_t deadline_ns)
{
	struct held *h = c->state;
	uint32_t n = 0, wanted = min + (uint32_t)(random_next(&h->random) % 3);

	(void)deadline_ns;
	while (n < wanted && n < max && h->count) {
		uint32_t i = (uint32_t)(random_next(&h->random) % h->count);

		done[n] = h->requests[i];
		h->requests[i] = h->requests[--h->count];
		disk_write(c->store->state, done[n++]);
	}
	return n;
}

static const struct backend_ops now_ops = {
	.scheme = "now", .capabilities = BACKEND_CONTENT, .depth_max = 64, .submit = now_submit};
static const struct backend_ops later_ops = {.scheme = "later",
					     .capabilities = BACKEND_CONTENT,
					     .depth_max = 64,
					     .channel_open = later_open,
					     .channel_close = later_close,
					     .submit = later_submit,
					     .reap = later_reap};
static const struct backend_ops empty_ops = {
	.scheme = "empty", .depth_max = 64, .submit = now_submit};

static uint8_t byte_at(uint64_t at)
{
	return (uint8_t)(mix64(at / 8 + 1) >> (at % 8 * 8));
}

static void image(const void *argument, uint64_t at, void *to, uint64_t bytes)
{
	uint8_t *out = to;

	(void)argument;
	for (uint64_t i = 0; i < bytes; i++)
		out[i] = byte_at(at + i);
	if (mix64(at) % 8 == 0)
		sched_yield();
}

struct setup {
	const struct backend_ops *ops;
	uint32_t depth, buffers, fillers, writers;
	uint64_t buffer_bytes, piece, size, fail_at, halt_at;
	bool whole; /* the object has memory for all of its bytes, and the writers have none */
};

struct bench {
	const struct setup *setup;
	struct disk disk;
	struct fillers fillers;
	struct queue queues[WRITERS_MAX];
	struct writer writers[WRITERS_MAX];
	struct object objects[WRITERS_MAX];
	struct writer_object what[WRITERS_MAX];
	void *memory[WRITERS_MAX], *whole;
	int (*work)(struct writer *w,
		    const struct writer_object *object); /* writer_put, writer_make */
	_Atomic uint64_t next, written_bytes;
	_Atomic bool halt;
	_Atomic uint64_t failures;
	int rc[WRITERS_MAX];
};

static int write_failed(void *argument, const struct request *req, int rc)
{
	struct bench *b = argument;

	atomic_fetch_add(req->answer.status == rc ? &b->failures : &b->disk.wrong, 1);
	return -EIO;
}

static void write_done(void *argument, struct object *object, uint64_t at, uint64_t length)
{
	struct bench *b = argument;

	(void)object;
	if (b->setup->halt_at && at >= b->setup->halt_at)
		atomic_store(&b->halt, true);
	atomic_fetch_add(&b->written_bytes, length);
}

static void bench_open(struct bench *b, const struct setup *s)
{
	memset(b, 0, sizeof(*b));
	b->setup = s;
	b->disk.bytes = malloc(OBJECT_MAX);
	b->whole = s->whole ? calloc(1, s->size + 1) : NULL;
	b->disk.fail_at = s->fail_at;
	clock_init(&b->disk.clock);
	b->disk.store = (struct store){.ops = s->ops,
				       .options = &b->disk.options,
				       .clock = &b->disk.clock,
				       .alignment = 1,
				       .state = &b->disk};
	CU_ASSERT_EQUAL_FATAL(
		fillers_open(&b->fillers, s->fillers, s->writers, &b->disk.clock, NULL), 0);
	for (uint32_t i = 0; i < s->writers; i++) {
		bool buffers = s->ops->capabilities & BACKEND_CONTENT && !s->whole;

		CU_ASSERT_EQUAL_FATAL(queue_open(&b->queues[i], &b->disk.store, s->depth, NULL), 0);
		b->memory[i] = buffers ? malloc(s->buffers * s->buffer_bytes) : NULL;
		b->what[i] = (struct writer_object){.object = &b->objects[i],
						    .size = s->size,
						    .piece = s->piece,
						    .bytes = b->whole,
						    .image = image,
						    .next = s->writers > 1 ? &b->next : NULL};
		b->writers[i] = (struct writer){.queue = &b->queues[i],
						.fillers = s->fillers ? &b->fillers : NULL,
						.memory = b->memory[i],
						.buffer_bytes = s->buffer_bytes,
						.buffers = s->buffers,
						.depth = s->depth,
						.halt = &b->halt,
						.failed = write_failed,
						.written = write_done,
						.argument = b};
		CU_ASSERT_EQUAL_FATAL(writer_open(&b->writers[i], NULL), 0);
	}
}

static void bench_close(struct bench *b)
{
	fillers_close(&b->fillers);
	for (uint32_t i = 0; i < b->setup->writers; i++) {
		writer_close(&b->writers[i]);
		queue_close(&b->queues[i]);
		free(b->memory[i]);
	}
	free(b->disk.bytes);
	free(b->whole);
}

struct writer_context {
	struct bench *bench;
	uint32_t number;
};

static void *writer_main(void *argument)
{
	const struct writer_context *s = argument;
	struct bench *b = s->bench;

	b->rc[s->number] = b->work(&b->writers[s->number], &b->what[s->number]);
	return NULL;
}

/* Does the work on one object with as many threads as there are writers. */
static void all_work(struct bench *b, int (*work)(struct writer *w, const struct writer_object *o))
{
	struct writer_context contexts[WRITERS_MAX];
	pthread_t threads[WRITERS_MAX];

	b->work = work;
	atomic_store(&b->next, 0);
	for (uint32_t i = 0; i < b->setup->writers; i++) {
		contexts[i] = (struct writer_context){b, i};
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, writer_main, &contexts[i]),
				      0);
	}
	for (uint32_t i = 0; i < b->setup->writers; i++)
		pthread_join(threads[i], NULL);
	CU_ASSERT_EQUAL(b->disk.wrong, 0);
	/* All requests and buffers were returned. */
	for (uint32_t i = 0; i < b->setup->writers; i++) {
		CU_ASSERT_EQUAL(b->queues[i].in_flight, 0);
		CU_ASSERT_EQUAL(b->writers[i].idle_count, b->setup->buffers);
		CU_ASSERT_EQUAL(b->writers[i].made_count, 0);
	}
}

static void put(struct bench *b)
{
	all_work(b, writer_put);
}

static void expect_written(const struct bench *b, uint32_t times)
{
	const struct setup *s = b->setup;
	uint64_t wrong = 0;

	for (uint64_t at = 0; at < s->size; at += 8)
		wrong += b->disk.times[at / 8] != times;
	CU_ASSERT_EQUAL(wrong, 0);
	for (uint64_t at = 0; s->ops->capabilities & BACKEND_CONTENT && at < s->size; at++)
		wrong += b->disk.bytes[at] != byte_at(at);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(b->written_bytes, times * s->size);
	for (uint32_t i = 0; i < s->writers; i++)
		CU_ASSERT_EQUAL(b->rc[i], 0);
}

static struct bench bench;

static void test_every_byte_once(void)
{
	static const struct backend_ops *const stores[] = {&now_ops, &later_ops, &empty_ops};
	static const struct {
		uint32_t depth, buffers;
	} shapes[] = {{1, 1}, {1, 2}, {1, 4}, {2, 3}, {7, 7}, {7, 20}, {64, 64}};
	static const uint32_t fillers[] = {0, 1, 4}, writers[] = {1, 4};
	static const uint64_t sizes[] = {0, 1, 1000, 1001, 2000, 1000 * PIECES + 13};

	for (unsigned i = 0; i < 3 * 7 * 3 * 2 * 6; i++) {
		const struct setup s = {
			.ops = stores[i % 3],
			.depth = shapes[i / 3 % 7].depth,
			.buffers = shapes[i / 3 % 7].buffers,
			.fillers = fillers[i / (3 * 7) % 3],
			.writers = writers[i / (3 * 7 * 3) % 2],
			.size = sizes[i / (3 * 7 * 3 * 2)],
			.buffer_bytes = 1000,
			.piece = 1000,
		};

		bench_open(&bench, &s);
		put(&bench);
		expect_written(&bench, 1);
		/* A second object, with the same writers. */
		put(&bench);
		expect_written(&bench, 2);
		CU_ASSERT_TRUE(!s.fillers || s.ops == &empty_ops || bench.writers[0].fill_ns ||
			       bench.writers[1].fill_ns || bench.writers[2].fill_ns ||
			       bench.writers[3].fill_ns || !s.size);
		bench_close(&bench);
	}
}

/* All bytes are made before the first one is written, and the same bytes may be written again. */
static void test_whole_objects(void)
{
	static const struct backend_ops *const stores[] = {&now_ops, &later_ops, &empty_ops};
	static const struct {
		uint32_t depth, buffers;
	} shapes[] = {{1, 1}, {1, 4}, {7, 20}};
	static const uint32_t fillers[] = {0, 1, 4}, writers[] = {1, 4};
	static const uint64_t sizes[] = {0, 999, 1000 * PIECES + 13};

	for (unsigned i = 0; i < 3 * 3 * 3 * 2 * 3; i++) {
		const struct setup s = {
			.ops = stores[i % 3],
			.depth = shapes[i / 3 % 3].depth,
			.buffers = shapes[i / 3 % 3].buffers,
			.fillers = fillers[i / 9 % 3],
			.writers = writers[i / 27 % 2],
			.size = sizes[i / 54],
			.buffer_bytes = 1000,
			.piece = 1000,
			.whole = true,
		};
		uint64_t wrong = 0;

		bench_open(&bench, &s);
		all_work(&bench, writer_make);
		CU_ASSERT_EQUAL(bench.disk.writes, 0);
		for (uint64_t at = 0; at < s.size; at++)
			wrong += ((uint8_t *)bench.whole)[at] != byte_at(at);
		CU_ASSERT_EQUAL(wrong, 0);
		put(&bench);
		expect_written(&bench, 1);
		put(&bench);
		expect_written(&bench, 2);
		for (uint32_t w = 0; w < s.writers; w++)
			CU_ASSERT_EQUAL(bench.writers[w].fill_ns, 0);
		bench_close(&bench);
	}
}

/* A store may want parts that are larger than a buffer; they are filled piece by piece. */
static void test_pieces_beyond_the_buffer(void)
{
	static const struct backend_ops *const stores[] = {&now_ops, &later_ops};

	for (unsigned i = 0; i < 8; i++) {
		const struct setup s = {
			.ops = stores[i % 2],
			.depth = i / 2 % 2 ? 5 : 1,
			.buffers = 6,
			.fillers = i / 4,
			.writers = 1,
			.size = 640000 + 5,
			.buffer_bytes = 1000,
			.piece = 64000,
		};

		bench_open(&bench, &s);
		put(&bench);
		expect_written(&bench, 1);
		bench_close(&bench);
	}
}

static void test_first_error_ends_an_object(void)
{
	static const struct backend_ops *const stores[] = {&now_ops, &later_ops};

	for (unsigned i = 0; i < 2 * 3 * 2 * 3; i++) {
		static const uint64_t fail_at[] = {1, 50, PIECES};
		const struct setup s = {
			.ops = stores[i % 2],
			.depth = i / 2 % 3 ? 8 : 1,
			.buffers = 12,
			.fillers = i / 2 % 3,
			.writers = i / 6 % 2 ? 3 : 1,
			.size = 1000 * PIECES,
			.buffer_bytes = 1000,
			.piece = 1000,
			.fail_at = fail_at[i / 12],
		};
		int failed = 0;

		bench_open(&bench, &s);
		put(&bench);
		for (uint32_t w = 0; w < s.writers; w++) {
			CU_ASSERT_TRUE(bench.rc[w] == 0 || bench.rc[w] == -EIO);
			failed += bench.rc[w] == -EIO;
		}
		CU_ASSERT_EQUAL(failed, 1);
		CU_ASSERT_EQUAL(bench.failures, 1);
		if (s.writers == 1)
			CU_ASSERT_TRUE(bench.disk.writes < s.fail_at + s.depth);
		/* Nothing of the error remains for the next object. */
		bench.disk.fail_at = 0;
		memset((void *)bench.disk.times, 0, sizeof(bench.disk.times));
		bench.written_bytes = 0;
		put(&bench);
		expect_written(&bench, 1);
		bench_close(&bench);
	}
}

/* A writer that is to halt leaves the bytes of an object unmade, and has its buffers back. */
static void test_halt_while_making(void)
{
	for (uint32_t fillers = 0; fillers < 3; fillers++) {
		const struct setup s = {
			.ops = &now_ops,
			.depth = 4,
			.buffers = 8,
			.fillers = fillers,
			.writers = 3,
			.size = 1000 * PIECES,
			.buffer_bytes = 1000,
			.piece = 1000,
			.whole = true,
		};

		bench_open(&bench, &s);
		atomic_store(&bench.halt, true);
		all_work(&bench, writer_make);
		for (uint32_t w = 0; w < s.writers; w++)
			CU_ASSERT_EQUAL(bench.rc[w], -ECANCELED);
		CU_ASSERT_EQUAL(bench.disk.writes, 0);
		bench_close(&bench);
	}
}

static void test_halt(void)
{
	for (uint32_t fillers = 0; fillers < 3; fillers++) {
		const struct setup s = {
			.ops = &later_ops,
			.depth = 4,
			.buffers = 8,
			.fillers = fillers,
			.writers = 1,
			.size = 1000 * PIECES,
			.buffer_bytes = 1000,
			.piece = 1000,
			.halt_at = 100000,
		};

		bench_open(&bench, &s);
		put(&bench);
		CU_ASSERT_EQUAL(bench.rc[0], -ECANCELED);
		CU_ASSERT_TRUE(bench.disk.writes >= 97 && bench.disk.writes < 120);
		bench_close(&bench);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"every byte once", test_every_byte_once},
		{"whole objects", test_whole_objects},
		{"pieces beyond the buffer", test_pieces_beyond_the_buffer},
		{"the first error ends an object", test_first_error_ends_an_object},
		{"halt", test_halt},
		{"halt while bytes are made", test_halt_while_making},
		CU_TEST_INFO_NULL,
	};

	return unit_main("writer", tests);
}
