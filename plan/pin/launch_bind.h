/* SPDX-License-Identifier: Apache-2.0 */
/* Launcher's binding: which processors each rank of a node would get by the list in a launcher's
 * command line.
 *
 *   list:0-7,104-111:8-15,112-119   PALS: a set for each rank, with colons between them
 *   map_cpu:0,8*2,16                Slurm: a processor for each rank
 *   mask_cpu:0xff,0xff00*2          Slurm: a hexadecimal mask for each rank
 *
 * Processors have the numbers of the operating system. Slurm's entries may be followed by how often
 * they stand there, and begin again where there are more ranks than entries. */
#ifndef HAUL_PLAN_PIN_LAUNCH_BIND_H
#define HAUL_PLAN_PIN_LAUNCH_BIND_H

#include <hwloc.h>
#include <stdint.h>
#include <stdio.h>

#include "core/err.h"

enum { LAUNCH_BIND_MAX = 4096 };

struct launch_bind {
	uint32_t ranks;
	uint32_t count;       /* entries of the list */
	hwloc_bitmap_t *sets; /* [count] */
};

/* ranks 0: as many as the list has entries. Returns -EINVAL with "--bind: sentence", -ENOMEM. */
int launch_bind_read(struct launch_bind *b, const char *text, uint32_t ranks, struct err *err);
void launch_bind_free(struct launch_bind *b);

/* What the list gives that rank, whether the node has it or not. It belongs to b. */
hwloc_const_bitmap_t launch_bind_set(const struct launch_bind *b, uint32_t rank);

/* Prints a line for each thing that a user may have overlooked: processors that the node lacks,
 * ranks that lie in several packages, cores that the system keeps for itself (reserved). */
void launch_bind_notes(FILE *out, const struct launch_bind *b, hwloc_topology_t topology,
		       hwloc_const_bitmap_t reserved);

#endif
