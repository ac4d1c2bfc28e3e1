/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/list.h: a line keeps its order, a stack turns it round, and a member leaves from
 * anywhere. */
#include "core/list.h"
#include "tests/unit.h"

enum { MEMBERS = 4 };

struct member {
	int number;
	struct list_link link;
};

/* Walks both ways; -1 ends the numbers. */
static void has(const struct list *l, const int *numbers)
{
	const struct list_link *link = l->first, *last = NULL;

	for (; *numbers >= 0 && link; numbers++, last = link, link = link->after) {
		CU_ASSERT_EQUAL(list_member(link, struct member, link)->number, *numbers);
		CU_ASSERT_PTR_EQUAL(link->before, last);
	}
	CU_ASSERT_EQUAL(*numbers, -1);
	CU_ASSERT_PTR_NULL(link);
	CU_ASSERT_PTR_EQUAL(l->last, last);
}

static void line_and_stack(void)
{
	struct member m[MEMBERS] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
	struct list l = {0};

	CU_ASSERT(list_empty(&l));
	CU_ASSERT_PTR_NULL(list_take(&l));
	for (int i = 0; i < 3; i++)
		list_append(&l, &m[i].link);
	list_prepend(&l, &m[3].link);
	CU_ASSERT(!list_empty(&l));
	has(&l, (int[]){3, 0, 1, 2, -1});
	CU_ASSERT_PTR_EQUAL(list_take(&l), &m[3].link);
	CU_ASSERT_PTR_EQUAL(list_take(&l), &m[0].link);
	list_append(&l, &m[3].link);
	has(&l, (int[]){1, 2, 3, -1});
}

static void leaves_from_anywhere(void)
{
	static const int left[MEMBERS][MEMBERS] = {
		{1, 2, 3, -1}, {0, 2, 3, -1}, {0, 1, 3, -1}, {0, 1, 2, -1}};

	for (int gone = 0; gone < MEMBERS; gone++) {
		struct member m[MEMBERS] = {
			{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
		struct list l = {0};

		for (int i = 0; i < MEMBERS; i++)
			list_append(&l, &m[i].link);
		list_remove(&l, &m[gone].link);
		has(&l, left[gone]);
		for (int i = 0; i < MEMBERS; i++)
			if (i != gone)
				list_remove(&l, &m[i].link);
		CU_ASSERT(list_empty(&l));
		CU_ASSERT_PTR_NULL(l.last);
		list_prepend(&l, &m[gone].link);
		has(&l, (int[]){gone, -1});
	}
}

int main(void)
{
	CU_TestInfo tests[] = {{"line and stack", line_and_stack},
			       {"leaves from anywhere", leaves_from_anywhere},
			       CU_TEST_INFO_NULL};

	return unit_main("list", tests);
}
