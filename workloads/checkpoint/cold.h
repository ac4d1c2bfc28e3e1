/* Cold reads of checkpoints: each rank drops the files that it is going to read, or has a look at what of them is in the
 * page cache. It opens them for that by requests that count nowhere, before any rank reads, since what the kernel reads
 * ahead would be mistaken for an old copy. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_COLD_H
#define HAUL_WORKLOADS_CHECKPOINT_COLD_H

#include "workloads/checkpoint/run.h"

/* Before checkpoint r->number is read, in none of its times: drops it from the page cache where the job asks for it, and
 * looks how much of it is there. Collective. */
int checkpoint_cold_before(struct checkpoint_run *r, struct err *err);

#endif
