/* SPDX-License-Identifier: Apache-2.0 */
/* Binary heap of pointers, the one that comes before all others at the top. Its memory is the
 * caller's: items has room for as many as will be in it at a time. Of two that neither comes before
 * the other, either may be first; the order depends only on what was added and taken.
 *
 * before is a function of the caller's file, so that the compiler puts it in place: a comparison is
 * no call. A heap belongs to one thread. */
#ifndef HAUL_CORE_HEAP_H
#define HAUL_CORE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap {
	void **items;
	uint32_t count;
};

typedef bool heap_before(const void *a, const void *b);

static inline void heap_add(struct heap *h, void *item, heap_before *before)
{
	uint32_t at = h->count++;

	for (; at && before(item, h->items[(at - 1) / 2]); at = (at - 1) / 2)
		h->items[at] = h->items[(at - 1) / 2];
	h->items[at] = item;
}

/* item takes the place of the first one, and moves down to where it belongs. It may be the first
 * one itself, when it has become later. */
static inline void heap_replace(struct heap *h, void *item, heap_before *before)
{
	uint32_t at = 0, child;

	for (; (child = 2 * at + 1) < h->count; at = child) {
		if (child + 1 < h->count && before(h->items[child + 1], h->items[child]))
			child++;
		if (!before(h->items[child], item))
			break;
		h->items[at] = h->items[child];
	}
	h->items[at] = item;
}

/* Takes the first one out. The heap is not empty. */
static inline void *heap_take(struct heap *h, heap_before *before)
{
	void *first = h->items[0];

	if (--h->count)
		heap_replace(h, h->items[h->count], before);
	return first;
}

#endif
