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

#endif
