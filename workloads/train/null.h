/* SPDX-License-Identifier: Apache-2.0 */
/* The null AU: the loop of the phase on null://, so that haul's own share of every result is on the
 * record. */
#ifndef HAUL_WORKLOADS_TRAIN_NULL_H
#define HAUL_WORKLOADS_TRAIN_NULL_H

#include "workloads/train/input.h"
#include "workloads/train/parallel.h"

/* The same pass with the same options on null://, whose compute and stall it puts into ctx->tally.
 * Collective. */
int train_null(struct phase_context *ctx, const struct train_options *options,
	       const struct train_input *train, struct parallel *parallel, struct err *err);

#endif
