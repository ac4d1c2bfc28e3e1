/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of zstd: compression and decompression piece by piece. Each stream belongs to one thread.
 *
 *	zstd.c         by libzstd
 *	zstd_absent.c  of a build without libzstd: streams cannot be opened */
#ifndef HAUL_CORE_ZSTD_H
#define HAUL_CORE_ZSTD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum { ZSTD_BEGIN_BYTES = 4 };

/* Whether data begins as a frame of zstd does. */
static inline bool zstd_begins(const uint8_t *data, size_t bytes)
{
	return bytes >= ZSTD_BEGIN_BYTES && data[0] == 0x28 && data[1] == 0xb5 && data[2] == 0x2f &&
	       data[3] == 0xfd;
}

/* A piece of input and a piece of output; used and made grow by what a step has taken and given. */
struct zstd_step {
	const void *in;
	size_t in_bytes, used;
	void *out;
	size_t room, made;
};

struct zstd_reader;
struct zstd_writer;

/* -ENOTSUP: built without libzstd; -ENOMEM. Sentences do not name the file. */
int zstd_reader_open(struct zstd_reader **out, struct err *err);
void zstd_reader_close(struct zstd_reader *r); /* NULL is allowed */
/* Returns 0, or -EBADMSG with a sentence. */
int zstd_reader_step(struct zstd_reader *r, struct zstd_step *step, struct err *err);
/* Whether what was read so far ends with a whole frame. */
bool zstd_reader_whole(const struct zstd_reader *r);

int zstd_writer_open(struct zstd_writer **out, int level, struct err *err);
void zstd_writer_close(struct zstd_writer *w);
/* end: the frame ends after this input. Returns 1 (call again with more room), 0 (all input is
 * taken, and with end the frame is whole) or -EIO. */
int zstd_writer_step(struct zstd_writer *w, struct zstd_step *step, bool end);

#endif
