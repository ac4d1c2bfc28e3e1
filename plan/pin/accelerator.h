/* SPDX-License-Identifier: Apache-2.0 */
/* Which of its node's accelerators a rank has: what the launcher tells, or else what lies near its
 * cores. */
#ifndef HAUL_PLAN_PIN_ACCELERATOR_H
#define HAUL_PLAN_PIN_ACCELERATOR_H

#include <stdbool.h>

#include "plan/pin/pin.h"

/* The variables by which launchers give a rank its accelerator, NULL-terminated. */
extern const char *const accelerator_variables[];

/* One accelerator by its number ("3"). False: several, a name, a part of one, or nothing (NULL). */
bool accelerator_told(const char *value, uint32_t *number);

/* allowed: what the launcher gave this process. Ranks with one mask share the accelerators (tiles)
 * near it in order, as pin tile does. False: the topology does not tell where they are, or which of
 * several is this rank's. */
bool accelerator_near(const struct job_cluster *cluster, hwloc_topology_t topology,
		      hwloc_const_bitmap_t allowed, const struct pin_seat *seat, uint32_t *number);

#endif
