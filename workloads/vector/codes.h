/* SPDX-License-Identifier: Apache-2.0 */
/* The compressed vectors of an index of DiskANN, by which a search tells what is near: product
 * quantisation. A vector is cut into chunks, and of each chunk a byte says which of 256 pivots is like it.
 *
 *	_pq_pivots.bin       tables, each: rows i32, columns i32, values. At 0 the places of the others (u64,
 *	                     4 rows; 5 in older files), then 256 pivots of all dimensions (float32), the
 *	                     centre, and where the chunks begin (u32, chunks + 1)
 *	_pq_compressed.bin   vectors i32, chunks i32, then the bytes of each vector
 *
 * A query is a vector of the index, as its codes give it. Its distance to another one is the sum of the
 * squared distances of their pivots, as a whole number: so two programs agree on which is nearer. Of
 * two that are equally far the lower id is nearer.
 *
 * Read-only once loaded; any thread. */
#ifndef HAUL_WORKLOADS_VECTOR_CODES_H
#define HAUL_WORKLOADS_VECTOR_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum { CODES_PIVOTS = 256, CODES_CHUNKS_MAX = 4096, CODES_DIMENSION_MAX = 32768 };

struct codes {
	uint64_t vectors;
	uint32_t chunks, dimension;
	float *pivots;    /* [CODES_PIVOTS][dimension] */
	uint32_t *begins; /* [chunks + 1]: the dimensions of a chunk */
	double scale;     /* makes distances whole numbers, and all of them less than 2^32 */
	uint8_t *codes;   /* [vectors][chunks]; filled in by whoever loads them */
};

/* From the bytes of a file of pivots. -EINVAL with a sentence, -ENOMEM. Close it also after an error. */
int codes_pivots(struct codes *c, const void *data, size_t bytes, struct err *err);
/* From the first bytes of a file of codes, which has that size: memory for them. */
enum { CODES_HEAD = 8 };
int codes_open(struct codes *c, const void *head, uint64_t file_bytes, uint64_t vectors,
	       struct err *err);
void codes_close(struct codes *c);

/* What a search that looks for vector id keeps: [codes_table_words]. */
static inline uint64_t codes_table_words(const struct codes *c)
{
	return (uint64_t)c->chunks * CODES_PIVOTS;
}
void codes_table(const struct codes *c, uint64_t id, uint32_t *table);

static inline uint64_t codes_distance(const struct codes *c, const uint32_t *table, uint32_t id)
{
	const uint8_t *code = c->codes + (uint64_t)id * c->chunks;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c->chunks; i++)
		sum += table[(uint64_t)i * CODES_PIVOTS + code[i]];
	return sum << 32 | id;
}

#endif
