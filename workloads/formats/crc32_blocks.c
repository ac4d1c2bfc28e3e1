/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/crc32_blocks.h"

#include "workloads/formats/crc32.h"

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
