/* Groups whose ranks are threads of one process: for tests (64 ranks in one process), for
 * simulation, and for the serial verbs (a group of one, which costs nothing). */
#ifndef HAUL_CORE_THREAD_GROUP_H
#define HAUL_CORE_THREAD_GROUP_H

#include "core/group.h"

/* Runs body(rank's group, argument) on n threads and waits for all. Returns the first non-zero value
 * by rank that a body returned, else 0. */
int thread_group_run(uint32_t n, int (*body)(struct group *g, void *argument), void *argument,
		     struct err *err);

/* A group of one rank, without threads. */
int group_alone(struct group **out, struct err *err);

#endif
