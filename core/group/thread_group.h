/* Groups whose ranks are threads of one process: for tests (64 ranks in one process), for
 * simulation, and for the serial verbs (a group of one, which costs nothing). */
#ifndef HAUL_CORE_GROUP_THREAD_GROUP_H
#define HAUL_CORE_GROUP_THREAD_GROUP_H

#include "core/group/group.h"

/* Runs body(rank's group, argument) on n threads and waits for all. Returns the first non-zero
 * value by rank that a body returned, else 0.
 *
 * A body does not free the group it is given; groups split from it that it leaves behind are freed.
 * A rank whose body has returned takes part in nothing any more: collective calls that the others
 * make after that return -EPIPE, a receive from it -EPIPE once its messages are used up, and a
 * status round ends with STOP_ERROR. So an early return stops the others instead of leaving them
 * waiting. */
int thread_group_run(uint32_t n, int (*body)(struct group *g, void *argument), void *argument,
		     struct err *err);

/* A group of one rank, without threads. */
int group_alone(struct group **out, struct err *err);

#endif
