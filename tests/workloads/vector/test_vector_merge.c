/* SPDX-License-Identifier: Apache-2.0 */
/* Merges beside searches, in memory and at full speed: the threads of two ranks search the segments that
 * others write anew, and every byte that they read is that of the file which they read. */
#include "core/numbers.h"
#include "tests/unit.h"
#include "tests/workloads/train/train_fixture.h"
#include "workloads/vector/vector.h"

#define SHAPE \
	"\"vectors\": 1200, \"segments\": 4, \"dimension\": 24, \"degree\": 16, \"threads\": 2"

static void test_merges(void)
{
	struct fixture *f = fixture_of(
		"{\"stores\": {\"s\": {\"uri\": \"mem://s\"}}, \"phases\": ["
		"{\"vector\": {\"operation\": \"build\", " SHAPE "}}, "
		"{\"vector\": {\"operation\": \"search\", " SHAPE ", \"spread\": \"segments\", "
		"\"list\": 20, \"beam\": 1, \"verify\": \"full\", \"inserts\": 4e6, \"deletes\": 2e6, "
		"\"merge_at\": 30, \"merges\": 10}}]}",
		2);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (uint32_t rank = 0; rank < 2; rank++) {
		CU_ASSERT_EQUAL(f->rc[rank], 0);
		CU_ASSERT_EQUAL(f->tallies[rank].rank_row[VECTOR_MERGES], 20);
	}
	CU_ASSERT_EQUAL(fixture_sum(f, VECTOR_INSERTS), 4 * 10 * 20);
	CU_ASSERT_EQUAL(fixture_sum(f, VECTOR_DELETES), 4 * 10 * 10);
	CU_ASSERT(fixture_sum(f, VECTOR_PARTS) > 0);
	CU_ASSERT_EQUAL(fixture_sum(f, VECTOR_PAYLOAD_ERRORS), 0);
	fixture_free(f);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"merges beside searches", test_merges},
		CU_TEST_INFO_NULL,
	};

	return unit_main("vector_merge", tests);
}
