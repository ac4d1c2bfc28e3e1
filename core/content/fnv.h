/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a: a 64-bit hash of bytes that tells texts apart. Not for anything that an attacker
 * chooses. */
#ifndef HAUL_CORE_CONTENT_FNV_H
#define HAUL_CORE_CONTENT_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_START UINT64_C(0xcbf29ce484222325)

/* Continues the hash of earlier bytes (FNV_START: there are none) with these bytes. */
static inline uint64_t fnv_add(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
