/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of zstd in a build without libzstd: they cannot be opened. */
#include <errno.h>

#include "core/zstd.h"

int zstd_reader_open(struct zstd_reader **out, struct err *err)
{
	(void)out;
	return err_set(err, -ENOTSUP,
		       "is compressed by zstd, and this haul was built without libzstd");
}

void zstd_reader_close(struct zstd_reader *r)
{
	(void)r;
}

int zstd_reader_step(struct zstd_reader *r, struct zstd_step *step, struct err *err)
{
	(void)r;
	(void)step;
	return err_set(err, -ENOTSUP, "this haul was built without libzstd");
}

bool zstd_reader_whole(const struct zstd_reader *r)
{
	(void)r;
	return false;
}

int zstd_writer_open(struct zstd_writer **out, int level, struct err *err)
{
	(void)out;
	(void)level;
	return err_set(err, -ENOTSUP,
		       "is to be compressed by zstd, and this haul was built without libzstd");
}

void zstd_writer_close(struct zstd_writer *w)
{
	(void)w;
}

int zstd_writer_step(struct zstd_writer *w, struct zstd_step *step, bool end)
{
	(void)w;
	(void)step;
	(void)end;
	return -ENOTSUP;
}
