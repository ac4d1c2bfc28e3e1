/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of the queue per operation: null:// does nothing, so all of the time is haul's own. Both
 * latencies are recorded for each operation. Each figure is the median of 7 rounds; one round
 * before them warms up, and on a busy machine the slowest round is far from the fastest. Then the
 * memory of a queue. */
#include <cjson/cJSON.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/op_log/op_log.h"
#include "backends/queue/queue.h"
#include "core/arena.h"

enum { ROUNDS = 7, OPERATIONS = 2000000, BOUND_PS = 100000, BURSTS = 40, BURST = 4000 };

#define BURST_EVERY_NS 25000000u

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double clock_read_ns(void)
{
	uint64_t start = clock_kernel_ns();

	for (int i = 0; i < OPERATIONS - 1; i++)
		clock_kernel_ns();
	return (double)(clock_kernel_ns() - start) / OPERATIONS;
}

static double reader_read_ns(const struct clock *c)
{
	uint64_t start = clock_kernel_ns();
	struct clock_reader r;

	clock_reader_init(&r, c);
	for (int i = 0; i < OPERATIONS; i++)
		clock_read(&r);
	return (double)(clock_kernel_ns() - start) / OPERATIONS;
}

static double do_ns(struct queue *q, struct object *o)
{
	uint64_t start = clock_kernel_ns();

	for (uint64_t i = 0; i < OPERATIONS; i++) {
		struct request req = {
			.op = REQ_READ, .object = o, .offset = i << 20, .length = 1 << 20};

		queue_do(q, &req);
	}
	return (double)(clock_kernel_ns() - start) / OPERATIONS;
}

/* As a reader does it: requests are submitted in one place and received in another. */
static double submit_reap_ns(struct queue *q, struct object *o)
{
	struct request req = {.op = REQ_READ, .object = o, .length = 1 << 20}, *list[] = {&req},
		       *done[1];
	uint64_t start = clock_kernel_ns();

	for (uint64_t i = 0; i < OPERATIONS; i++) {
		req.offset = i << 20;
		queue_submit(q, list, 1);
		queue_reap(q, done, 1, 1, UINT64_MAX);
	}
	return (double)(clock_kernel_ns() - start) / OPERATIONS;
}

static void record(struct queue *q, struct hist hists[2])
{
	queue_record(q, REQ_READ,
		     &(struct queue_latency){.service = &hists[0], .response = &hists[1]});
}

/* Bytes that malloc has handed out, its own headers included. */
static size_t heap_bytes(void)
{
	return mallinfo2().uordblks;
}

/* Memory of the queue and its channel on a store that is described as in a job. */
static void print_memory(const char *what, const char *json)
{
	static const uint32_t depths[] = {1, 64};
	struct rank_place place = {.ranks = 1, .nodes = 1, .local_ranks = 1};
	cJSON *object = cJSON_Parse(json);
	struct job_store described = {.name = "s"};
	char scheme[URI_SCHEME_BYTES];
	struct arena arena = {0};
	struct store store = {0};
	struct clock clock;
	struct log log;

	clock_init(&clock);
	log_init(&log, -1, LOG_ERROR, 0, 1);
	uri_scheme(cJSON_GetStringValue(cJSON_GetObjectItem(object, "uri")), scheme, NULL);
	described.section = &backend_find(scheme)->section;
	described.options = arena_alloc(&arena, described.section->size);
	options_parse(described.section->tables, described.options, object, "/s", &arena, NULL);
	cJSON_Delete(object);
	store_open(&store, &described,
		   &(struct store_opener){.place = &place, .clock = &clock, .log = &log}, NULL);
	for (unsigned i = 0; store.ops && i < 2; i++) {
		size_t before = heap_bytes();
		struct queue q;

		if (queue_open(&q, &store, depths[i], NULL) < 0)
			continue;
		printf("a queue on %-17s %7zu B at depth %u\n", what,
		       sizeof(q) + heap_bytes() - before, depths[i]);
		queue_close(&q);
	}
	store_close(&store);
	arena_free(&arena);
}

static void print(const char *what, double ns[ROUNDS])
{
	qsort(ns, ROUNDS, sizeof(ns[0]), by_value);
	printf("%-28s %7.1f ns   (%.1f to %.1f)\n", what, ns[ROUNDS / 2], ns[0], ns[ROUNDS - 1]);
}

