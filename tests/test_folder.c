/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary folder of a test: see test_folder.h. */
#include "tests/test_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit.h"

static int test_folder_remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st, (void)flag, (void)at;
	return remove(path);
}

void test_folder_make(char folder[TEST_FOLDER_BYTES])
{
	const char *parent = getenv("TMPDIR");

	snprintf(folder, TEST_FOLDER_BYTES, "%s/haul-test-XXXXXX",
		 parent && *parent ? parent : "/tmp");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

void test_folder_remove(const char *folder)
{
	nftw(folder, test_folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int test_folder_main(const char *suite, const CU_TestInfo *tests, char *folder)
{
	int failed;

	if (!mkdtemp(folder)) {
		perror(folder);
		return 1;
	}
	failed = unit_main(suite, tests);
	test_folder_remove(folder);
	return failed;
}
