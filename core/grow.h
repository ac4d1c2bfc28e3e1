/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow as items come, one at a time. Any thread, for arrays of its own. */
#ifndef HAUL_CORE_GROW_H
#define HAUL_CORE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more behind the `count` items of an array: where all *room is taken it becomes twice
 * as much, `first` items at first. at: the address of the pointer to the array, whatever its type.
 * Returns false where there is no memory; the array is as it was then. */
static inline bool grow(void *at, uint64_t count, uint64_t *room, uint64_t first, size_t item_bytes)
{
	uint64_t more = *room ? 2 * *room : first;
	void *items;

	if (count < *room)
		return true;
	memcpy(&items, at, sizeof(items));
	items = more <= SIZE_MAX / item_bytes ? realloc(items, more * item_bytes) : NULL;
	if (!items)
		return false;
	memcpy(at, &items, sizeof(items));
	*room = more;
	return true;
}

#endif
