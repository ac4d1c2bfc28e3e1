/* Main function of every unit test: one CUnit suite, run in basic mode. */
#ifndef HAUL_TESTS_UNIT_H
#define HAUL_TESTS_UNIT_H

#include <CUnit/CUnit.h>
#include <stdbool.h>

/* Runs the tests (ended by CU_TEST_INFO_NULL) as one suite. Returns the exit status of main: 0, or
 * 1 when a test failed. Call it once per process. */
int unit_main(const char *suite, const CU_TestInfo *tests);

/* Whether a test with MATRIX runs all of its cases (ctest --preset long) and not only those that
 * run after every change. */
bool unit_full(void);

#endif
