/* Page cache sampling: evidence of cold reads. It measures how much of what is about to be read is
 * in this client's page cache.
 *
 * Bytes are sampled at places that are drawn each time, with a given average distance, so that each
 * byte has the same chance, whatever the sizes of files and requests. A sample is one system call
 * on one page. It must be taken before anything of the object is read, because the kernel's
 * read-ahead would be mistaken for an old copy.
 *
 * Each reader has a sampler of its own, which belongs to its thread. */
#ifndef HAUL_WORKLOADS_COMMON_RESIDENCY_H
#define HAUL_WORKLOADS_COMMON_RESIDENCY_H

#include "backends/backend.h"

enum { RESIDENCY_LOOK_BYTES = 4096, RESIDENCY_EVERY_BYTES = 1 << 20 };

/* Measures of the counts, as enumerators that begin with prefix. */
/* clang-format off */
#define RESIDENCY_LIST(X, prefix) \
	X(prefix##RESIDENT_SAMPLED_BYTES, "resident_sampled_bytes", "bytes", SUM, \
	  "bytes looked at before they were read") \
	X(prefix##RESIDENT_BYTES, "resident_bytes", "bytes", SUM, \
	  "those of them that were in this client's page cache")
/* clang-format on */

struct residency {
	uint64_t every_bytes; /* average distance of samples; 0: no samples */
	uint64_t skip_bytes;  /* to the next sample */
	uint64_t looks;
	/* What is counted: bytes sampled, and those of them that were cached. */
	uint64_t sampled_bytes, resident_bytes;
};

/* every_bytes: see RESIDENCY_EVERY_BYTES. */
void residency_init(struct residency *r, uint64_t every_bytes);

/* Call before [offset, offset + length) of the open object o is read. Does nothing where the store
 * has no page cache. */
void residency_look(struct residency *r, const struct store *store, const struct object *o,
		    uint64_t offset, uint64_t length);

#endif
