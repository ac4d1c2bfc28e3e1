/* Checkpoints of a DLIO workload: phases that write and read checkpoints of a model, and a training's checkpoints. */
#ifndef HAUL_IMPORT_DLIO_CHECKPOINT_H
#define HAUL_IMPORT_DLIO_CHECKPOINT_H

#include "import/dlio/dlio.h"

/* Adds the phases to phases: one if as many checkpoints are written as are read, else one for each. */
void dlio_add_checkpoints(struct dlio *d, struct cJSON *phases);

/* Checkpoints within a training. Decides whether there are any (d->saves). Finds why not, where the workload asks for them
 * and DLIO writes none. */
void dlio_choose_saves(struct dlio *d);
void dlio_add_saves(struct dlio *d, struct cJSON *train);

#endif
