/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of zstd: see zstd.h. */
#include "core/zstd.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

struct zstd_reader {
	ZSTD_DCtx *stream;
	bool whole;
};

struct zstd_writer {
	ZSTD_CCtx *stream;
};

int zstd_reader_open(struct zstd_reader **out, struct err *err)
{
	struct zstd_reader *r = calloc(1, sizeof(*r));

	if (r)
		r->stream = ZSTD_createDCtx();
	if (!r || !r->stream) {
		free(r);
		return err_set(err, -ENOMEM, "no memory to decompress it");
	}
	r->whole = true;
	*out = r;
	return 0;
}

void zstd_reader_close(struct zstd_reader *r)
{
	if (r)
		ZSTD_freeDCtx(r->stream);
	free(r);
}

int zstd_reader_step(struct zstd_reader *r, struct zstd_step *step, struct err *err)
{
	ZSTD_inBuffer in = {step->in, step->in_bytes, step->used};
	ZSTD_outBuffer out = {step->out, step->room, step->made};
	size_t left = ZSTD_decompressStream(r->stream, &out, &in);

	if (ZSTD_isError(left))
		return err_set(err, -EBADMSG, "is not valid zstd: %s", ZSTD_getErrorName(left));
	if (in.pos > step->used || out.pos > step->made)
		r->whole = left == 0;
	step->used = in.pos;
	step->made = out.pos;
	return 0;
}

bool zstd_reader_whole(const struct zstd_reader *r)
{
	return r->whole;
}

int zstd_writer_open(struct zstd_writer **out, int level, struct err *err)
{
	struct zstd_writer *w = calloc(1, sizeof(*w));

	if (w)
		w->stream = ZSTD_createCCtx();
	if (!w || !w->stream ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(w->stream, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(w->stream, ZSTD_c_checksumFlag, 1))) {
		zstd_writer_close(w);
		return err_set(err, -ENOMEM, "no memory to compress it");
	}
	*out = w;
	return 0;
}

void zstd_writer_close(struct zstd_writer *w)
{
	if (w)
		ZSTD_freeCCtx(w->stream);
	free(w);
}

int zstd_writer_step(struct zstd_writer *w, struct zstd_step *step, bool end)
{
	ZSTD_inBuffer in = {step->in, step->in_bytes, step->used};
	ZSTD_outBuffer out = {step->out, step->room, step->made};
	size_t left =
		ZSTD_compressStream2(w->stream, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);

	if (ZSTD_isError(left))
		return -EIO;
	step->used = in.pos;
	step->made = out.pos;
	return end ? left > 0 : in.pos < in.size;
}
