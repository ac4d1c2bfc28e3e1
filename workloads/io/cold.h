/* Cold reads of plain I/O: what is dropped from this client's page cache before, and evidence of what it held. */
#ifndef HAUL_WORKLOADS_IO_COLD_H
#define HAUL_WORKLOADS_IO_COLD_H

#include "workloads/io/work.h"

/* Before the work: drops the objects that this rank will read, those of rank `from`; or all of the set, which the ranks
 * of each node share. How long it took, and how much stayed, go to row. Collective, main thread. */
int io_cold_drop(struct cold *c, const struct io_set *set, const struct store *store, uint64_t from,
		 uint64_t *row, struct err *err);

/* The slot's object has just been opened; its block is about to be read. For the thread. */
void io_cold_opened(struct io_thread *t, const struct io_slot *slot);
void io_cold_reads(struct io_thread *t, const struct io_slot *slot);

#endif
