/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the arena: memory is zeroed and aligned, pieces do not overlap, and requests that are
 * too large are refused. */
#include <stdint.h>
#include <string.h>

#include "core/arena.h"
#include "tests/unit.h"

static void zeroed_aligned_apart(void)
{
	static const size_t sizes[] = {1, 15, 16, 17, 4096, 20000, 3, 100000, 0, 8};
	unsigned char *all[64];
	struct arena a = {0};
	size_t i, j, n;

	for (i = 0; i < 64; i++) {
		n = sizes[i % 10];
		all[i] = arena_alloc(&a, n);
		CU_ASSERT_PTR_NOT_NULL_FATAL(all[i]);
		CU_ASSERT_EQUAL((uintptr_t)all[i] % 16, 0);
		for (j = 0; j < n; j++)
			if (all[i][j])
				break;
		CU_ASSERT_EQUAL(j, n);
		memset(all[i], (int)i + 1, n);
	}
	for (i = 0; i < 64; i++) {
		n = sizes[i % 10];
		for (j = 0; j < n; j++)
			if (all[i][j] != i + 1)
				break;
		CU_ASSERT_EQUAL(j, n);
	}
	arena_free(&a);
	CU_ASSERT_PTR_NULL(a.blocks);
	arena_free(&a);
}

static void texts_and_refusals(void)
{
	struct arena a = {0};

	CU_ASSERT_STRING_EQUAL(arena_text(&a, "some words"), "some words");
	CU_ASSERT_STRING_EQUAL(arena_text(&a, ""), "");
	CU_ASSERT_PTR_NULL(arena_alloc(&a, SIZE_MAX));
	CU_ASSERT_PTR_NULL(arena_alloc(&a, SIZE_MAX - 8));
	arena_free(&a);
}

int main(void)
{
	CU_TestInfo tests[] = {{"zeroed, aligned, apart", zeroed_aligned_apart},
			       {"texts, and what cannot be had", texts_and_refusals},
			       CU_TEST_INFO_NULL};

	return unit_main("arena", tests);
}
