/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers have counted goes into the tally, once, when all rest. */
#ifndef HAUL_WORKLOADS_TRAIN_COUNT_H
#define HAUL_WORKLOADS_TRAIN_COUNT_H

#include "workloads/train/state.h"

/* Where readers count their requests. */
extern const struct meter_layout train_meter;

/* Moves what the readers counted into the tally. */
void pass_count(struct pass *p);
/* What one of them has counted so far, and what only the main thread knows of the pass so far. */
void pass_count_reader(void *reader, struct tally *t);
void pass_count_own(const struct pass *p, struct tally *t);

/* What the readers, at rest, have seen of the page cache so far. */
struct residency pass_residency(const struct pass *p);

#endif
