/* SPDX-License-Identifier: Apache-2.0 */
/* Workbooks in a build without libxlsxwriter: there are none. */
#include <errno.h>

#include "report/mlperf/mlperf.h"

bool mlperf_workbook_built(void)
{
	return false;
}

int mlperf_workbook(const char *path, const struct mlperf_phase *phases, uint32_t count,
		    struct err *err)
{
	(void)phases;
	(void)count;
	return err_set(err, -ENOTSUP, "%s: this haul was built without libxlsxwriter", path);
}
