/* Files that exist already, looked at before a phase reads them: whether a few of them are there, have
 * the size that the job says and begin as their format does. Nothing is listed. */
#ifndef HAUL_WORKLOADS_DATASET_DATASET_PROBE_H
#define HAUL_WORKLOADS_DATASET_DATASET_PROBE_H

#include "core/group/group.h"
#include "workloads/dataset/dataset.h"

/* Each rank looks at the first file, the last and two others, on its own way to the store. Does nothing
 * for a data set of haul's own or a store without content. Collective; returns what all ranks agree
 * on, with the file's name in the sentence. Sizes found far from what the job expects are only warned
 * of. */
int dataset_probe(const struct dataset *d, struct store *store, struct group *group,
		  struct err *err);

enum { DATASET_PROBE_LOOKS = 4 };

#endif
