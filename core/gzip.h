/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of gzip, decompressed piece by piece; several members are one stream. Each belongs to one thread. */
#ifndef HAUL_CORE_GZIP_H
#define HAUL_CORE_GZIP_H

#include "core/zstd.h"

/* Whether data begins as a member of gzip does. */
static inline bool gzip_begins(const uint8_t *data, size_t bytes)
{
	return bytes >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

struct gzip_reader;

/* -ENOMEM. Sentences do not name the file. */
int gzip_reader_open(struct gzip_reader **out, struct err *err);
void gzip_reader_close(struct gzip_reader *r); /* NULL is allowed */
/* Returns 0, or -EBADMSG with a sentence. */
int gzip_reader_step(struct gzip_reader *r, struct zstd_step *step, struct err *err);
/* Whether what was read so far ends with a whole member. */
bool gzip_reader_whole(const struct gzip_reader *r);

#endif
