/* SPDX-License-Identifier: Apache-2.0 */
/* Group of which this rank alone is left: what it says is what all say, and what the others would
 * have said is zeros. For the last words of a run whose other ranks do not answer. Nothing in it
 * waits. */
#ifndef HAUL_CORE_GROUP_LONE_H
#define HAUL_CORE_GROUP_LONE_H

#include "core/group/group.h"

struct lone_group {
	struct group base;
	uint32_t seat; /* which of the ranks this is: its place in what is gathered */
};

/* Acts as rank 0 of a group of that size, whoever it is. Valid as long as the struct; group_free
 * does nothing. */
struct group *lone_group_init(struct lone_group *g, uint32_t seat, uint32_t size);

#endif
