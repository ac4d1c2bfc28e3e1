/* SPDX-License-Identifier: Apache-2.0 */
/* Test of one more key: tests/import/CMakeLists.txt adds a row to the keys of kvcache that is copied, and one that
 * is left out, and nothing else. They are taken from a flag, stand in the job or among the findings, and are
 * listed. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_path.h"
#include "import/kvcache/import_kvcache.h"
#include "tests/unit.h"

static void test_key(void)
{
	static const char *const flags[] = {"--one-more=5", "--one-left=x"};
	char *keys = import_keys_print(import_kvcache_tool.keys);
	struct import found = {0};
	struct err err = {0};
	bool told = false;

	CU_ASSERT_PTR_NOT_NULL_FATAL(keys);
	CU_ASSERT_PTR_NOT_NULL(strstr(keys, "-> one_more\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(keys, "not mapped: one more\n"));
	free(keys);
	CU_ASSERT_EQUAL_FATAL(import_kvcache(&found, "job", "", 0, flags, 2, &err), 0);
	CU_ASSERT_EQUAL(json_number_at(found.job, "phases.0.kvcache.one_more", 0), 5);
	for (uint32_t i = 0; i < found.count; i++)
		told |= found.findings[i].fate == IMPORT_LEFT &&
			strcmp(found.findings[i].key, "one-left") == 0 &&
			strcmp(found.findings[i].why, "one more") == 0;
	CU_ASSERT_TRUE(told);
	CU_ASSERT_EQUAL(found.keys, 2);
	import_free(&found);
	/* A value of another kind is refused. */
	CU_ASSERT_EQUAL(
		import_kvcache(&found, "job", "", 0, (const char *const[]){"one-more=x"}, 1, &err),
		-EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "one-more: must be a number");
	import_free(&found);
}

int main(void)
{
	CU_TestInfo tests[] = {{"a key more", test_key}, CU_TEST_INFO_NULL};

	return unit_main("one more key", tests);
}
