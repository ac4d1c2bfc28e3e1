/* What a reader has of a file that it leaves open, from one sample to the next. */
#ifndef HAUL_WORKLOADS_FORMATS_READER_CACHE_H
#define HAUL_WORKLOADS_FORMATS_READER_CACHE_H

#include "workloads/formats/format.h"

enum { READER_CACHE_GROUPS_MAX = 16 };

struct reader_cache {
	uint32_t group_most; /* groups kept */
	bool file;           /* what is CACHE_FOR_FILE is kept */
	uint32_t group_count;
	uint64_t groups[READER_CACHE_GROUPS_MAX]; /* the one used last first */
};

/* groups: at most READER_CACHE_GROUPS_MAX. */
void reader_cache_init(struct reader_cache *k, uint32_t groups);

/* The file has been closed. */
void reader_cache_clear(struct reader_cache *k);

/* The ranges that are still to be taken for sample, in order; from now on they count as had. Returns
 * how many: none, where all was kept. */
uint32_t reader_cache_extents(struct reader_cache *k, const struct layout *l, uint64_t sample,
			      struct extent out[FORMAT_EXTENTS_MAX]);

#endif
