/* SPDX-License-Identifier: Apache-2.0 */
/* Checksum of HDF5's metadata: Bob Jenkins' lookup3, hashlittle with start value 0, in the public
 * domain (HDF5 File Format Specification 3.0, "checksum" fields). Pure, any thread. */
#ifndef HAUL_WORKLOADS_FORMATS_LOOKUP3_H
#define HAUL_WORKLOADS_FORMATS_LOOKUP3_H

#include <stddef.h>
#include <stdint.h>

uint32_t lookup3(const uint8_t *data, size_t length);

/* The same checksum for bytes that come in pieces. */
enum { LOOKUP3_BLOCK = 12 };
struct lookup3 {
	uint32_t v[3], have;
	uint8_t block[LOOKUP3_BLOCK];
};

void lookup3_begin(struct lookup3 *s, uint64_t length); /* length: of all pieces */
void lookup3_add(struct lookup3 *s, const uint8_t *data, uint64_t length);
uint32_t lookup3_end(struct lookup3 *s);

#endif
