/* The file of an operation log: one frame of zstd where its name ends in ".zst" (readers of zstd take files one behind
 * the other as one), else plain text. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "backends/op_log/file.h"

/* Rows compress 8 to 1 already at the fastest level. */
enum { LEVEL = 1 };

struct op_log_file {
	int fd;
	ZSTD_CCtx *compressor; /* NULL: plain */
	size_t room;
	uint8_t out[];
};

static bool zst_wanted(const char *path)
{
	size_t n = strlen(path);

	return n >= 4 && strcmp(path + n - 4, ".zst") == 0;
}

int op_log_file_open(struct op_log_file **out, const char *path, bool force, struct err *err)
{
	size_t room = ZSTD_CStreamOutSize();
	struct op_log_file *f = calloc(1, sizeof(*f) + room);
	int rc = 0;

	if (!f)
		return err_set(err, -ENOMEM, "no memory for the operation log");
	f->room = room;
	if (zst_wanted(path))
		f->compressor = ZSTD_createCCtx();
	if (zst_wanted(path) &&
	    (!f->compressor ||
	     ZSTD_isError(ZSTD_CCtx_setParameter(f->compressor, ZSTD_c_compressionLevel, LEVEL)) ||
	     ZSTD_isError(ZSTD_CCtx_setParameter(f->compressor, ZSTD_c_checksumFlag, 1)))) {
		rc = err_set(err, -ENOMEM, "no memory for the operation log");
		goto out_free;
	}
	f->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0666);
	if (f->fd < 0) {
		rc = errno == EEXIST
			     ? err_set(err, -EEXIST,
				       "%s exists; name another file with --op-log, or use --force",
				       path)
			     : err_set(err, -errno, "%s: %s", path, strerror(errno));
		goto out_free;
	}
	*out = f;
	return 0;
out_free:
	ZSTD_freeCCtx(f->compressor);
	free(f);
	return rc;
}

static int write_whole(int fd, const uint8_t *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
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
		rc = write_whole(f->fd, f->out, out.pos);
		if (rc < 0)
			return rc;
	} while (how == ZSTD_e_continue ? in.pos < in.size : left > 0);
	return 0;
}

int op_log_file_write(struct op_log_file *f, const void *data, size_t bytes)
{
	return f->compressor ? zstd_compress(f, data, bytes, ZSTD_e_continue)
			     : write_whole(f->fd, data, bytes);
}

int op_log_file_flush(struct op_log_file *f)
{
	return f->compressor ? zstd_compress(f, NULL, 0, ZSTD_e_flush) : 0;
}

int op_log_file_close(struct op_log_file *f)
{
	int rc = f->compressor ? zstd_compress(f, NULL, 0, ZSTD_e_end) : 0;

	if (close(f->fd) < 0 && rc == 0)
		rc = -errno;
	ZSTD_freeCCtx(f->compressor);
	free(f);
	return rc;
}
