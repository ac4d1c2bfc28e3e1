/* Shared object: one object that all ranks of a group write as one version, where the store cannot be written in place.
 * Rank 0 begins it and hands on what it is called, the others join; once all are done, rank 0 publishes it or drops it.
 * Every call is collective, made by the group's thread, with a crew thread that does nothing else meanwhile. */
#ifndef HAUL_WORKLOADS_COMMON_SHARED_OBJECT_H
#define HAUL_WORKLOADS_COMMON_SHARED_OBJECT_H

#include "workloads/common/crew.h"

struct shared_object {
	/* Its key is the caller's. Begun: threads of this rank write parts of it by queues of their
	 * own, with it or with copies of it. */
	struct object object;
	uint64_t length;
	bool begun;
};

/* length bytes in all, in parts of part bytes: the same on all ranks. All have it or none has; failures
 * are the worker's, too. -EINVAL: the ranks' stores are different ones. */
int shared_object_begin(struct shared_object *s, uint64_t length, uint64_t part,
			struct crew_thread *w, struct group *g, struct err *err);

/* No rank has a write in flight. *whole: this rank has written all of its part; afterwards: all have, and
 * the object stands. Else nothing of it remains, which by itself is no error. Does nothing where it is not
 * begun. */
int shared_object_end(struct shared_object *s, bool *whole, struct crew_thread *w, struct group *g,
		      struct err *err);

#endif
