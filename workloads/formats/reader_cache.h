/* What a reader has of a file that it leaves open, from one sample to the next. */
#ifndef HAUL_WORKLOADS_FORMATS_READER_CACHE_H
#define HAUL_WORKLOADS_FORMATS_READER_CACHE_H

#include "workloads/formats/format.h"

enum { KEPT_GROUPS_MAX = 16 };

struct kept {
	uint32_t group_most; /* groups kept */
	bool file;           /* what is KEEP_FILE is kept */
	uint32_t group_count;
	uint64_t groups[KEPT_GROUPS_MAX]; /* the one used last first */
};

/* groups: at most KEPT_GROUPS_MAX. */
void kept_init(struct kept *k, uint32_t groups);

/* The file has been closed. */
void kept_nothing(struct kept *k);

/* The ranges that are still to be taken for sample, in order; from now on they count as had. Returns
 * how many: none, where all was kept. */
uint32_t kept_extents(struct kept *k, const struct layout *l, uint64_t sample,
		      struct extent out[FORMAT_EXTENTS_MAX]);

#endif
