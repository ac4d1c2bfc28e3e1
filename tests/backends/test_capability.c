/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the table of capabilities: each has a bit, a name and words, and no two share one. */
#include "backends/capability.h"

#include <string.h>

#include "tests/unit.h"

static void test_each_has_its_own(void)
{
	for (unsigned i = 0; i < BACKEND_CAPABILITY_COUNT; i++) {
		const struct backend_capability_words *w = &backend_capability_words[i];

		CU_ASSERT_PTR_EQUAL(backend_capability_lowest(1u << i), w);
		CU_ASSERT(strlen(w->name) > 0 && strlen(w->means) > 0 && strlen(w->lacks) > 0);
		for (unsigned k = 0; k < i; k++) {
			CU_ASSERT_STRING_NOT_EQUAL(w->name, backend_capability_words[k].name);
			CU_ASSERT_STRING_NOT_EQUAL(w->means, backend_capability_words[k].means);
			CU_ASSERT_STRING_NOT_EQUAL(w->lacks, backend_capability_words[k].lacks);
		}
	}
}

static void test_the_lowest_bit_is_reported(void)
{
	uint32_t bits = BACKEND_BATCH | BACKEND_STREAMS | BACKEND_LIST_PARTS;

	CU_ASSERT_PTR_NULL(backend_capability_lowest(0));
	CU_ASSERT_STRING_EQUAL(backend_capability_lowest(bits)->name, "streams");
	CU_ASSERT_STRING_EQUAL(backend_capability_lowest(BACKEND_RENAME)->lacks, "cannot rename");
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"each has its own words", test_each_has_its_own},
		{"the lowest bit is reported", test_the_lowest_bit_is_reported},
		CU_TEST_INFO_NULL,
	};

	return unit_main("capability", tests);
}
