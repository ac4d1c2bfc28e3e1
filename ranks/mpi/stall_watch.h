/* SPDX-License-Identifier: Apache-2.0 */
/* Stall watch: who among some ranks has not moved for long, or says that it waits for long.
 *
 * Each rank has a beat, a number that grows while the rank is alive. The watcher looks at the beats
 * now and then. A rank has stalled once its beat has stood still for the limit while the watcher
 * itself went on: a watcher that was stopped learns nothing about the others in that time. Whoever
 * has been named is named again when it lasts twice as long.
 *
 * Pure arithmetic on the caller's clock. Belongs to one thread. */
#ifndef HAUL_RANKS_MPI_STALL_WATCH_H
#define HAUL_RANKS_MPI_STALL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/group/group.h"

enum stall_kind {
	STALL_NONE,
	STALL_WAITS,  /* it waits for storage, and says so itself */
	STALL_SILENT, /* its beat stands still */
	STALL_ALIVE   /* not a stall: a beat that is sent as a message */
};

/* What is told about a rank, on its node and between nodes. */
enum { STALL_WHO_BYTES = 96 };
struct stall_note {
	uint64_t kind; /* enum stall_kind */
	uint64_t elapsed_ns;
	char who[STALL_WHO_BYTES];     /* "rank 3 on node7" */
	char object[GROUP_WAIT_BYTES]; /* what it waits for, or "" */
};

struct stall_seat {
	uint64_t beat;
	uint64_t moved_ns; /* when the beat was first seen with this value */
	uint64_t next_ns;  /* how long it must last to be named again; 0: not named */
};

struct stall_watch {
	uint64_t limit_ns;  /* 0: nobody is named */
	uint64_t since_ns;  /* the watcher has gone on since then */
	uint64_t looked_ns; /* its last look; 0: none */
	uint64_t next_ns;   /* its next look */
};

/* Looks anew, with that limit. The seats are the caller's. */
void stall_watch_init(struct stall_watch *w, uint64_t limit_ns);

/* Whether it is time to look at the seats. */
bool stall_watch_due(struct stall_watch *w, uint64_t now_ns);

/* Looks at a seat: its beat, and for how long its rank says that it waits (0: it does not). Returns
 * what is to be told now, and *elapsed_ns, for how long that lasts. */
enum stall_kind stall_watch_look(const struct stall_watch *w, struct stall_seat *s, uint64_t beat,
				 uint64_t waits_ns, uint64_t now_ns, uint64_t *elapsed_ns);

#endif
