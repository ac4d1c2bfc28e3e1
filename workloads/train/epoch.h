/* SPDX-License-Identifier: Apache-2.0 */
/* Epoch: a row of the tally's epochs, which is an epoch or an evaluation: what it stands for, its
 * steps, its figures and its proof. Belongs to the rank's main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_EPOCH_H
#define HAUL_WORKLOADS_TRAIN_EPOCH_H

#include "workloads/train/state.h"

/* Steps of a whole epoch of that source. */
uint64_t epoch_steps(const struct pass *p, enum pass_source source);

/* What row i of the tally stands for: epochs in their order, and an evaluation after each `every`
 * of them. */
struct epoch_row epoch_at(const struct pass *p, uint64_t i);

/* Drops what the coming row reads from the page cache, where the job says so. The time that this
 * takes does not count for the phase. Collective. */
int epoch_cold(struct pass *p, struct err *err);

/* Runs the steps of p->row.of as row `index`. */
void epoch_run(struct pass *p, uint32_t index);

/* Proves row i. Collective: a rank that never came to that row (it was stopped, without
 * synchronisation) takes part with an empty one. */
int epoch_prove(struct pass *p, uint32_t i, struct err *err);

/* For a snapshot: adds to t, which has the tally of the pass already, what that will have only at
 * its end. */
void epoch_so_far(void *pass, struct tally *t);

#endif
