/* What generation finds in the folder of a data set before it makes anything. */
#ifndef HAUL_WORKLOADS_GENERATE_BEGUN_H
#define HAUL_WORKLOADS_GENERATE_BEGUN_H

#include "core/group/group.h"
#include "workloads/dataset/dataset.h"

struct begun {
	bool resumes;  /* the manifest of this data set, or of a set that contains it, is there */
	bool complete; /* and says that all of its files are */
	bool empty;    /* nothing is there, so that no file needs a closer look */
};

/* Rank 0 looks, with a queue that nobody counts, and all ranks learn what it found; collective. d becomes a part of the set
 * that is there, where that has more files. -EEXIST: another data set is there, or a larger one that is not complete. */
int begun_look(struct begun *b, struct dataset *d, struct store *store, struct group *group,
	       struct err *err);

#endif
