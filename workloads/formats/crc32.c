/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/crc32.h"

#include <isa-l/crc.h>

#define POLYNOMIAL 0xedb88320u

uint32_t crc32_run(uint32_t reg, const void *data, size_t length)
{
	return ~crc32_gzip_refl(~reg, data, length);
}

/* One bit step takes c to c >> 1, xor the polynomial where bit 0 was set. The polynomial has the
 * top bit and c >> 1 has not, so the top bit tells which it was. */
static uint32_t bits_back(uint32_t reg, unsigned bits)
{
	while (bits--)
		reg = reg >> 31 ? (reg ^ POLYNOMIAL) << 1 | 1 : reg << 1;
	return reg;
}

uint32_t crc32_back(uint32_t reg, const uint8_t *data, size_t length)
{
	while (length--)
		reg = bits_back(reg, 8) ^ data[length];
	return reg;
}

/* Four bytes b take the register r to the 32 bit steps of (r xor b): walking 32 steps back from the
 * wanted value gives r xor b. */
void crc32_patch(uint32_t from, uint32_t to, uint8_t bytes[4])
{
	uint32_t word = from ^ bits_back(to, 32);

	for (unsigned i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(word >> 8 * i);
}

uint32_t crc32_multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a; a <<= 1) {
		product ^= b & (a & CRC32_ONE ? UINT32_MAX : 0);
		b = b >> 1 ^ (b & 1 ? POLYNOMIAL : 0);
	}
	return product;
}

uint32_t crc32_zeros(uint64_t length)
{
	uint32_t power = CRC32_ONE >> 8; /* x^8: one byte */
	uint32_t result = CRC32_ONE;

	for (; length; length >>= 1) {
		if (length & 1)
			result = crc32_multiply(result, power);
		power = crc32_multiply(power, power);
	}
	return result;
}

uint64_t crc32_block_at(uint64_t total, uint64_t at, uint64_t *begin)
{
	uint64_t rest = total % CRC32_BLOCK_BYTES;
	uint64_t borrowed = total > CRC32_BLOCK_BYTES && rest && rest < CRC32_BLOCK_LEAST
				    ? CRC32_BLOCK_LEAST
				    : 0;
	uint64_t last = total - rest - borrowed; /* where the last block begins if it is short */

	if ((rest || borrowed) && at >= last) {
		*begin = last;
		return total - last;
	}
	*begin = at / CRC32_BLOCK_BYTES * CRC32_BLOCK_BYTES;
	return borrowed && *begin + CRC32_BLOCK_BYTES > last ? last - *begin : CRC32_BLOCK_BYTES;
}

void crc32_block_patch(uint8_t *block, uint64_t bytes, uint64_t patch, uint32_t from, uint32_t to)
{
	uint64_t after = patch + CRC32_PATCH_BYTES;
	uint32_t reg = crc32_run(from, block, patch);

	crc32_patch(reg, crc32_back(to, block + after, bytes - after), block + patch);
}
