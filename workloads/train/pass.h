/* SPDX-License-Identifier: Apache-2.0 */
/* Pass: the loop of a training phase over epochs and steps, on a store. The phase itself is one
 * pass; another one measures the null AU. Belongs to the rank's main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_PASS_H
#define HAUL_WORKLOADS_TRAIN_PASS_H

#include "workloads/train/state.h"

/* Runs the pass and fills the tally. Collective; returns what all ranks agreed on. *stopped: why it
 * ended early. */
int pass_run(struct pass *p, enum stop_reason *stopped, struct err *err);

#endif