/* Requests at the rate at which storage completes them: the writer thread of the log keeps up, so
 * the rings stay short. A ring holds a whole burst, and the pause after each burst gives the thread
 * time to empty it. */
static double bursts_ns(struct queue *q, struct object *o)
{
	uint64_t spent = 0, start;

	for (int b = 0; b < BURSTS; b++) {
		start = clock_kernel_ns();
		for (uint64_t i = 0; i < BURST; i++) {
			struct request req = {
				.op = REQ_READ, .object = o, .offset = i << 20, .length = 1 << 20};

			queue_do(q, &req);
		}
		spent += clock_kernel_ns() - start;
		clock_sleep_until(q->channel.store->clock, start + BURST_EVERY_NS);
	}
	return (double)spent / BURSTS / BURST;
}

/* The additional cost of a request's row in the operation log. */
static void logged(struct store *store, struct object *o)
{
	struct op_log_options options = {
		.path = "bench_queue.tsv.zst", .force = true, .ranks = 1, .rows = OP_LOG_ROWS};
	double with[ROUNDS], without[ROUNDS], costs[ROUNDS];
	struct queue plain, logging;
	static struct hist hists[2];
	uint64_t rows, dropped;
	struct op_log *log;
	struct err err;

	if (op_log_open(&log, &options, &err) < 0) {
		printf("no operation log: %s\n", err.text);
		return;
	}
	queue_open(&plain, store, 1, NULL);
	store->op_log = log;
	queue_open(&logging, store, 1, NULL);
	record(&plain, hists);
	record(&logging, hists);
	for (int i = 0; i < ROUNDS; i++) {
		without[i] = bursts_ns(&plain, o);
		with[i] = bursts_ns(&logging, o);
		costs[i] = with[i] - without[i];
	}
	print("bursts of queue_do", without);
	print("with the operation log", with);
	print("a row costs", costs);
	queue_close(&logging);
	queue_close(&plain);
	op_log_close(log, &rows, &dropped, &err);
	printf("%llu rows, %llu requests without one\n", (unsigned long long)rows,
	       (unsigned long long)dropped);
	remove(options.path);
}

int main(void)
{
	struct store_options options = {.uri = {.count = 1, .items = (char *[]){"null://"}}};
	struct job_store described = {.name = "null", .options = &options};
	struct rank_place place = {.ranks = 1, .nodes = 1, .local_ranks = 1};
	struct object o = {.key = "train/0000042/img_0001234_of_4300800.npz"};
	double clocks[ROUNDS], readers[ROUNDS], whole[ROUNDS], split[ROUNDS];
	struct store store;
	struct clock clock;
	struct log log;
	struct err err;
	static struct hist hists[2];
	struct queue q;

	described.section = &backend_find("null")->section;
	clock_init(&clock);
	clock_learn_counter(&clock, CLOCK_SOURCE);
	log_init(&log, -1, LOG_ERROR, 0, 1);
	if (store_open(&store, &described,
		       &(struct store_opener){.place = &place, .clock = &clock, .log = &log},
		       &err) < 0 ||
	    queue_open(&q, &store, 1, &err) < 0) {
		fprintf(stderr, "bench_queue: %s\n", err.text);
		return 1;
	}
	record(&q, hists);
	do_ns(&q, &o);
	for (int i = 0; i < ROUNDS; i++) {
		clocks[i] = clock_read_ns();
		readers[i] = reader_read_ns(&clock);
		whole[i] = do_ns(&q, &o);
		split[i] = submit_reap_ns(&q, &o);
	}
	print("one read of the clock", clocks);
	print("one read by a reader", readers);
	print("queue_do on null://", whole);
	print("queue_submit, queue_reap", split);
	printf("the bound is %.2f us per operation: %s\n", BOUND_PS / 1e6,
	       split[ROUNDS / 2] <= BOUND_PS / 1e3 ? "held" : "missed");
	queue_close(&q);
	logged(&store, &o);
	store_close(&store);
	print_memory("null://", "{\"uri\": \"null://\"}");
	print_memory("sim://", "{\"uri\": \"sim://\"}");
	print_memory("file:// uring", "{\"uri\": \"file:///tmp\", \"engine\": \"uring\"}");
	return 0;
}
