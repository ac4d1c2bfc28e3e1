/* SPDX-License-Identifier: Apache-2.0 */
/* Data set probe: looks at a few files that exist without haul before a phase reads them. They must
 * be there, have the size and the samples that the job says, and begin as files of their format do.
 * Nothing is listed, unless a file is not there. */
#ifndef HAUL_WORKLOADS_DATASET_DATASET_PROBE_H
#define HAUL_WORKLOADS_DATASET_DATASET_PROBE_H

#include "core/group/group.h"
#include "workloads/dataset/dataset.h"

/* Each rank looks at the first file, the last one and two others, on its own way to the store. Does
 * nothing for a data set that haul made, or a store without content. Collective; returns what all
 * ranks agree on, with the file's name in the sentence. Where files lie under DLIO's names of a
 * larger set, d becomes the first part of that set. Sizes far from what the job expects lead to
 * a warning, and the sizes that were found bound those that count as files of the set. */
int dataset_probe(struct dataset *d, struct store *store, struct group *group, struct err *err);

enum { DATASET_PROBE_LOOKS = 4 };

#endif
