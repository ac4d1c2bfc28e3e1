/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of tensors that the tests of archives use. */
#ifndef HAUL_TESTS_WORKLOADS_ARCHIVE_CASES_H
#define HAUL_TESTS_WORKLOADS_ARCHIVE_CASES_H

#include "workloads/archive/archive.h"

struct archive_case {
	const char *name;
	struct archive_tensors tensors;
	bool huge; /* too large to make all of it */
};

/* Sets *all to the cases; returns their number. */
unsigned archive_cases(const struct archive_case **all);

#endif
