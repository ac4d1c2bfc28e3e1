/* What is in effect on a store, for the record: a row of /stores in results.h5, which may differ from
 * what the job asked for. Plain data, zeroed before it is filled, so that two that say the same are
 * the same bytes. Texts that do not apply are "". Secrets never stand here. */
#ifndef HAUL_CORE_MEASURE_STORE_FACTS_H
#define HAUL_CORE_MEASURE_STORE_FACTS_H

#include <stdint.h>

struct store_facts {
	char name[64];        /* in the job */
	char uri[256];        /* as the job writes it: variables unexpanded; of a list the first */
	char engine[32];      /* what moves the bytes: "uring", "psync", "libcurl" */
	char file_system[32]; /* "ext4"; of an object store the service */
	char client[32];      /* of an object store: the library that is stood in for */
	char layout[96];      /* striping said to the store, or why none was */
	char note[256];       /* where it is not as asked for: a sentence for the report */
	uint64_t direct;      /* 1: past the page cache */
	uint64_t block_bytes; /* that direct I/O works in; 0: it does not matter */
	/* Copies of each byte in user space on its way between the store and the buffer, and to the
	 * consumer of a request that is streamed. */
	uint64_t copies_read, copies_streamed, copies_written;
	uint64_t nodes; /* on which it is so; 0: the store was not opened */
};

#endif
