/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes whose CRC-32 is known before any of them is made, so that no reader or writer has to look at all of them.
 *
 * They are cut into blocks of 64 KiB. Four bytes of each block, at the caller's choice of place, take the CRC's register
 * to a value that the caller has chosen, whatever the other bytes are:
 *
 *	| random …     patch | random …     patch | random … patch |
 *	from                 to                   to               to: the checksum is ~to
 *
 * A last block of less than CRC32_BLOCK_LEAST bytes takes that many bytes from the block before it, so that there is
 * room for a patch; only a whole of fewer than CRC32_PATCH_BYTES bytes has none. Pure functions, any thread. */
#ifndef HAUL_WORKLOADS_FORMATS_CRC32_BLOCKS_H
#define HAUL_WORKLOADS_FORMATS_CRC32_BLOCKS_H

#include <stdint.h>

enum { CRC32_BLOCK_BYTES = 64 << 10, CRC32_BLOCK_LEAST = 16, CRC32_PATCH_BYTES = 4 };

/* Bytes of the block that holds byte at of total, and where it begins. */
uint64_t crc32_block_at(uint64_t total, uint64_t at, uint64_t *begin);

/* Writes the four bytes at position patch of a block that is complete but for them: it then takes
 * the register from one value to the other. */
void crc32_block_patch(uint8_t *block, uint64_t bytes, uint64_t patch, uint32_t from, uint32_t to);

#endif
