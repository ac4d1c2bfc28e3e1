/* SPDX-License-Identifier: Apache-2.0 */
/* Arena: a list of blocks, the newest first. Allocations are cut from the newest block. See
 * arena.h. */
#include "core/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"

enum { ARENA_BLOCK_BYTES = 16 << 10, ARENA_ALIGN = 16 };

struct arena_block {
	struct arena_block *next;
	size_t size, used; /* both count the bytes of data */
	alignas(ARENA_ALIGN) unsigned char data[];
};

void *arena_alloc(struct arena *a, size_t bytes)
{
	struct arena_block *b = a->blocks;
	size_t size;
	void *p;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
	if (!b || b->size - b->used < bytes) {
		size = max_u64(bytes, ARENA_BLOCK_BYTES);
		b = calloc(1, sizeof(*b) + size);
		if (!b)
			return NULL;
		b->size = size;
		b->next = a->blocks;
		a->blocks = b;
	}
	p = b->data + b->used;
	b->used += bytes;
	return p;
}

char *arena_text(struct arena *a, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = arena_alloc(a, bytes);

	if (copy)
		memcpy(copy, text, bytes);
	return copy;
}

void arena_free(struct arena *a)
{
	struct arena_block *b, *next;

	for (b = a->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	a->blocks = NULL;
}
