/* SPDX-License-Identifier: Apache-2.0 */
/* Plain payload: random bytes with the samples' ids in them, and the hooks of formats that need no
 * more than that. Pure functions, any thread. */
#ifndef HAUL_WORKLOADS_FORMATS_PAYLOAD_H
#define HAUL_WORKLOADS_FORMATS_PAYLOAD_H

#include "workloads/formats/format.h"

enum { ID_BYTES = 8, ID_DIGITS = 20 };

uint64_t payload_bytes(const struct layout *l);

/* For layout hooks of formats whose samples follow each other in the data part, without anything
 * between them. Sets data_bytes, size, stride and the place of the ids; data_offset is set. */
void payload_contiguous(struct layout *l);

/* The payload hook of formats without checksums: the stream of the file's key, with ids. */
void payload_plain(const struct layout *l, uint64_t offset, void *data, uint64_t length);

/* The extents hook of formats whose readers take the whole file. */
uint32_t payload_whole_file(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX]);

/* Writes into data the ids, or parts of ids, that fall in the payload's bytes [at, at + length).
 * Positions count from the id of sample 0, and the next sample's id is stride further. Does nothing
 * where samples have no room for an id. */
void payload_stamp_ids(const struct layout *l, uint64_t stride, uint64_t at, void *data,
		       uint64_t length);

/* Writes the lowest bytes of value, the lowest or the highest first; returns what follows. Inline:
 * headers consist of dozens of them, and with a constant number of bytes each is one
 * instruction. */
static inline uint8_t *put_little(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*at++ = (uint8_t)(value >> 8 * i);
	return at;
}

static inline uint8_t *put_big(uint8_t *at, uint64_t value, unsigned bytes)
{
	while (bytes--)
		*at++ = (uint8_t)(value >> 8 * bytes);
	return at;
}

/* Writes value in decimal; returns what follows. */
uint8_t *put_decimal(uint8_t *at, uint64_t value);

/* What the formats share that hold one picture per file. Pure functions, any thread. */

/* The largest file, and the place in the stream of a file's key of the bytes that make the file's
 * size exact: behind everything that can be seen. */
#define PICTURE_BYTES_MAX      (UINT64_C(256) << 20)
#define PICTURE_PADDING_STREAM (UINT64_C(1) << 40)

/* Their check hook; size_min is the format's. */
int picture_check(const char *name, uint64_t samples, uint64_t smallest, uint64_t largest,
		  uint64_t size_min, struct err *err);

/* Their layout: one sample, which is the file, its id the last bytes of a header of that length.
 * Sets all but the format's own state. */
void picture_layout(struct layout *l, uint64_t header_bytes);

#endif
