/* What the queue costs an operation: null:// does nothing, so all of its time is haul's own. Both
 * latencies are recorded for each. The median of 7 rounds, after one that warms up; a busy machine
 * shows in how far the slowest is from the fastest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue.h"

enum { ROUNDS = 7, OPERATIONS = 2000000, BOUND_PS = 100000 };

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

static double do_ns(struct queue *q, struct object *o)
{
	uint64_t start = clock_kernel_ns();

	for (uint64_t i = 0; i < OPERATIONS; i++) {
		struct io io = {.op = IO_READ, .object = o, .offset = i << 20, .length = 1 << 20};

		queue_do(q, &io);
	}
	return (double)(clock_kernel_ns() - start) / OPERATIONS;
}

/* As a worker does it: submitted in one place, received in another. */
static double submit_reap_ns(struct queue *q, struct object *o)
{
	struct io io = {.op = IO_READ, .object = o, .length = 1 << 20}, *list[] = {&io}, *done[1];
	uint64_t start = clock_kernel_ns();

	for (uint64_t i = 0; i < OPERATIONS; i++) {
		io.offset = i << 20;
		queue_submit(q, list, 1);
		queue_reap(q, done, 1, 1, UINT64_MAX);
	}
	return (double)(clock_kernel_ns() - start) / OPERATIONS;
}

static void print(const char *what, double ns[ROUNDS])
{
	qsort(ns, ROUNDS, sizeof(ns[0]), by_value);
	printf("%-28s %7.1f ns   (%.1f to %.1f)\n", what, ns[ROUNDS / 2], ns[0], ns[ROUNDS - 1]);
}

int main(void)
{
	struct store_options options = {.uri = {.count = 1, .items = (char *[]){"null://"}}};
	struct job_store described = {.name = "null", .options = &options};
	struct place place = {.ranks = 1, .nodes = 1, .local_ranks = 1};
	struct object o = {.key = "x"};
	double clocks[ROUNDS], whole[ROUNDS], split[ROUNDS];
	struct store store;
	struct clock clock;
	struct log log;
	struct err err;
	struct queue q;

	described.section = &backend_find("null")->section;
	clock_init(&clock);
	log_init(&log, -1, LOG_ERROR, 0, 1);
	if (store_open(&store, &described, &place, NULL, &clock, &log, 1, &err) < 0 ||
	    queue_open(&q, &store, 1, &err) < 0) {
		fprintf(stderr, "bench_queue: %s\n", err.text);
		return 1;
	}
	do_ns(&q, &o);
	for (int i = 0; i < ROUNDS; i++) {
		clocks[i] = clock_read_ns();
		whole[i] = do_ns(&q, &o);
		split[i] = submit_reap_ns(&q, &o);
	}
	print("one read of the clock", clocks);
	print("queue_do on null://", whole);
	print("queue_submit, queue_reap", split);
	printf("the bound is %.2f us an operation: %s\n", BOUND_PS / 1e6,
	       split[ROUNDS / 2] <= BOUND_PS / 1e3 ? "held" : "missed");
	queue_close(&q);
	store_close(&store);
	return 0;
}
