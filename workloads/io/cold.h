/* Plain reads from the storage and not from this client's page cache: what is dropped before them, and
 * evidence of what stood there. */
#ifndef HAUL_WORKLOADS_IO_COLD_H
#define HAUL_WORKLOADS_IO_COLD_H

#include "workloads/io/work.h"

/* Before the work: the objects that this rank will read, those of rank `from`; or all of the set, shared
 * out over each node's ranks. What it took, and what stayed, go to row. Collective, main thread. */
int io_cold_drop(struct cold *c, const struct io_set *set, const struct store *store, uint64_t from,
		 uint64_t *row, struct err *err);

/* The slot's object has just been opened; its block is about to be read. The thread's. */
void io_cold_opened(struct io_thread *t, const struct io_slot *slot);
void io_cold_reads(struct io_thread *t, const struct io_slot *slot);

#endif
