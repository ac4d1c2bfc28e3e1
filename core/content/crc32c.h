/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), which TFRecord and object stores use, over bytes that come in pieces. Built
 * on isa-l, which uses the processor's own instructions. Pure; any thread. */
#ifndef HAUL_CORE_CONTENT_CRC32C_H
#define HAUL_CORE_CONTENT_CRC32C_H

#include <stdint.h>

#define CRC32C_BEGIN UINT32_MAX

/* The register after length more bytes. A sum starts with CRC32C_BEGIN. */
uint32_t crc32c_add(uint32_t reg, const void *data, uint64_t length);

/* The checksum that a register stands for. */
static inline uint32_t crc32c_end(uint32_t reg)
{
	return ~reg;
}

#endif
