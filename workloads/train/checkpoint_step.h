/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints between the steps of a pass. All ranks have left the step's barrier, so no status
 * round is under way; readers go on reading ahead. What the training waits for its checkpoint is in
 * an account of its own. Belongs to the rank's main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_CHECKPOINT_STEP_H
#define HAUL_WORKLOADS_TRAIN_CHECKPOINT_STEP_H

#include "workloads/train/state.h"

/* After step k: a checkpoint, where one is due. Collective. False: the row ends here. */
bool pass_checkpoint(struct pass *p, uint64_t k);
/* After the last step: waits for a checkpoint that is still being written. Collective. */
void pass_checkpoint_end(struct pass *p);

#endif
