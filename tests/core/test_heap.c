/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/heap.h: whatever comes in any order goes out in order, also while more comes. */
#include "core/content/random.h"
#include "core/heap.h"
#include "tests/unit.h"

enum { ITEMS = 300, ROUNDS = 20000 };

struct item {
	uint64_t due;
	uint32_t number;
	bool in;
};

static bool before(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->due < y->due || (x->due == y->due && x->number < y->number);
}

static void in_order(void)
{
	struct item items[ITEMS];
	void *room[ITEMS];
	struct heap h = {.items = room};
	const struct item *last = NULL;

	for (uint32_t n = 0; n <= ITEMS; n = n * 2 + 1) {
		for (uint32_t i = 0; i < n; i++) {
			items[i] = (struct item){random_at(n, i, 0) % 50, i, true};
			heap_add(&h, &items[i], before);
		}
		last = NULL;
		for (uint32_t i = 0; i < n; i++) {
			const struct item *first = heap_take(&h, before);

			CU_ASSERT(!last || before(last, first));
			last = first;
		}
		CU_ASSERT_EQUAL(h.count, 0);
	}
}

/* Adds, takes and delays at random. The first one is always the least of those that are in. */
static void first_is_least(void)
{
	struct item items[ITEMS] = {{0}};
	void *room[ITEMS];
	struct heap h = {.items = room};
	uint32_t inside = 0, wrong = 0;

	for (uint32_t i = 0; i < ITEMS; i++)
		items[i].number = i;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct item *one = &items[random_at(1, round, 0) % ITEMS], *first, *least = NULL;

		if (!one->in) {
			one->in = true;
			one->due = random_at(2, round, 0) % 1000;
			heap_add(&h, one, before);
			inside++;
		} else if (round % 3) {
			first = h.items[0];
			first->due += random_at(3, round, 0) % 500;
			heap_replace(&h, first, before);
		} else {
			first = heap_take(&h, before);
			first->in = false;
			inside--;
		}
		for (uint32_t i = 0; i < ITEMS; i++)
			if (items[i].in && (!least || before(&items[i], least)))
				least = &items[i];
		wrong += h.count != inside || (inside && h.items[0] != least);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
	CU_TestInfo tests[] = {{"in order", in_order},
			       {"the first is the least", first_is_least},
			       CU_TEST_INFO_NULL};

	return unit_main("heap", tests);
}
