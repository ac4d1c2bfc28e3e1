/* SPDX-License-Identifier: Apache-2.0 */
/* Object mix: which operation a thread does next, and on which object, so that shares come out as asked for and nothing
 * is asked of an object that is not there.
 *
 * A thread's objects have names 0, 1, 2 ... names - 1. Those that exist are a window that moves round over the names:
 * what is deleted is the oldest of them, what is put again has the next name.
 *
 *	      tail            head
 *	· · · · # # # # # # # # · · ·      # exists
 *
 * So nothing is listed or held. Operations on one name that are in flight at the same time are told apart by counters:
 * an object is neither deleted while it is in use nor used while it is being made or deleted. Owned by one thread. */
#ifndef HAUL_WORKLOADS_IO_MIX_H
#define HAUL_WORKLOADS_IO_MIX_H

#include "workloads/io/io.h"

/* Where objects are deleted, a thread has at least this many of them for each operation in flight:
 * four to use or spare, two whose names are free, two for changes. */
enum { MIX_OBJECTS_PER_OPERATION = 8 };

struct io_mix {
	/* A draw below below[k] means kind k or one before it: reads, puts over an object that
	 * exists, stats, changes (puts of what was deleted, and deletes, as many of one as of the
	 * other), listings. */
	uint64_t below[IO_KINDS];
	uint64_t key;
	bool draws; /* objects are drawn; else taken in turn */
	uint64_t names;
	uint64_t tail, head; /* of what exists: counted on; a name is the remainder by names */
	/* How many of the oldest objects are not used any more, and how many of the free names are
	 * not used yet: thus an operation in flight seldom prevents a delete, or making an object
	 * again. */
	uint64_t spared;
	uint64_t turn;
	uint64_t mask;
	uint32_t *users,
		*changing; /* [mask + 1], by name: operations in flight, those of them that make or delete */
	bool lost; /* an object could not be made: from now on, some may be missing */
};

/* What an operation was given. */
struct io_mix_turn {
	enum io_kind kind;
	uint64_t name;
	bool changes; /* makes or deletes the object */
};

/* -ENOMEM. All names exist. */
int io_mix_open(struct io_mix *m, const struct io_options *o, uint64_t names, uint64_t key);
void io_mix_close(struct io_mix *m);

/* For operation number n of the thread. */
struct io_mix_turn io_mix_next(struct io_mix *m, uint64_t n);
/* It has ended. */
void io_mix_end(struct io_mix *m, const struct io_mix_turn *turn, bool failed);

/* Whether all names exist: nothing is in flight. */
bool io_mix_stands(const struct io_mix *m);

#endif
