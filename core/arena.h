/* SPDX-License-Identifier: Apache-2.0 */
/* Arena: many small allocations that are freed together, as those of a job. Not thread-safe. */
#ifndef HAUL_CORE_ARENA_H
#define HAUL_CORE_ARENA_H

#include <stddef.h>

struct arena {
	struct arena_block *blocks;
};

void *arena_alloc(struct arena *a, size_t bytes); /* zeroed, aligned to 16 bytes; NULL: no memory */
char *arena_text(struct arena *a, const char *text);
void arena_free(struct arena *a);

#endif
