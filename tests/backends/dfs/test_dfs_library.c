/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of opening the client library of DAOS: what is found, what is refused, and how it is
 * said. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/dfs/library.h"
#include "tests/unit.h"

static void test_functions_are_found(void)
{
	struct dfs_library l;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(dfs_library_open(&l, TEST_DFS, &err), 0);
	CU_ASSERT_EQUAL(l.major, 2);
	CU_ASSERT_EQUAL(l.minor, 8);
#define IS_FOUND(name, arguments) CU_ASSERT_PTR_NOT_NULL(l.name);
	DFS_FUNCTIONS(IS_FOUND)
	DFS_OPTIONAL_FUNCTIONS(IS_FOUND)
#undef IS_FOUND
	/* The right ones: a class has a name, and the name gives the class. */
	{
		char name[DFS_CLASS_NAME_BYTES] = "";
		int id = l.daos_oclass_name2id("SX");

		CU_ASSERT_NOT_EQUAL(id, DFS_CLASS_DEFAULT);
		CU_ASSERT_EQUAL(l.daos_oclass_id2name((uint32_t)id, name), 0);
		CU_ASSERT_STRING_EQUAL(name, "SX");
	}
	dfs_library_close(&l);
	CU_ASSERT_PTR_NULL(l.dfs);
}

/* Before 2.6.5, libdaos cannot be asked for its version. */
static void test_version_of_the_file(void)
{
	struct dfs_library l;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(dfs_library_open(&l, TEST_DFS_OLD, &err), 0);
	CU_ASSERT_PTR_NULL(l.daos_version_get);
	CU_ASSERT_EQUAL(l.major, 2);
	CU_ASSERT_EQUAL(l.minor, 7);
	CU_ASSERT_EQUAL(l.fix, 1);
	dfs_library_close(&l);
}

/* DAOS installs its own version beside its libraries: lib64/daos/VERSION. */
static void test_version_of_the_product(void)
{
	char folder[] = "/tmp/haul_dfs_XXXXXX", path[128], command[512];
	struct dfs_library l;
	struct err err = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	snprintf(command, sizeof(command),
		 "cp %s %s/libdfs.so && mkdir %s/daos && echo 2.4.2 > %s/daos/VERSION", TEST_DFS,
		 folder, folder, folder);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	snprintf(path, sizeof(path), "%s/libdfs.so", folder);
	CU_ASSERT_EQUAL_FATAL(dfs_library_open(&l, path, &err), 0);
	CU_ASSERT_STRING_EQUAL(l.product, "2.4.2");
	dfs_library_close(&l);
	CU_ASSERT_EQUAL_FATAL(dfs_library_open(&l, TEST_DFS, &err), 0);
	CU_ASSERT_STRING_EQUAL(l.product, "");
	dfs_library_close(&l);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CU_ASSERT_EQUAL(system(command), 0);
}

static void test_refusals(void)
{
	static const struct {
		const char *library, *version;
		int rc;
		const char *says;
	} cases[] = {
		{"/nowhere/libdfs.so", "2.8.0", -ENOENT, "/nowhere/libdfs.so"},
		{"/nowhere/libdfs.so", "2.8.0", -ENOENT, "install the DAOS client package"},
		{"/nowhere/libdfs.so", "2.8.0", -ENOENT, "module load daos"},
		{"libm.so.6", "2.8.0", -ENOSYS, "libm.so.6 has no function daos_eq_create"},
		{TEST_DFS, "3.0.0", -ENOSYS, "has version 3.0.0"},
		{TEST_DFS, "1.2.0", -ENOSYS, "haul knows version 2"},
		{TEST_DFS, "none", -ENOSYS, "does not tell which version"},
		{TEST_DFS_NEW, "2.8.0", -ENOSYS, "has version 3.1.0"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dfs_library l;
		struct err err = {0};

		setenv("HAUL_DFS_VERSION", cases[i].version, 1);
		CU_ASSERT_EQUAL(dfs_library_open(&l, cases[i].library, &err), cases[i].rc);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
		CU_ASSERT_PTR_NULL(l.dfs);
	}
	unsetenv("HAUL_DFS_VERSION");
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"functions are found", test_functions_are_found},
		{"the version is that of the file", test_version_of_the_file},
		{"the version of the product", test_version_of_the_product},
		{"refusals", test_refusals},
		CU_TEST_INFO_NULL,
	};

	return unit_main("dfs_library", tests);
}
