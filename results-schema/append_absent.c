/* SPDX-License-Identifier: Apache-2.0 */
/* Stand-in for append.c and h5_rows.c where there is no MPI: one process has the rows of all ranks, and nothing is
 * written in parallel. */
#include <errno.h>

#include "results-schema/append.h"
#include "results-schema/h5.h"

void append_create(const struct results *r, const char *part, uint64_t bytes)
{
	(void)r;
	(void)part;
	(void)bytes;
}

int append_rows(struct results *r, const char *part, const char *at, const struct blocks *blocks,
		struct err *err)
{
	(void)r;
	(void)at;
	(void)blocks;
	return err_set(err, -ENOTSUP, "%s: this build has no MPI", part);
}

int h5_write_rows(hid_t dataset, hid_t type, int rank, const hsize_t *start, const hsize_t *count,
		  const void *data, struct err *err)
{
	(void)dataset;
	(void)type;
	(void)rank;
	(void)start;
	(void)count;
	(void)data;
	return err_set(err, -ENOTSUP, "this build has no MPI");
}
