/* Header of one file of a model: read, checked, and cut into the ranges that a rank reads. Ranges that touch each other
 * are one. Memory while it is read: the header, and about as much for its tensors; after it, 16 bytes per range.
 *
 * Belongs to the thread that reads it, until all threads of the rank have met. */
#ifndef HAUL_WORKLOADS_LOAD_HEADER_H
#define HAUL_WORKLOADS_LOAD_HEADER_H

#include "workloads/common/crew.h"
#include "workloads/load/cut.h"

struct load_range {
	uint64_t offset, length;
};

struct load_header {
	uint64_t file_bytes, header_bytes; /* header_bytes: all before the first tensor */
	uint64_t count;
	struct load_range *ranges;
};

/* What it cost. */
struct load_header_cost {
	uint64_t request_ns; /* in opens and closes, and in asking for the size */
	uint64_t parse_ns;
};

/* The object's key is filled in. Returns 0, or a negative errno with the failure counted and w->err. Call
 * load_header_free also after an error. */
int load_header_read(struct load_header *h, struct crew_thread *w, struct object *o,
		     const struct load_part *part, struct load_header_cost *cost);
void load_header_free(struct load_header *h);

/* The ranges of a header that has been parsed. -ENOMEM: no memory. */
int load_header_cut(struct load_header *h, const struct safetensors *tensors,
		    const struct load_part *part);

#endif
