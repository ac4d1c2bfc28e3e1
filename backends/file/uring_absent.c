/* SPDX-License-Identifier: Apache-2.0 */
/* The uring engine of a build without liburing: a job may still ask for it. */
#include <errno.h>

#include "backends/file/file.h"

static int absent_probe(const struct store *store, struct err *err)
{
	(void)store;
	return err_set(err, -ENOTSUP, "this haul was built without liburing");
}

const struct file_engine file_uring = {
	.name = "uring",
	.depth_max = QUEUE_DEPTH_MAX,
	.probe = absent_probe,
};
