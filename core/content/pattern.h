/* SPDX-License-Identifier: Apache-2.0 */
/* Pattern: what is written where no format is needed. Bytes are a function of object and offset,
 * either unique or with a given compression and deduplication ratio.
 *
 * Both ratios hold in every 4 KiB, so the store's own granularity does not matter. Of each 4 KiB
 * the first 4096 / compress bytes are random (core/content/fill.h) and the rest are zeros. The
 * set's 4 KiB blocks are numbered from object to object; the first `unique` of each cycle are new
 * and the others repeat them:
 *
 *	block    0 1 2 3  4 5 6 7  8 9 ...        dedup 2, distance 4 blocks: unique 4, cycle 8
 *	source   0 1 2 3  0 1 2 3  4 5 ...
 *
 * So a store finds a repeat `distance` behind its original, and only if it looks back that far.
 * Plain data, stateless; any thread. */
#ifndef HAUL_CORE_CONTENT_PATTERN_H
#define HAUL_CORE_CONTENT_PATTERN_H

#include <stddef.h>
#include <stdint.h>

enum { PATTERN_BLOCK = 4096 };

struct pattern {
	uint64_t key;
	uint64_t object_blocks; /* of 4 KiB */
	uint64_t random_bytes;  /* of each 4 KiB; a multiple of 8 */
	uint64_t unique, cycle; /* blocks */
};

/* key: see fill_key. Ratios are 1 or more; distance, in bytes, is rounded up to whole blocks. */
void pattern_init(struct pattern *p, uint64_t key, uint64_t object_bytes, double compress,
		  double dedup, uint64_t distance);

/* Bytes [offset, offset + length) of an object. */
void pattern_fill(const struct pattern *p, uint64_t object, uint64_t offset, void *data,
		  size_t length);

/* Compares. Returns length when all agree, else the position within data of the first byte that
 * differs. */
size_t pattern_verify(const struct pattern *p, uint64_t object, uint64_t offset, const void *data,
		      size_t length);

#endif
