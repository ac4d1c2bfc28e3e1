/* SPDX-License-Identifier: Apache-2.0 */
/* Operations under way: each waits for what it must wait for, and for nothing else. */
#include <stdlib.h>

#include "core/content/random.h"
#include "tests/unit.h"
#include "workloads/kvcache/tiers/operations.h"

enum { LIVE_MAX = 200, ROUNDS = 4000 };

static struct kv_operation make(enum kv_operation_kind kind, uint64_t id, uint32_t priority)
{
	return (struct kv_operation){.kind = kind, .id = {0, id}, .priority = priority};
}

static struct kv_operation *add(struct kv_operations *o, enum kv_operation_kind kind, uint64_t id,
				uint32_t priority, struct kv_operation *after)
{
	struct kv_operation op = make(kind, id, priority);

	return kv_operations_add(o, &op, after);
}

static void test_entry(void)
{
	struct kv_operations o;
	struct kv_operation *write, *read[2], *gone, *again;

	CU_ASSERT_EQUAL_FATAL(kv_operations_init(&o), 0);
	write = add(&o, KV_OPERATION_WRITE, 1, 0, NULL);
	read[0] = add(&o, KV_OPERATION_READ, 1, 0, NULL);
	read[1] = add(&o, KV_OPERATION_READ, 1, 0, NULL);
	gone = add(&o, KV_OPERATION_DELETE, 1, 0, NULL);
	again = add(&o, KV_OPERATION_WRITE, 1, 0, NULL);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), write);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), NULL);
	kv_operations_end(&o, write);
	/* Reads run side by side; what changes the entry waits for all of them. */
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), read[0]);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), read[1]);
	kv_operations_end(&o, read[1]);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), NULL);
	kv_operations_end(&o, read[0]);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), gone);
	kv_operations_end(&o, gone);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), again);
	kv_operations_end(&o, again);
	CU_ASSERT_EQUAL(o.under_way, 0);
	kv_operations_free(&o);
}

static void test_chain(void)
{
	struct kv_operations o;
	struct kv_operation *evict, *move, *write, *other;

	CU_ASSERT_EQUAL_FATAL(kv_operations_init(&o), 0);
	evict = add(&o, KV_OPERATION_DELETE, 1, 0, NULL);
	move = add(&o, KV_OPERATION_MOVE, 2, 0, evict);
	write = add(&o, KV_OPERATION_WRITE, 3, 0, move);
	other = add(&o, KV_OPERATION_WRITE, 4, 0, NULL);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), evict);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), other);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), NULL);
	kv_operations_end(&o, evict);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), move);
	kv_operations_end(&o, other);
	kv_operations_end(&o, move);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), write);
	kv_operations_end(&o, write);
	kv_operations_free(&o);
}

static void test_priority(void)
{
	struct kv_operations o;
	struct kv_operation *batch, *interactive, *batch_too;

	CU_ASSERT_EQUAL_FATAL(kv_operations_init(&o), 0);
	batch = add(&o, KV_OPERATION_READ, 1, 2, NULL);
	batch_too = add(&o, KV_OPERATION_READ, 2, 2, NULL);
	interactive = add(&o, KV_OPERATION_READ, 3, 0, NULL);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), interactive);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), batch);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), batch_too);
	CU_ASSERT_EQUAL(kv_operations_take(&o, KV_PRIORITIES), NULL);
	kv_operations_free(&o);
}

/* At random, beside a list in which everything is looked for. */
struct live {
	struct kv_operation *number, *before; /* in its chain; NULL */
	uint64_t id;
	bool reads, running;
};
static struct live live[LIVE_MAX]; /* in the order in which they were added */
static uint32_t live_count;

/* Whether the operation may run, as the header says it. */
static bool live_may_run(uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if ((live[i].id == live[at].id && !(live[i].reads && live[at].reads)) ||
		    live[i].number == live[at].before)
			return false;
	return true;
}

static void live_remove(uint32_t at)
{
	for (uint32_t i = at; i + 1 < live_count; i++)
		live[i] = live[i + 1];
	live_count--;
}

/* Takes all that may begin, and checks that it is right and that nothing was left. */
static void live_take(struct kv_operations *o)
{
	struct kv_operation *number;
	uint32_t at;

	while ((number = kv_operations_take(o, KV_PRIORITIES)) != NULL) {
		for (at = 0; at < live_count && live[at].number != number; at++)
			;
		CU_ASSERT_FATAL(at < live_count && !live[at].running && live_may_run(at));
		live[at].running = true;
	}
	for (at = 0; at < live_count && (live[at].running || !live_may_run(at)); at++)
		;
	CU_ASSERT_EQUAL(at, live_count);
}

static void live_add(struct kv_operations *o, struct random *random)
{
	struct kv_operation *after = NULL;
	uint32_t length = 1 + (uint32_t)(random_next(random) % 4);

	for (uint32_t i = 0; i < length && live_count < LIVE_MAX; i++) {
		struct live *l = &live[live_count];

		*l = (struct live){.before = after,
				   .id = random_next(random) % 40,
				   .reads = random_next(random) % 2 == 0};
		l->number = after = add(o, l->reads ? KV_OPERATION_READ : KV_OPERATION_WRITE, l->id,
					(uint32_t)(random_next(random) % 3), after);
		live_count++;
	}
}

static void test_random(void)
{
	struct random random = {.key = 9};
	struct kv_operations o;

	CU_ASSERT_EQUAL_FATAL(kv_operations_init(&o), 0);
	for (int i = 0; i < ROUNDS || live_count; i++) {
		/* There are more and more, then fewer and fewer. */
		if (i < ROUNDS && random_next(&random) % 100 < (i / 500 % 2 ? 30 : 55))
			live_add(&o, &random);
		live_take(&o);
		for (uint32_t at = live_count ? (uint32_t)(random_next(&random) % live_count) : 0;
		     at < live_count; at++)
			if (live[at].running) {
				kv_operations_end(&o, live[at].number);
				live_remove(at);
				break;
			}
		CU_ASSERT_EQUAL(o.under_way, live_count);
	}
	kv_operations_free(&o);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"operations of an entry", test_entry},
		{"chains", test_chain},
		{"priorities", test_priority},
		{"at random", test_random},
		CU_TEST_INFO_NULL,
	};

	return unit_main("operations", tests);
}
