/* SPDX-License-Identifier: Apache-2.0 */
/* Step: its batch, its compute, the other ranks, and what is counted of it. Belongs to the rank's
 * main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_STEP_H
#define HAUL_WORKLOADS_TRAIN_STEP_H

#include "workloads/train/state.h"

/* Step k of the row under way. False: the row ends here. */
bool pass_step(struct pass *p, uint64_t k);

#endif
