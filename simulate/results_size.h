/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to a plan what a run of it writes into its results. Where no draft of them can be made, nothing. */
#ifndef HAUL_SIMULATE_RESULTS_SIZE_H
#define HAUL_SIMULATE_RESULTS_SIZE_H

#include "plan/plan.h"

void results_size_add(struct plan *plan, const struct job *job);

#endif
