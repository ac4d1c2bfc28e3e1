/* SPDX-License-Identifier: Apache-2.0 */
/* Cache of a reader: what it keeps of an open file from one sample to the next. No bytes are
 * stored; what the reader has is only known. */
#ifndef HAUL_WORKLOADS_FORMATS_READER_CACHE_H
#define HAUL_WORKLOADS_FORMATS_READER_CACHE_H

#include "workloads/formats/format.h"

enum { READER_CACHE_GROUPS_MAX = 16 };

struct reader_cache {
	uint32_t group_most; /* groups that it keeps */
	bool file;           /* it has what is CACHE_FOR_FILE */
	bool whole;          /* of the last sample's group it has all */
	uint32_t group_count;
	uint64_t groups[READER_CACHE_GROUPS_MAX]; /* the one used last first */
};

/* groups: at most READER_CACHE_GROUPS_MAX. */
void reader_cache_init(struct reader_cache *k, uint32_t groups);

/* The file has been closed. */
void reader_cache_clear(struct reader_cache *k);

/* The ranges that the reader still has to read for sample, in order. From now on it has them.
 * Returns their number: 0 where it has all. */
uint32_t reader_cache_extents(struct reader_cache *k, const struct layout *l, uint64_t sample,
			      struct extent out[FORMAT_EXTENTS_MAX]);

#endif
