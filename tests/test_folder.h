/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary folder, which a test makes and removes. */
#ifndef HAUL_TESTS_TEST_FOLDER_H
#define HAUL_TESTS_TEST_FOLDER_H

#include <CUnit/CUnit.h>

enum { TEST_FOLDER_BYTES = 64 };

/* Makes an empty folder in $TMPDIR or /tmp, and writes its path. The test fails if it cannot be
 * made. */
void test_folder_make(char folder[TEST_FOLDER_BYTES]);
/* Removes it with all that is in it. */
void test_folder_remove(const char *folder);

/* unit_main for tests that share a folder, which is made before them and removed after them.
 * folder: a template of mkdtemp, which becomes its path. */
int test_folder_main(const char *suite, const CU_TestInfo *tests, char *folder);

#endif
