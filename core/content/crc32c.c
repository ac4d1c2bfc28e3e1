/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C on isa-l: see crc32c.h. */
#include "core/content/crc32c.h"

#include <isa-l/crc.h>

/* isa-l takes lengths as int. */
#define PIECE_MAX (1u << 30)

uint32_t crc32c_add(uint32_t reg, const void *data, uint64_t length)
{
	unsigned char *at = (unsigned char *)(uintptr_t)data;

	for (; length > PIECE_MAX; at += PIECE_MAX, length -= PIECE_MAX)
		reg = crc32_iscsi(at, PIECE_MAX, reg);
	return crc32_iscsi(at, (int)length, reg);
}
