/* SPDX-License-Identifier: Apache-2.0 */
/* Buffer pool: one 2 MiB-aligned, MADV_HUGEPAGE mapping that is cut into equal slots. Transparent
 * huge pages double the rate of direct reads (one segment per 2 MiB instead of 512). A pool of up
 * to BUFFERS_SMALL_BYTES has small pages: requests that fit into it gain nothing from a huge page,
 * and a node may have thousands of readers.
 *
 * A pool belongs to one thread. Engines register its mapping once. */
#ifndef HAUL_CORE_BUFFERS_H
#define HAUL_CORE_BUFFERS_H

#include <stdint.h>

#include "core/err.h"

enum { BUFFERS_SMALL_BYTES = 256 << 10 };

struct buffers {
	void *base;
	uint64_t slot_bytes; /* rounded up to 4 KiB */
	uint64_t mapped_bytes;
	uint32_t count, free_count;
	uint32_t *free_slots;
};

/* Maps count slots of at least slot_bytes and touches every page. Returns -ENOMEM with a
 * sentence. */
int buffers_init(struct buffers *b, uint32_t count, uint64_t slot_bytes, struct err *err);
void buffers_free(struct buffers *b);

/* Returns a slot, or NULL when all are in use. Takes constant time. */
void *buffers_take(struct buffers *b);
void buffers_give(struct buffers *b, void *slot);

#endif
