/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of small objects with 256 requests in flight, against a real server
 * (tests/servers/run.py): connections are reused, and memory does not grow with the number of
 * objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/backends/rig.h"
#include "tests/unit.h"

enum { DEPTH = 256, BYTES = 4096, GROWTH_MAX_KIB = 32 << 10 };

static struct request reqs[DEPTH], *done[DEPTH];
static struct object objects[DEPTH];
static char data[DEPTH][BYTES];
static unsigned count; /* number of objects */

/* Peak resident memory of this program so far. */
static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %ld", &kib);
	if (f)
		fclose(f);
	return kib;
}

static void fill(char *to, unsigned number)
{
	for (unsigned i = 0; i < BYTES; i++)
		to[i] = (char)(number * 31 + i * 7);
}

/* Sends the request of kind op for the object in this slot. */
static void send(struct queue *q, uint32_t slot, enum request_op op)
{
	struct request *one = &reqs[slot];

	reqs[slot] = (struct request){
		.op = op, .object = &objects[slot], .length = BYTES, .data = data[slot]};
	CU_ASSERT_EQUAL_FATAL(queue_submit(q, &one, 1), 0);
}

static void start(struct queue *q, uint32_t slot, unsigned number, enum request_op op)
{
	memset(&objects[slot], 0, sizeof(objects[slot]));
	snprintf(objects[slot].key, sizeof(objects[slot].key), "many/%05u", number);
	if (op == REQ_BEGIN)
		fill(data[slot], number);
	else
		memset(data[slot], 0, BYTES);
	send(q, slot, op);
}

static void check(uint32_t slot)
{
	char wanted[BYTES];

	fill(wanted, (unsigned)strtoul(objects[slot].key + 5, NULL, 10));
	CU_ASSERT_EQUAL_FATAL(memcmp(data[slot], wanted, BYTES), 0);
}

/* The steps of an object are done one after the other, those of 256 objects at the same time. */
static void run(struct queue *q, const enum request_op *steps)
{
	unsigned next = 0, over = 0;
	uint32_t n;

	for (; next < DEPTH; next++)
		start(q, next, next, steps[0]);
	while (over < count) {
		n = queue_reap(q, done, 1, DEPTH, UINT64_MAX);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t slot = (uint32_t)(done[i] - reqs), k = 0;

			CU_ASSERT_EQUAL_FATAL(done[i]->answer.status, 0);
			while (steps[k] != done[i]->op)
				k++;
			if (done[i]->op == REQ_READ)
				check(slot);
			if (steps[k + 1] != REQ_OPS) {
				send(q, slot, steps[k + 1]);
				continue;
			}
			over++;
			if (next < count)
				start(q, slot, next++, steps[0]);
		}
	}
}

static void test_many(void)
{
	static const enum request_op write[] = {REQ_BEGIN, REQ_WRITE, REQ_COMMIT, REQ_OPS};
	static const enum request_op read[] = {REQ_READ, REQ_OPS};
	static const enum request_op drop[] = {REQ_DELETE, REQ_OPS};
	const char *sanitized = getenv("HAUL_SANITIZED");
	const struct endpoint_counts *counts;
	struct clock real;
	struct queue q;
	struct rig r;
	long before;

	count = unit_full() ? 10000 : 1000;
	rig_init(&r);
	clock_init(&real);
	r.clock = &real;
	CU_ASSERT_EQUAL_FATAL(rig_open(&r, getenv("HAUL_TEST_STORE")), 0);
	memset(data, 1, sizeof(data));
	before = resident_kib();
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, DEPTH, &r.err), 0);
	run(&q, write);
	run(&q, read);
	run(&q, drop);
	counts = &q.endpoint_counts[0];
	printf("%llu requests, %llu connections, %ld KiB more resident\n",
	       (unsigned long long)counts->requests, (unsigned long long)counts->connections,
	       resident_kib() - before);
	/* Per object: a PUT and a HEAD, a GET, a DELETE. */
	CU_ASSERT_EQUAL(counts->requests - counts->failures, 4 * count);
	CU_ASSERT(counts->connections - counts->fault[REQ_FAULT_BROKEN] <= DEPTH);
	/* A sanitizer keeps freed memory for a while. */
	if (!sanitized || strcmp(sanitized, "1") != 0)
		CU_ASSERT(before > 0 && resident_kib() - before < GROWTH_MAX_KIB);
	queue_close(&q);
	rig_close(&r);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"many", test_many},
		CU_TEST_INFO_NULL,
	};

	if (!getenv("HAUL_TEST_STORE")) {
		fprintf(stderr, "HAUL_TEST_STORE is not set: see tests/servers/run.py\n");
		return 1;
	}
	return unit_main("many", tests);
}
