/* SPDX-License-Identifier: Apache-2.0 */
/* `haul clean` for checkpoints: lists the folders of the job's phases, and removes exactly what the
 * markers there describe.
 *
 * A file goes when its name and its size are the marker's; of a checkpoint that was not written to
 * its end, all files of those names go, and what is left of unfinished ones. Then its marker and
 * its folder go, and at last the folder of all, if nothing else is in it. Without a marker nothing
 * is touched. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_CLEAN_H
#define HAUL_WORKLOADS_CHECKPOINT_CLEAN_H

#include "workloads/checkpoint/checkpoint.h"

int checkpoint_clean_use(struct phase_context *ctx, const struct checkpoint_use *use,
			 struct clean_counts *counts, struct err *err);
/* The same for all phases "checkpoint" of the job. */
int checkpoint_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

#endif
