/* SPDX-License-Identifier: Apache-2.0 */
/* `haul clean` for data sets: removes exactly what a data set's manifest describes.
 *
 * A file goes when its name and its size are the manifest's; one of another size stays and is
 * counted. What an interrupted generation left of those names goes too, then folders that are
 * empty, and the manifest. Without a manifest nothing is
 * touched; where nothing is there, nothing is to be cleaned. */
#ifndef HAUL_WORKLOADS_GENERATE_CLEAN_H
#define HAUL_WORKLOADS_GENERATE_CLEAN_H

#include "workloads/workload.h"

/* All data sets of the job. -ENOENT: one has no manifest, and files are there; -ENOTSUP: its store keeps nothing;
 * -EPERM: it exists without haul. */
int generate_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

#endif
