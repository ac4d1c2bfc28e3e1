/* SPDX-License-Identifier: Apache-2.0 */
/* A run of checkpoints from its opening to its closing: its store and threads, and all its
 * checkpoints. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_SESSION_H
#define HAUL_WORKLOADS_CHECKPOINT_SESSION_H

#include "workloads/checkpoint/run.h"

/* Opens the store and the threads, and closes them, also after an error. The caller has set ctx,
 * options, described, and what a checkpoint within another phase needs. Collective. */
int checkpoint_open(struct checkpoint_run *r, struct err *err);
void checkpoint_close(struct checkpoint_run *r);
/* Writes and reads all checkpoints of the phase. Collective. */
int checkpoint_all(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);
/* This rank's results: from the threads and the accounts into the tally. */
void checkpoint_measure(struct checkpoint_run *r);
/* Memory for bytes of checkpoints has been taken. */
void checkpoint_count_memory(struct checkpoint_run *r);

#endif
