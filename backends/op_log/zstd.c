/* SPDX-License-Identifier: Apache-2.0 */
/* The file of an operation log: one frame of zstd where its name ends in ".zst" (readers of zstd
 * take files one behind the other as one), else plain text. In a file that several ranks share,
 * each block is a frame of its own, and since the kernel of the node appends a block as a whole, no
 * block is torn. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "backends/op_log/file.h"
#include "core/part.h"

/* Rows compress 8 to 1 already at the fastest level. */
enum { LEVEL = 1, BLOCK_BYTES = 256 << 10 };

struct op_log_file {
	int fd;
	ZSTD_CCtx *compressor; /* NULL: plain */
	/* Of a shared file: rows that are not written yet. NULL: it is not shared. */
	uint8_t *block;
	size_t held;
	size_t room;
	uint8_t out[];
};

static int compressor_open(struct op_log_file *f, struct err *err)
{
	f->compressor = ZSTD_createCCtx();
	if (!f->compressor ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(f->compressor, ZSTD_c_compressionLevel, LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(f->compressor, ZSTD_c_checksumFlag, 1)))
		return err_set(err, -ENOMEM, "no memory for the operation log");
	return 0;
}

static void file_free(struct op_log_file *f)
{
	ZSTD_freeCCtx(f->compressor);
	free(f->block);
	free(f);
}

/* The other ranks of the node write into the file that the first of them has made. */
static int file_open(const char *path, const struct op_log_file_way *way, struct err *err)
{
	int append = way->shared ? O_APPEND : 0, fd;

	if (!way->joins)
		return part_open_place(path, way->force,
				       "name another file with --op-log, or use --force", append,
				       err);
	fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | append);
	return fd < 0 ? err_set(err, -errno, "%s: %s", path, strerror(errno)) : fd;
}

int op_log_file_open(struct op_log_file **out, const char *path, const struct op_log_file_way *way,
		     struct err *err)
{
	size_t room = way->shared ? ZSTD_compressBound(BLOCK_BYTES) : ZSTD_CStreamOutSize();
	struct op_log_file *f = calloc(1, sizeof(*f) + room);
	int rc = 0;

	if (f && way->shared)
		f->block = malloc(BLOCK_BYTES);
	if (!f || (way->shared && !f->block)) {
		free(f);
		return err_set(err, -ENOMEM, "no memory for the operation log");
	}
	f->room = room;
	if (way->compressed)
		rc = compressor_open(f, err);
	if (rc < 0)
		goto out_free;
	f->fd = file_open(path, way, err);
	if (f->fd < 0) {
		rc = f->fd;
		goto out_free;
	}
	*out = f;
	return 0;
out_free:
	file_free(f);
	return rc;
}

static int zstd_compress(struct op_log_file *f, const void *data, size_t bytes,
			 ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = {data, bytes, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {f->out, f->room, 0};
		int rc;

		left = ZSTD_compressStream2(f->compressor, &out, &in, how);
		if (ZSTD_isError(left))
			return -EIO;
		rc = part_fill(f->fd, f->out, out.pos);
		if (rc < 0)
			return rc;
	} while (how == ZSTD_e_continue ? in.pos < in.size : left > 0);
	return 0;
}

/* Appends what is held as one block. */
static int block_write(struct op_log_file *f)
{
	const uint8_t *data = f->block;
	size_t bytes = f->held;

	f->held = 0;
	if (!bytes)
		return 0;
	if (f->compressor) {
		bytes = ZSTD_compress2(f->compressor, f->out, f->room, f->block, bytes);
		if (ZSTD_isError(bytes))
			return -EIO;
		data = f->out;
	}
	return part_fill(f->fd, data, bytes);
}

static int block_add(struct op_log_file *f, const void *data, size_t bytes)
{
	int rc = f->held + bytes > BLOCK_BYTES ? block_write(f) : 0;

	if (rc < 0)
		return rc;
	memcpy(f->block + f->held, data, bytes);
	f->held += bytes;
	return 0;
}

int op_log_file_write(struct op_log_file *f, const void *data, size_t bytes)
{
	if (f->block)
		return block_add(f, data, bytes);
	return f->compressor ? zstd_compress(f, data, bytes, ZSTD_e_continue)
			     : part_fill(f->fd, data, bytes);
}

int op_log_file_flush(struct op_log_file *f)
{
	if (f->block)
		return block_write(f);
	return f->compressor ? zstd_compress(f, NULL, 0, ZSTD_e_flush) : 0;
}

int op_log_file_close(struct op_log_file *f)
{
	int rc = 0;

	if (f->block)
		rc = block_write(f);
	else if (f->compressor)
		rc = zstd_compress(f, NULL, 0, ZSTD_e_end);
	if (close(f->fd) < 0 && rc == 0)
		rc = -errno;
	file_free(f);
	return rc;
}
