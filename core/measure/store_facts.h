/* SPDX-License-Identifier: Apache-2.0 */
/* What is in effect on a store, for the record: a row of /stores in results.h5. It may differ from
 * what the job asked for. Plain data, zeroed before it is filled, so that two records with the same
 * facts have the same bytes. Texts that do not apply are "". Secrets are never stored here. */
#ifndef HAUL_CORE_MEASURE_STORE_FACTS_H
#define HAUL_CORE_MEASURE_STORE_FACTS_H

#include <stdint.h>

struct store_facts {
	char name[64];        /* as in the job */
	char uri[256];        /* as in the job: variables unexpanded; the first one of a list */
	char engine[32];      /* what moves the bytes: "uring", "psync", "libcurl" */
	char file_system[32]; /* "ext4"; of an object store the service */
	char client[32];      /* of objects and daos://: the client library that haul imitates */
	char layout[224];     /* the striping asked for, or why there is none; the one found */
	char note[256];       /* why something is not as asked for: a sentence for the report */
	char degraded[128];   /* what it lacks, where it is not whole: a clause for the report */
	uint64_t direct;      /* 1: bypasses the page cache */
	uint64_t block_bytes; /* block size of direct I/O; 0: it does not matter */
	/* How often each byte is copied in user space on its way between the store and the buffer,
	 * and to the consumer of a request that is streamed. */
	uint64_t copies_read, copies_streamed, copies_written;
	uint64_t nodes; /* on which these facts hold; 0: the store was not opened */
};

#endif
