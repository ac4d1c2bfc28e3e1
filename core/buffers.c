/* SPDX-License-Identifier: Apache-2.0 */
/* Buffer pool: see buffers.h. */
#include "core/buffers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/invariant.h"

static const uint64_t page_bytes = 4096, huge_bytes = 2 << 20;

/* mmap aligns to a small page only. So this maps 2 MiB more and unmaps what lies outside. */
static char *buffers_align(char *p, uint64_t bytes)
{
	uint64_t before = -(uint64_t)(uintptr_t)p & (huge_bytes - 1);

	if (before)
		munmap(p, before);
	if (huge_bytes > before)
		munmap(p + before + bytes, huge_bytes - before);
	/* A kernel without huge pages maps small ones, which are slower but otherwise equal. */
	(void)madvise(p + before, bytes, MADV_HUGEPAGE);
	return p + before;
}

/* The thread that will use the pages creates them now, so that they lie on its NUMA node and no
 * page fault falls into a timed read. Where memory runs out, MADV_POPULATE_WRITE returns an error;
 * a write to the page would kill the process. */
static int buffers_touch(void *base, uint64_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	int rc;

	do
		rc = madvise(base, bytes, MADV_POPULATE_WRITE);
	while (rc != 0 && (errno == EINTR || errno == EAGAIN));
	if (rc == 0)
		return 0;
	if (errno != EINVAL)
		return -ENOMEM;
#endif
	for (uint64_t at = 0; at < bytes; at += page_bytes)
		((volatile char *)base)[at] = 0;
	return 0;
}

static int buffers_map(void **base, uint64_t bytes)
{
	bool huge = bytes > BUFFERS_SMALL_BYTES;
	char *p = mmap(NULL, bytes + (huge ? huge_bytes : 0), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int rc;

	if (p == MAP_FAILED)
		return -ENOMEM;
	if (huge)
		p = buffers_align(p, bytes);
	rc = buffers_touch(p, bytes);
	if (rc < 0) {
		munmap(p, bytes);
		return rc;
	}
	*base = p;
	return 0;
}

int buffers_init(struct buffers *b, uint32_t count, uint64_t slot_bytes, struct err *err)
{
	uint64_t bytes, slot;
	int rc;

	memset(b, 0, sizeof(*b));
	if (count == 0)
		return 0;
	slot = slot_bytes ? slot_bytes : 1;
	if (slot > UINT64_MAX / 4 / count)
		return err_set(err, -ENOMEM,
			       "%u buffers of %llu bytes do not fit in the address space", count,
			       (unsigned long long)slot_bytes);
	slot = (slot + page_bytes - 1) & ~(page_bytes - 1);
	bytes = slot * count;
	if (bytes > BUFFERS_SMALL_BYTES)
		bytes = (bytes + huge_bytes - 1) & ~(huge_bytes - 1);

	b->free_slots = malloc(count * sizeof(*b->free_slots));
	if (b->free_slots == NULL)
		return err_set(err, -ENOMEM, "no memory for a list of %u buffers", count);
	rc = buffers_map(&b->base, bytes);
	if (rc < 0) {
		free(b->free_slots);
		memset(b, 0, sizeof(*b));
		return err_set(err, rc, "no memory for %u buffers of %llu bytes (%.1f MiB)", count,
			       (unsigned long long)slot, (double)bytes / (1 << 20));
	}
	b->slot_bytes = slot;
	b->mapped_bytes = bytes;
	b->count = count;
	b->free_count = count;
	/* The free list is a stack: the slot that was given back last is still in the caches and is
	 * taken next. */
	for (uint32_t i = 0; i < count; i++)
		b->free_slots[i] = count - 1 - i;
	return 0;
}

void buffers_free(struct buffers *b)
{
	if (b->base)
		munmap(b->base, b->mapped_bytes);
	free(b->free_slots);
	memset(b, 0, sizeof(*b));
}

void *buffers_take(struct buffers *b)
{
	if (b->free_count == 0)
		return NULL;
	return (char *)b->base + b->free_slots[--b->free_count] * b->slot_bytes;
}

/* Whether the slot is free. */
static inline bool buffers_has(const struct buffers *b, uint32_t slot)
{
	for (uint32_t i = 0; i < b->free_count; i++)
		if (b->free_slots[i] == slot)
			return true;
	return false;
}

void buffers_give(struct buffers *b, void *slot)
{
	uint64_t offset = (uint64_t)((char *)slot - (char *)b->base);

	INVARIANT(b->free_count < b->count, "no more slots come back than were taken");
	INVARIANT(offset / b->slot_bytes < b->count && offset % b->slot_bytes == 0,
		  "a pool takes back its own slots alone");
	INVARIANT_SLOW(!buffers_has(b, (uint32_t)(offset / b->slot_bytes)),
		       "a slot that is free would be given to two takers");
	b->free_slots[b->free_count++] = (uint32_t)(offset / b->slot_bytes);
}
