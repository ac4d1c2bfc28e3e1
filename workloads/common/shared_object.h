/* SPDX-License-Identifier: Apache-2.0 */
/* Shared object: one object that all ranks of a group write as one version, where the store cannot
 * be written in place. Rank 0 begins it and sends its id to the others, which join. Once all are
 * done, rank 0 publishes or drops it. Every call is collective, made by the group's thread, with a
 * crew thread that does nothing else meanwhile. */
#ifndef HAUL_WORKLOADS_COMMON_SHARED_OBJECT_H
#define HAUL_WORKLOADS_COMMON_SHARED_OBJECT_H

#include "workloads/common/crew.h"

struct shared_object {
	/* The caller sets the key. While it is begun, threads of this rank write parts of it
	 * through queues of their own, with it or with copies of it. */
	struct object object;
	uint64_t length;
	bool begun;
};

/* Begins length bytes in all, in parts of part bytes, which are the same on all ranks. Either all
 * ranks have it or none does. The worker keeps failures. -EINVAL: the ranks' stores are different
 * ones. */
int shared_object_begin(struct shared_object *s, uint64_t length, uint64_t part,
			struct crew_thread *w, struct group *g, struct err *err);

/* No rank may have a write in flight. *whole: this rank has written all of its part; afterwards:
 * all ranks have, and the object is published. Otherwise nothing of it remains, which by itself is
 * not an error. Does nothing where it is not begun. */
int shared_object_end(struct shared_object *s, bool *whole, struct crew_thread *w, struct group *g,
		      struct err *err);

#endif
