/* SPDX-License-Identifier: Apache-2.0 */
/* Operation log of a build without libzstd: --op-log is refused. */
#include <errno.h>

#include "backends/op_log/file.h"

int op_log_file_open(struct op_log_file **out, const char *path, const struct op_log_file_way *way,
		     struct err *err)
{
	(void)out;
	(void)way;
	return err_set(err, -ENOTSUP, "%s: this haul was built without libzstd", path);
}

int op_log_file_write(struct op_log_file *f, const void *data, size_t bytes)
{
	(void)f;
	(void)data;
	(void)bytes;
	return -ENOTSUP;
}

int op_log_file_flush(struct op_log_file *f)
{
	(void)f;
	return -ENOTSUP;
}

int op_log_file_close(struct op_log_file *f)
{
	(void)f;
	return -ENOTSUP;
}
