/* Main function of unit tests: see unit.h. */
#include "tests/unit.h"

#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>

static int run(const char *suite, const CU_TestInfo *tests)
{
	CU_pSuite s = CU_add_suite(suite, NULL, NULL);
	const CU_TestInfo *t;

	if (!s)
		return 1;
	for (t = tests; t->pName; t++) {
		if (!CU_add_test(s, t->pName, t->pTestFunc))
			return 1;
	}
	CU_basic_set_mode(CU_BRM_NORMAL);
	if (CU_basic_run_tests() != CUE_SUCCESS)
		return 1;
	/* A suite that has run no test would otherwise pass. */
	return CU_get_number_of_failures() > 0 || CU_get_number_of_tests_run() == 0;
}

bool unit_full(void)
{
	return getenv("HAUL_TEST_FULL") != NULL;
}

int unit_main(const char *suite, const CU_TestInfo *tests)
{
	int rc;

	if (CU_initialize_registry() != CUE_SUCCESS) {
		fprintf(stderr, "%s: %s\n", suite, CU_get_error_msg());
		return 1;
	}
	rc = run(suite, tests);
	if (CU_get_error() != CUE_SUCCESS)
		fprintf(stderr, "%s: %s\n", suite, CU_get_error_msg());
	CU_cleanup_registry();
	return rc;
}
