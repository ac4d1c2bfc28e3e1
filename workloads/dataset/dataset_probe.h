/* Data set probe: looks at a few files that exist without haul before a phase reads them. They must be there, have the
 * size that the job says, and begin as files of their format do. Nothing is listed. */
#ifndef HAUL_WORKLOADS_DATASET_DATASET_PROBE_H
#define HAUL_WORKLOADS_DATASET_DATASET_PROBE_H

#include "core/group/group.h"
#include "workloads/dataset/dataset.h"

/* Each rank looks at the first file, the last one and two others, on its own way to the store. Does nothing for a data
 * set that haul made, or a store without content. Collective; returns what all ranks agree on, with the file's name in
 * the sentence. Sizes far from what the job expects only lead to a warning. */
int dataset_probe(const struct dataset *d, struct store *store, struct group *group,
		  struct err *err);

enum { DATASET_PROBE_LOOKS = 4 };

#endif
