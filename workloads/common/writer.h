/* The bytes of one object of a data set on their way into a store: piece by piece, as many at once as
 * there are windows. Begin and commit are the caller's. In a file worker's thread; allocates nothing. */
#ifndef HAUL_WORKLOADS_COMMON_WRITER_H
#define HAUL_WORKLOADS_COMMON_WRITER_H

#include "workloads/common/crew.h"
#include "workloads/dataset/dataset.h"

enum { OBJECT_WRITES_MAX = 64 };

struct object_write {
	/* The caller's. */
	struct crew_thread *w; /* its buffer holds depth windows */
	struct object *object;
	const struct layout *layout;
	bool content; /* the store keeps what is written */
	uint32_t depth;
	uint64_t window, piece;      /* a piece longer than its window is made as it goes */
	uint64_t *fill_ns, *wait_ns; /* time making bytes, and time waiting for writes, is added */

	/* Its own. */
	uint64_t at;      /* what is on its way or done */
	uint64_t done_ns; /* when the last came back */
	uint32_t free_count;
	struct request reqs[OBJECT_WRITES_MAX], *free[OBJECT_WRITES_MAX], *done[OBJECT_WRITES_MAX];
};

/* 0, -ECANCELED where the pass is halted, or what crew_fail said of the first failure; then
 * nothing is in flight. */
int object_write(struct object_write *o);

#endif
