/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/grow.h: items stay as an array becomes larger, and what cannot become larger stays
 * as it is. */
#include "core/grow.h"
#include "tests/unit.h"

static void items_stay(void)
{
	uint32_t *items = NULL, wrong = 0;
	uint64_t room = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		CU_ASSERT_FATAL(grow(&items, i, &room, 3, sizeof(*items)));
		CU_ASSERT_FATAL(room > i);
		items[i] = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		wrong += items[i] != i;
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(room, 3 << 9);
	free(items);
}

static void no_memory(void)
{
	char *items = malloc(4);
	uint64_t room = UINT64_C(1) << 62;
	char *before = items;

	CU_ASSERT(!grow(&items, room, &room, 1, 4));
	CU_ASSERT_EQUAL(room, UINT64_C(1) << 62);
	CU_ASSERT_PTR_EQUAL(items, before);
	free(items);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"items stay", items_stay}, {"no memory", no_memory}, CU_TEST_INFO_NULL};

	return unit_main("grow", tests);
}
