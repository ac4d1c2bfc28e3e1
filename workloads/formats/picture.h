/* SPDX-License-Identifier: Apache-2.0 */
/* What the formats share that hold one picture per file. Pure functions, any thread. */
#ifndef HAUL_WORKLOADS_FORMATS_PICTURE_H
#define HAUL_WORKLOADS_FORMATS_PICTURE_H

#include "workloads/formats/format.h"

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
