/* SPDX-License-Identifier: Apache-2.0 */
/* Groups whose ranks are threads of one process: 64 ranks without MPI, or one rank alone. */
#ifndef HAUL_TESTS_THREAD_GROUP_H
#define HAUL_TESTS_THREAD_GROUP_H

#include "core/group/group.h"

/* Runs body(group of this rank, argument) on n threads and waits for all. Returns the first
 * non-zero value, by rank, that a body returned, else 0.
 *
 * A body does not free the group that it is given. Groups split from it that it leaves behind are
 * freed. A rank whose body has returned takes part in nothing any more: later collective calls of
 * the others return -EPIPE, a receive from it returns -EPIPE once its messages are used up, and a
 * status round ends with STOP_ERROR. So an early return stops the others instead of leaving them
 * waiting. */
int thread_group_run(uint32_t n, int (*body)(struct group *g, void *argument), void *argument,
		     struct err *err);

/* A group of one rank, without threads. */
int group_alone(struct group **out, struct err *err);

#endif
