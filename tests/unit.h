/* Main function of every unit test: one CUnit suite, run in the basic mode. */
#ifndef HAUL_TESTS_UNIT_H
#define HAUL_TESTS_UNIT_H

#include <CUnit/CUnit.h>
#include <stdbool.h>

/* Runs the tests (ended by CU_TEST_INFO_NULL) as one suite. Returns 0, or 1 when anything failed:
 * main's exit status. Call once in a process. */
int unit_main(const char *suite, const CU_TestInfo *tests);

/* Whether a test with MATRIX goes through all of its cases (ctest --preset long), not only through those
 * that every change needs. */
bool unit_full(void);

#endif
