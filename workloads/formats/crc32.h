/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 (zip, gzip) as arithmetic on its register: run forwards over data, backwards, over zeros
 * in logarithmic time, and to a wanted value by four bytes.
 *
 * The register is the checksum inverted; a checksum begins with register CRC32_START and is
 * ~register at the end. Pure functions, any thread. */
#ifndef HAUL_WORKLOADS_FORMATS_CRC32_H
#define HAUL_WORKLOADS_FORMATS_CRC32_H

#include <stddef.h>
#include <stdint.h>

#define CRC32_START 0xffffffffu

/* crc32_run: the register after data. crc32_back: the register before data, from the one after it
 * (for short data). */
uint32_t crc32_run(uint32_t reg, const void *data, size_t length);
uint32_t crc32_back(uint32_t reg, const uint8_t *data, size_t length);

/* The four bytes that take the register from one value to another. */
void crc32_patch(uint32_t from, uint32_t to, uint8_t bytes[4]);

/* Polynomials modulo the CRC's, the coefficient of x^0 in the highest bit. Appending n zero bytes
 * multiplies the register by crc32_zeros(n) = x^(8n). */
#define CRC32_ONE 0x80000000u
uint32_t crc32_multiply(uint32_t a, uint32_t b);
uint32_t crc32_zeros(uint64_t length);

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

enum { CRC32_BLOCK_BYTES = 64 << 10, CRC32_BLOCK_LEAST = 16, CRC32_PATCH_BYTES = 4 };

/* Bytes of the block that holds byte at of total, and where it begins. */
uint64_t crc32_block_at(uint64_t total, uint64_t at, uint64_t *begin);

/* Writes the four bytes at position patch of a block that is complete but for them: it then takes
 * the register from one value to the other. */
void crc32_block_patch(uint8_t *block, uint64_t bytes, uint64_t patch, uint32_t from, uint32_t to);

#endif
